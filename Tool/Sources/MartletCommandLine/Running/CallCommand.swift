import MartletEngine
import MartletObservation
import MartletSemantics

/// Makes a request and shows the response: the commands that are methods.
struct CallCommand {
  private let arguments: ParsedArguments
  private let environment: ToolEnvironment
  private let choice: OutputChoice
  private let output: any Output
  private let writeOut: WriteOut?

  /// What needs a response, or shows the request in another way.
  private static let refusedOffline: [OptionName] = [
    .download, .output, .remoteName, .har, .replay, .timeline, .image, .writeOut, .csrf, .curl,
  ]

  /// Options, each with the options that it excludes.
  private static let exclusive: [(OptionName, [OptionName])] = [
    (.image, [.output, .download]), (.remoteName, [.output, .download, .image]),
  ]

  init(_ arguments: ParsedArguments, _ environment: ToolEnvironment) throws(UsageError) {
    self.arguments = arguments
    self.environment = environment
    if arguments.has(.image), environment.drawing == nil {
      throw UsageError("this program was installed without images: --output FILE writes one to a file")
    }
    for (option, others) in Self.exclusive where arguments.has(option) {
      for other in others where arguments.has(other) {
        throw UsageError("--\(option.rawValue) and --\(other.rawValue) cannot be combined: leave one out")
      }
    }
    if arguments.has(.continuing), !arguments.has(.download) {
      throw UsageError("--continue needs --download, which always continues an earlier try")
    }
    try Self.checkOffline(arguments)
    choice = try OutputChoice(arguments, environment)
    output = environment.output
    writeOut = try WriteOut(arguments, environment.inputFiles)
  }

  private static func checkOffline(_ arguments: ParsedArguments) throws(UsageError) {
    guard arguments.has(.offline) else { return }
    if arguments.has(.cache) {
      throw UsageError("--offline shows the request and sends nothing: --only-cached answers from --cache")
    }
    for other in refusedOffline where arguments.has(other) {
      throw UsageError("--offline sends nothing, and --\(other.rawValue) is for a call: leave one out")
    }
  }

  /// Returns the code of a call that ended with a response; throws the error of any other.
  func run() async throws -> ExitCode {
    let progress = DownloadProgress(
      to: environment.errors, palette: choice.errorPalette, clock: environment.clock,
      isQuiet: arguments.has(.quiet) || arguments.has(.verbose) || arguments.has(.events))
    let call = try await PreparedCall(
      arguments, choice, environment, listeners: arguments.has(.download) ? [progress] : [])
    defer { reportUnsentInput(of: call) }
    if let unsent = call.unsent {
      try await unsent.show(call, choice, on: output)
      return .success
    }
    if arguments.has(.curl) {
      try output.write(try await call.curlCommand(for: arguments) + "\n")
      return .success
    }
    return try await call.finishing(reportingTo: environment) {
      let code: ExitCode
      do { code = try await perform(call, progress) } catch {
        let error = arguments.has(.replay) ? NotRecorded.or(error) : error
        try? writeMeasurements(of: call, endedBy: Failure(error, of: arguments))
        throw error
      }
      try writeMeasurements(of: call, endedBy: code == .success ? nil : Failure(code))
      return code
    }
  }

  /// Says that standard input is not the body, which it is in HTTPie. A command that names a method without a body is
  /// often in a loop whose input is for other commands.
  private func reportUnsentInput(of call: PreparedCall) {
    let isPlain = ["GET", "HEAD", "OPTIONS"].contains(arguments.method)
    guard !isPlain, call.request.body.isEmpty, !arguments.has(.ignoreStandardInput), !arguments.has(.quiet),
      environment.inputFiles.hasUnreadInput
    else { return }
    environment.report(
      "martlet: standard input is not sent: @- sends it as the body, --ignore-stdin hides this message")
  }

  /// Writes the text of `--write-out`, whatever the outcome.
  private func writeMeasurements(of call: PreparedCall, endedBy failure: Failure?) throws(OutputError) {
    guard let writeOut else { return }
    try output.write(writeOut.text(call.measurements, of: call.request, endedBy: failure))
  }

  private func perform(_ call: PreparedCall, _ progress: DownloadProgress) async throws -> ExitCode {
    if arguments.has(.download) {
      if arguments.value(.output) == "-" {
        defer { progress.end() }
        return try await pass(call)
      }
      if let file = try outputFile(for: call.request), file.isSpecial {
        defer { progress.end() }
        return try await pass(call, to: file)
      }
      let response = try await DownloadCommand(call, arguments, environment, progress: progress).run()
      try showNamedHeads(call, response)
      return .success
    }
    let file = try outputFile(for: call.request)
    let (body, response) = try await call.session.bytes(for: call.request)
    do {
      try showHeads(call, response)
      if let file {
        try await write(body, to: file)
      } else if choice.parts.contains(.responseBody), call.request.method != .head {
        try await show(body, of: response)
      } else {
        for try await _ in body {}
      }
      try showMetadata(of: call)
    } catch let error as OutputError {
      body.cancel()
      throw error
    }
    guard arguments.has(.checkStatus), let code = ExitCode(statusOf: response.head) else { return .success }
    return code
  }

  /// The heads of a download, if the command line names them.
  private func showNamedHeads(_ call: PreparedCall, _ response: HTTPResponse) throws(OutputError) {
    if arguments.has(.headers) || arguments.has(.print) { try showHeads(call, response) }
  }

  /// Writes the body unchanged to standard output or a device, if the status is a success: `--download --output -`.
  private func pass(_ call: PreparedCall, to file: OutputFile? = nil) async throws -> ExitCode {
    var request = call.request
    request.options.expecting = .successful
    let (body, response) = try await call.session.bytes(for: request)
    do {
      if let file {
        try showNamedHeads(call, response)
        try await write(body, to: file)
        return .success
      }
      for try await chunk in body { try output.write(Array(chunk)) }
    } catch let error as OutputError {
      body.cancel()
      throw error
    }
    return .success
  }

  private func showHeads(_ call: PreparedCall, _ response: HTTPResponse) throws(OutputError) {
    let text = MessageText(palette: choice.palette, redaction: .off, isSorted: choice.isSorted)
    var shown: [[UInt8]] = []
    for earlier in arguments.has(.all) ? call.earlierHeads(in: text) : [] {
      if choice.parts.contains(.requestHead) { shown.append(Array(earlier.request.utf8)) }
      if choice.parts.contains(.responseHead), let head = earlier.response { shown.append(Array(head.utf8)) }
    }
    if choice.parts.contains(.requestHead) { shown.append(Array(call.sentHead(in: text).utf8)) }
    if choice.parts.contains(.requestBody), !call.request.body.isEmpty {
      shown.append((call.request.body.bytes.map { Array($0) } ?? Array("(\(call.request.body))".utf8)) + [10])
    }
    if choice.parts.contains(.responseHead) { shown.append(Array(text.response(response.head).utf8)) }
    guard !shown.isEmpty else { return }
    // An empty line separates the parts.
    let isLast = choice.parts.isDisjoint(with: [.responseBody, .metadata])
    try output.write(Array(shown.joined(separator: [10])) + (isLast ? [] : [10]))
  }

  /// Shows the metadata on lines of their own, after an empty line.
  private func showMetadata(of call: PreparedCall) throws(OutputError) {
    guard choice.parts.contains(.metadata) else { return }
    let isAfterBody = choice.parts.contains(.responseBody)
    try output.write((isAfterBody ? choice.isForTerminal ? "\n" : "\n\n" : "") + call.measurements.lines)
  }

  private func show(_ body: ResponseBody, of response: HTTPResponse) async throws {
    guard arguments.has(.image), let draw = environment.drawing else {
      return try await BodyPrinter(choice, to: output).print(body, type: response.fields.mediaType)
    }
    do { try await ImagePrinter(to: output, drawing: draw).print(body) } catch let error as ImageDrawingError {
      throw NotDrawn(error, response.head)
    }
  }

  private func outputFile(for request: HTTPRequest) throws(UsageError) -> OutputFile? {
    let remoteName = arguments.has(.remoteName) ? DownloadName.name(of: request.url) : nil
    guard let path = remoteName ?? arguments.value(.output), path != "-" else { return nil }
    return try OutputFile(environment.file(path), shown: path, overwrites: arguments.has(.overwrite))
  }

  /// Writes the body to a file, whatever the status.
  private func write(_ body: ResponseBody, to file: OutputFile) async throws {
    let writer = try file.open()
    for try await chunk in body { try await writer.append(chunk) }
    try await writer.complete()
  }
}
