import MartletEngine
@_spi(Toolkit) import MartletSemantics
@_spi(Toolkit) import MartletServer
@_spi(Toolkit) import MartletTesting

/// A server on 127.0.0.1 that runs until Ctrl-C, and answers only requests for this machine.
struct LocalServer: Sendable {
  private let port: Int
  private let hosts: ServedHosts
  private let tls: LoopbackTLS?

  init(_ arguments: ParsedArguments) throws(UsageError) {
    port = arguments.count(.port) ?? 8000
    guard port <= 65535 else { throw UsageError("--port \(port): a port is at most 65535") }
    let names = arguments.all(.host)
    hosts = ServedHosts(names)
    tls = arguments.has(.tls) ? Self.tls(for: names) : nil
  }

  private static func tls(for names: [String]) -> LoopbackTLS {
    var tls = LoopbackTLS.selfSigned
    tls.hosts += names
    return tls
  }

  /// Room for the connections of some browsers and programs, but not for clients that only hold connections open.
  private static let limits = LoopbackServer.Limits(
    connections: 256, headTime: .seconds(30), bodyTime: .seconds(600), sendTime: .seconds(60), heldBytes: 128 << 20)

  /// Starts the server, which reports each request on standard error, and the file with the authority of its
  /// certificate.
  func start(
    bodies: LoopbackServer.BodyReading, _ environment: ToolEnvironment,
    respond: @escaping LoopbackServer.Responder
  ) throws(UsageError) -> LoopbackServer {
    let reporting: LoopbackServer.Responder = { [hosts] request in
      let reply = hosts.allow(request.fields) ? try await respond(request) : Self.refusal
      let target = Redaction.standard.redacted(reference: request.target)
      environment.report("\(request.method) \(target) \(reply.status.code)")
      return reply
    }
    do {
      let server = try LoopbackServer(port: port, tls: tls, bodies: bodies, limits: Self.limits) { _ in reporting }
      if let file = server.authority?.file {
        environment.report("martlet: its clients trust --ca \(file.path), or curl's --cacert, while it runs")
      }
      return server
    } catch {
      throw UsageError(tls == nil ? "--port \(port): \(error)" : "--tls: \(error)")
    }
  }

  private static let refusal = Reply.text(
    "this server answers requests for localhost: --host NAME allows another name\n", status: .misdirectedRequest)

  /// Returns when the task is cancelled.
  static func untilInterrupted() async throws {
    let never = AsyncStream<Never> { _ in }
    for await _ in never {}
  }
}

/// The names in `Host` that a local server answers to.
///
/// A page in a browser can point its own name to 127.0.0.1 (DNS rebinding), and could read the served content. It
/// cannot change the name in `Host`.
struct ServedHosts: Sendable {
  private let names: Set<String>

  /// - Parameter names: names that are allowed besides this machine's names.
  init(_ names: [String]) { self.names = Set(names.map { ASCII.lowercased($0) }) }

  /// No browser sends a request without `Host`, which HTTP/1.0 allows.
  func allow(_ fields: HTTPFields) -> Bool {
    let hosts = fields[values: .host]
    return hosts.count <= 1 && hosts.allSatisfy(allow)
  }

  /// Whether `Host` is one of the names, with a port or without.
  func allow(_ host: String) -> Bool {
    var name = ASCII.lowercased(host)[...]
    if let colon = name.lastIndex(of: ":"), !name.hasSuffix("]") {
      guard name[name.index(after: colon)...].utf8.allSatisfy(ASCII.isDigit) else { return false }
      name = name[..<colon]
    }
    if name.hasSuffix(".") { name = name.dropLast() }
    return TargetURL.isLocal(name) || names.contains(String(name))
  }
}
