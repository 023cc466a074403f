@testable import MartletCommandLine
import MartletEngine
import MartletSemantics
import MartletTesting
import Testing

@Suite("Options in a file", .timeLimit(.minutes(5)))
struct DefaultOptionTests {
  private let run: TestRun

  init() throws { run = try TestRun() }

  private func configure(_ text: String) throws {
    try run.folder.write(Data(text.utf8), to: ".config/martlet/config.json")
  }

  @Test func optionsOfTheFilePrecedeThoseOfTheCommandLine() async throws {
    let server = try LoopbackServer { _ in .json(#"{"b":1,"a":2}"#) }
    try configure(#"{"default_options": ["--pretty=format", "--sorted", "--print", "h", "--language=de"]}"#)
    for method in [[], ["get"]] {
      let head = try await run.run(method + [":\(server.port)/"])
      #expect(head.text.hasPrefix("HTTP/1.1 200 OK\n") && !head.text.contains("{"))
      let body = try await run.run(method + [":\(server.port)/", "--no-print", "--no-language"])
      #expect(body.text == "{\n  \"a\": 2,\n  \"b\": 1\n}\n")
    }
    #expect(try await server.request(1).fields[.acceptLanguage] == "de")
    #expect(try await server.request(2).fields[.acceptLanguage] == nil)
    #expect(try await run("help").code == .success)
  }

  @Test(arguments: [
    ("{", "has no list of options: write {"), (#"{"default_options": "-v"}"#, "has no list of options: write {"),
    (#"{"default_options": ["--tiemout=3"]}"#, "there is no option --tiemout: did you mean --timeout?"),
    (#"{"default_options": ["sorted"]}"#, "'sorted' is not an option: begin it with --"),
  ])
  func aFileThatCannotBeUsedIsNamed(text: String, reason: String) async throws {
    let server = try LoopbackServer { _ in .text("hi") }
    try configure(text)
    let result = try await run("get", ":\(server.port)/")
    #expect(result.code == .failure)
    #expect(result.errors.text.contains(".config/martlet/config.json'") && result.errors.text.contains(reason))
    #expect(server.connectionCount == 0)
    #expect(try await run("man").code == .success)
  }

  @Test func aFileWithoutOptionsChangesNothing() async throws {
    let server = try LoopbackServer { _ in .text("hi") }
    try configure(#"{"another": 1}"#)
    #expect(try await run("get", ":\(server.port)/").text == "hi")
  }
}
