@testable import MartletCommandLine
import MartletSemantics
import MartletTesting
import TestSupport
import Testing

@Suite("Help, completions, manual page and the program", .timeLimit(.minutes(5)))
struct DescriptionTests {
  @Test func everyOptionIsDescribedOnceAndHasAShortNameOfItsOwn() {
    for command in Catalogue.all {
      let names = command.options.map(\.name)
      #expect(Set(names).count == names.count)
      let letters = command.options.compactMap(\.short)
      #expect(Set(letters).count == letters.count)
    }
    #expect(Set(Catalogue.all.flatMap(\.options).map(\.name)) == Set(OptionName.allCases))
  }

  @Test func helpNamesEveryOptionAndExitCodeWithinTheWidth() {
    for command in Catalogue.all {
      let help = HelpText.of(command)
      for option in command.options { #expect(help.contains(option.usage)) }
      for line in (help + HelpText.overview).split(separator: "\n") { #expect(line.count <= 114, "\(line)") }
    }
    for code in ExitCode.allCases {
      #expect(HelpText.of(Catalogue.description(of: .get)).contains("\n  \(code.rawValue) "))
    }
  }

  @Test func examplesOfTheHelpAreCommandLines() throws {
    for example in Catalogue.examples.map(\.command) {
      let words = example.split(separator: " ").dropFirst().map(String.init)
      let parsed = try ArgumentParser.parse(words)
      _ = try TargetURL.parse(try #require(parsed.words.first))
      for word in parsed.words.dropFirst() { _ = try RequestItem.parse(word) }
    }
  }

  @Test func everyShellKnowsEveryOption() throws {
    for (shell, mark) in [("bash", "--"), ("zsh", "--"), ("fish", "-l ")] {
      let script = try Completions.script(for: shell)
      for option in OptionName.allCases { #expect(script.contains(mark + option.rawValue), "\(shell) \(option)") }
    }
    #expect(throws: UsageError("there are no completions for 'fsh', only for bash, zsh and fish: did you mean zsh?")) {
      try Completions.script(for: "fsh")
    }
  }

  @Test func theManualPageHasAllOptionsAndNoLineThatIsTakenForARequest() {
    let page = ManualPage.text
    for option in OptionName.allCases {
      #expect(page.contains("\\-\\-" + option.rawValue.replacing("-", with: "\\-")), "\(option)")
    }
    let requests: Set<Substring> = [".TH", ".SH", ".SS", ".TP", ".B", ".PP", ".br", ".nf", ".fi"]
    for line in page.split(separator: "\n") where line.hasPrefix(".") || line.hasPrefix("'") {
      #expect(requests.contains(line.prefix { $0 != " " }), "\(line)")
    }
  }

  @Test func theProgramPrintsToItsDescriptorsAndEndsWithACode() throws {
    let program = try builtProgram("martlet")
    let version = try ChildProcess(program, ["--version"], output: .read)
    #expect(String(decoding: version.readToEnd(), as: UTF8.self) == "martlet \(Catalogue.version)\n")
    #expect(version.exitCode() == 0)
    let mistake = try ChildProcess(program, ["gte"], output: .readWithErrors)
    #expect(String(decoding: mistake.readToEnd(), as: UTF8.self).contains("did you mean 'get'?"))
    #expect(mistake.exitCode() == 1)
  }

  @Test func theProgramShowsABodyThatTricklesAsItComes() async throws {
    let gate = Gate()
    let server = try LoopbackServer { _ in .text("first\nsecond\n").stalled(after: 6, until: gate) }
    let program = try ChildProcess(try builtProgram("martlet"), ["get", ":\(server.port)/"], output: .read)
    var first = Data()
    while first.count < 6, let more = program.read() { first += more }
    #expect(String(decoding: first, as: UTF8.self) == "first\n")
    gate.open()
    #expect(String(decoding: program.readToEnd(), as: UTF8.self) == "second\n")
    #expect(program.exitCode() == 0)
  }

  @Test func aReaderThatClosesThePipeEndsTheProgramQuietly() async throws {
    let server = try LoopbackServer { _ in .repeating(Data("line\n".utf8), length: 1 << 40) }
    let command = "'\(try builtProgram("martlet"))' get :\(server.port)/ | head -n 1; echo \"${PIPESTATUS[0]}\""
    let shell = try ChildProcess("bash", ["-c", command], output: .readWithErrors)
    #expect(String(decoding: shell.readToEnd(), as: UTF8.self) == "line\n141\n")
    #expect(try await server.end(ofConnection: 1) == .client)
  }

  @Test func aRefusedRequestIsNotReportedOnStandardOutput() throws {
    let folder = try TemporaryFolder()
    let command = "echo $$; exec '\(try builtProgram("martlet"))' serve . --port 0"
    let program = try ChildProcess("bash", ["-c", command], in: folder.url, output: .read)
    var text = ""
    while !text.contains(" serves "), let more = program.read() { text += String(decoding: more, as: UTF8.self) }
    let pid = try #require(text.split(separator: "\n").first.flatMap { Int($0) })
    let port = try #require(text.firstMatch(of: /127\.0\.0\.1:(\d+)/)?.output.1)
    let request = #"exec 3<>/dev/tcp/127.0.0.1/\#(port); printf 'nonsense\r\n\r\n' >&3; cat <&3; kill -INT \#(pid)"#
    let client = try ChildProcess("bash", ["-c", request], output: .read)
    #expect(String(decoding: client.readToEnd(), as: UTF8.self).hasPrefix("HTTP/1.1 400 "))
    text += String(decoding: program.readToEnd(), as: UTF8.self)
    #expect(text.split(separator: "\n").count == 2, "\(text)")
  }

  /// `timeout` sends its signal to the program and to its process group: the program receives it twice.
  @Test(arguments: [["INT"], ["INT", "TERM"], ["TERM", "INT", "TERM"]])
  func interruptionKeepsWhatADownloadHas(signals: [String]) async throws {
    let folder = try TemporaryFolder()
    let gate = Gate()
    let server = try LoopbackServer { _ in
      .data(Data(count: 5000)).with(.eTag, "\"1\"").stalled(after: 1000, until: gate)
    }
    let command = "echo $$; exec '\(try builtProgram("martlet"))' get :\(server.port)/a.bin --download --events"
    let program = try ChildProcess("bash", ["-c", command], in: folder.url, output: .readWithErrors)
    var text = ""
    while !text.contains("\"bytes\":1000"), let more = program.read() { text += String(decoding: more, as: UTF8.self) }
    let pid = try #require(text.split(separator: "\n").first.flatMap { Int($0) })
    let line = signals.map { "kill -\($0) \(pid)" }.joined(separator: "; ")
    let kill = try ChildProcess("bash", ["-c", line + "; true"], output: .readWithErrors)
    #expect(kill.succeeds())
    #expect(String(decoding: program.readToEnd(), as: UTF8.self).contains("1 kB of 5 kB are kept"))
    #expect(program.exitCode() == 130)
    #expect(try folder.names().contains(".a.bin.resumption"))
    gate.open()
  }
}
