@_spi(Toolkit) import MartletEngine
@_spi(Toolkit) import MartletInspector
import MartletObservation
import MartletSemantics
import MartletSockets

/// Shows an archive in a browser: `martlet inspect`.
struct InspectCommand {
  private let environment: ToolEnvironment
  private let archive: HAR
  private let options: Inspector.Options
  private let name: String

  init(_ arguments: ParsedArguments, _ environment: ToolEnvironment) throws(UsageError) {
    guard let path = arguments.words.first, arguments.words.count == 1 else {
      throw UsageError("name one archive: martlet inspect api.har")
    }
    do {
      archive = try HAR(json: SpareDescriptors.contents(of: environment.file(path)))
    } catch is DecodingError {
      throw UsageError("'\(path)' is not an HTTP Archive (HAR)")
    } catch {
      throw UsageError("'\(path)' cannot be read")
    }
    self.environment = environment
    name = path
    var options = Inspector.Options()
    options.port = arguments.count(.port) ?? 0
    if arguments.has(.showSecrets) { options.redaction = .off }
    options.isAnnounced = false
    self.options = options
  }

  func run() async throws -> ExitCode {
    let inspector = try Inspector(showing: archive, options)
    defer { inspector.close() }
    try environment.output.write("\(inspector.url.absoluteString) shows \(name)\n")
    try await LocalServer.untilInterrupted()
    return .success
  }
}

extension Inspector {
  /// Starts an inspector on any free port, and reports its URL on standard error.
  ///
  /// - Parameter transport: the transport whose connections it counts; nil for none.
  static func announced(
    by environment: ToolEnvironment, counting transport: SocketTransport? = nil
  ) throws(HTTPError) -> Inspector {
    var options = Options()
    options.isAnnounced = false
    if let transport { options.pools = { await transport.statistics() } }
    let inspector = try Inspector(options)
    environment.report("Inspector: \(inspector.url.absoluteString)")
    return inspector
  }
}
