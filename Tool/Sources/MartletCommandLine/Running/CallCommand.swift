import MartletEngine
import MartletImages
import MartletObservation
import MartletSemantics

/// Makes a request and shows the response: the commands that are methods.
struct CallCommand {
  private let arguments: ParsedArguments
  private let surroundings: Surroundings
  private let choice: OutputChoice
  private let output: any Output

  init(_ arguments: ParsedArguments, _ surroundings: Surroundings) throws(UsageError) {
    self.arguments = arguments
    self.surroundings = surroundings
    for other in [OptionName.output, .download] where arguments.has(.image) && arguments.has(other) {
      throw UsageError("--image and --\(other.rawValue) exclude each other: leave one out")
    }
    choice = try OutputChoice(arguments, surroundings)
    output = surroundings.output
  }

  /// Returns the code of a call that ended with a response; throws the error of any other.
  func run() async throws -> ExitCode {
    let progress = DownloadProgress(
      to: surroundings.errors, palette: choice.errorPalette, clock: surroundings.clock,
      isQuiet: arguments.has(.quiet) || arguments.has(.verbose) || arguments.has(.events))
    let call = try await PreparedCall(
      arguments, choice, surroundings, listeners: arguments.has(.download) ? [progress] : [])
    if arguments.has(.curl) {
      try output.write(try await call.curlCommand() + "\n")
      return .success
    }
    return try await call.finishing(reportingTo: surroundings) {
      do { return try await perform(call, progress) } catch {
        throw arguments.has(.replay) ? NotRecorded.or(error) : error
      }
    }
  }

  private func perform(_ call: PreparedCall, _ progress: DownloadProgress) async throws -> ExitCode {
    if arguments.has(.download) {
      if arguments.value(.output) == "-" { return try await pass(call) }
      try await DownloadCommand(call, arguments, surroundings, progress: progress).run()
      return .success
    }
    let file = try outputFile()
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
    } catch let error as OutputError {
      body.cancel()
      throw error
    }
    guard arguments.has(.checkStatus), let code = ExitCode(statusOf: response.head) else { return .success }
    return code
  }

  /// Writes the body unchanged to standard output, if the status is a success: `--download --output -`.
  private func pass(_ call: PreparedCall) async throws -> ExitCode {
    var request = call.request
    request.options.expecting = .successful
    let (body, _) = try await call.session.bytes(for: request)
    do {
      for try await chunk in body { try output.write(Array(chunk)) }
    } catch let error as OutputError {
      body.cancel()
      throw error
    }
    return .success
  }

  private func showHeads(_ call: PreparedCall, _ response: HTTPResponse) throws(OutputError) {
    let text = MessageText(palette: choice.palette, redaction: .off)
    var shown: [[UInt8]] = []
    if choice.parts.contains(.requestHead) { shown.append(Array(call.sentHead(in: text).utf8)) }
    if choice.parts.contains(.requestBody), !call.request.body.isEmpty {
      shown.append((call.request.body.bytes.map { Array($0) } ?? Array("(\(call.request.body))".utf8)) + [10])
    }
    if choice.parts.contains(.responseHead) { shown.append(Array(text.response(response.head).utf8)) }
    guard !shown.isEmpty else { return }
    // An empty line separates the parts.
    try output.write(Array(shown.joined(separator: [10])) + (choice.parts.contains(.responseBody) ? [10] : []))
  }

  private func show(_ body: ResponseBody, of response: HTTPResponse) async throws {
    guard arguments.has(.image) else {
      return try await BodyPrinter(choice, to: output).print(body, type: response.fields.mediaType)
    }
    do { try await ImagePrinter(to: output).print(body) } catch let error as ImageError {
      throw NotDrawn(error, response.head)
    }
  }

  private func outputFile() throws(UsageError) -> OutputFile? {
    guard let path = arguments.value(.output), path != "-" else { return nil }
    return try OutputFile(surroundings.file(path), shown: path, overwrites: arguments.has(.overwrite))
  }

  /// Writes the body to a file, whatever the status.
  private func write(_ body: ResponseBody, to file: OutputFile) async throws {
    let writer = try file.open()
    for try await chunk in body { try writer.append(chunk) }
    try writer.complete()
  }
}
