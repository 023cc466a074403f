import MartletEngine
import MartletSemantics

/// The command-line tool: carries out a command line.
package enum CommandLineTool {
  /// Carries out a command line that needs no call, and returns the code that the program ends with; nil if there is
  /// more to do than can be done at once.
  package static func runNow(_ arguments: [String]) -> Int32? {
    runNow(arguments, Surroundings.ofProcess())?.rawValue
  }

  /// Carries out a command line, and returns the code that the program ends with.
  package static func run(_ arguments: [String]) async -> Int32 {
    let surroundings = Surroundings.ofProcess()
    guard writesAtEnd(arguments) else { return await run(arguments, surroundings).rawValue }
    let code = try? await Interruption.running { await run(arguments, surroundings) }
    return (code ?? .interrupted).rawValue
  }

  /// Whether something is left to do after Ctrl-C. For other calls the system ends the program, which closes the
  /// connection.
  private static func writesAtEnd(_ arguments: [String]) -> Bool {
    guard let parsed = try? ArgumentParser.parse(arguments) else { return false }
    let files: [OptionName] = [.download, .output, .har, .timeline, .session, .cookies]
    return !parsed.command.isMethod || files.contains(where: parsed.has)
  }

  static func run(_ arguments: [String], _ surroundings: Surroundings) async -> ExitCode {
    if let code = runNow(arguments, surroundings) { return code }
    do {
      let parsed = try ArgumentParser.parse(arguments)
      switch parsed.command {
      case .serve: return try await ServeCommand(parsed, surroundings).run()
      case .record: return try await RecordCommand(parsed, surroundings).run()
      case .get, .post, .put, .patch, .delete, .head, .options, .completions, .man, .help:
        return try await CallCommand(parsed, surroundings).run()
      }
    } catch {
      return report(Failure(error), surroundings)
    }
  }

  /// Help, the version, completions, the manual page, and command lines that cannot be carried out.
  static func runNow(_ arguments: [String], _ surroundings: Surroundings) -> ExitCode? {
    do {
      guard let text = try textNow(arguments) else { return nil }
      try surroundings.output.write(text)
      return .success
    } catch {
      return report(Failure(error), surroundings)
    }
  }

  private static func textNow(_ arguments: [String]) throws(UsageError) -> String? {
    if arguments.isEmpty || arguments == ["--help"] || arguments == ["-h"] || arguments == ["help"] {
      return HelpText.overview
    }
    let parsed = try ArgumentParser.parse(arguments)
    if parsed.has(.version) { return "\(Catalogue.program) \(Catalogue.version)\n" }
    if parsed.has(.help) { return HelpText.of(Catalogue.description(of: parsed.command)) }
    switch parsed.command {
    case .help:
      let name = parsed.words.first ?? ""
      guard let command = CommandName(rawValue: name) else {
        let nearest = Spelling.nearest(to: name, among: CommandName.allCases.map(\.rawValue))
        throw UsageError("there is no command '\(name)'" + (nearest.map { ": did you mean '\($0)'?" } ?? ""))
      }
      return HelpText.of(Catalogue.description(of: command))
    case .completions: return try Completions.script(for: parsed.words.first ?? "")
    case .man: return ManualPage.text
    default:
      if parsed.command.isMethod, parsed.words.isEmpty {
        throw UsageError("there is no URL: martlet \(parsed.command.rawValue) example.com/orders")
      }
      return nil
    }
  }

  private static func report(_ failure: Failure, _ surroundings: Surroundings) -> ExitCode {
    for (index, line) in failure.lines.enumerated() {
      surroundings.report(index == 0 ? "martlet: \(line)" : "         \(line)")
    }
    return failure.code
  }
}
