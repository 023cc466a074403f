@_spi(Credentials) import MartletEngine
import MartletSemantics

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// The command-line tool: runs a command line.
public enum CommandLineTool {
  /// Runs a command line in this process, and ends the process.
  ///
  /// Immediate work is done on the main thread. The work of a call runs in a task, which ends the process: the main
  /// thread only waits, which starts fewer threads than an asynchronous main function.
  ///
  /// - Parameter drawing: draws images for `--image`; without it, the option is refused.
  public static func run(_ arguments: [String], drawing: ImageDrawing? = nil) -> Never {
    // If a reader closes the output, that is an error of the write, and no signal, so that connections and files are
    // closed.
    signal(SIGPIPE, SIG_IGN)
    var environment = ToolEnvironment.ofProcess()
    environment.drawing = drawing
    switch begin(arguments, environment) {
    case .done(let code): exit(code.rawValue)
    case .work(let parsed):
      let (writesAtEnd, environment) = (writesAtEnd(parsed), environment)
      if writesAtEnd { Interruption.holdSignals() }
      Task.detached {
        guard writesAtEnd else { exit(await perform(parsed, environment).rawValue) }
        let code = try? await Interruption.running { await perform(parsed, environment) }
        exit((code ?? .interrupted).rawValue)
      }
      while true { pause() }
    }
  }

  /// Runs a command line, and returns the program's exit code.
  static func run(_ arguments: [String], _ environment: ToolEnvironment) async -> ExitCode {
    switch begin(arguments, environment) {
    case .done(let code): code
    case .work(let parsed): await perform(parsed, environment)
    }
  }

  private enum Beginning {
    case done(ExitCode)
    case work(ParsedArguments)
  }

  /// Parses the command line, and does the work that needs no call.
  private static func begin(_ arguments: [String], _ environment: ToolEnvironment) -> Beginning {
    do {
      if arguments.isEmpty {
        try environment.errors.write(HelpText.overview)
        return .done(.failure)
      }
      if arguments == ["--help"] || arguments == ["-h"] || arguments == ["help"] {
        try environment.output.write(HelpText.overview)
        return .done(.success)
      }
      let parsed = try ArgumentParser.parse(arguments) { () throws(UsageError) in
        try DefaultOptions.read(environment)
      }
      guard let text = try text(for: parsed) else { return .work(parsed) }
      try environment.output.write(text)
      return .done(.success)
    } catch {
      return .done(report(Failure(error), environment))
    }
  }

  /// Whether work is left to do after Ctrl-C. For other calls the system ends the program, which closes the connection.
  private static func writesAtEnd(_ parsed: ParsedArguments) -> Bool {
    let files: [OptionName] = [.download, .output, .remoteName, .har, .timeline, .session, .cookies]
    return !parsed.command.isMethod || files.contains(where: parsed.has)
  }

  private static func perform(_ parsed: ParsedArguments, _ environment: ToolEnvironment) async -> ExitCode {
    do {
      switch parsed.command {
      case .ws: return try await WebSocketCommand(parsed, environment).run()
      case .serve: return try await ServeCommand(parsed, environment).run()
      case .record: return try await RecordCommand(parsed, environment).run()
      case .inspect: return try await InspectCommand(parsed, environment).run()
      case .completions, .man, .help: return .success  // text(for:) has answered them
      case .get, .post, .put, .patch, .delete, .head, .options:
        return try await CallCommand(parsed, environment).run()
      }
    } catch {
      return report(Failure(error, of: parsed), environment)
    }
  }

  /// The help, the version, completions or the manual page; nil if the user asks for something else.
  private static func text(for parsed: ParsedArguments) throws(UsageError) -> String? {
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
      if parsed.command.isMethod || parsed.command == .ws, parsed.words.isEmpty {
        // -h is --headers, but without a URL it can only ask for help.
        if parsed.has(.headers) { return HelpText.of(Catalogue.description(of: parsed.command)) }
        throw UsageError("there is no URL: martlet \(parsed.command.rawValue) example.com/orders")
      }
      return nil
    }
  }

  /// Writes why something failed, and returns its exit code.
  static func report(_ failure: Failure, _ environment: ToolEnvironment) -> ExitCode {
    for (index, line) in failure.lines.enumerated() {
      environment.report(index == 0 ? "martlet: \(line)" : "         \(line)")
    }
    return failure.code
  }
}
