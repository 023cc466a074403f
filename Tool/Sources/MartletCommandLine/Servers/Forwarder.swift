import Dispatch
@_spi(Toolkit) @_spi(Transports) import MartletEngine
@_spi(Toolkit) import MartletSemantics
import MartletSockets
import MartletTesting
import Synchronization

/// Sends the requests of a local server to an origin. The client handles redirects, cookies and credentials. Names of
/// the origin in a response are rewritten, so that the client stays with the local server.
struct Forwarder: Sendable {
  private let origin: URL
  private let session: HTTPSession

  /// The fields that concern only one connection (RFC 9110 §7.6.1), and the fields that the transport sets itself.
  private static let ofConnections: Set<FieldName> = [
    .connection, "Keep-Alive", .proxyAuthenticate, .proxyAuthorization, "Proxy-Connection", .te, .trailer,
    .transferEncoding, .upgrade, .contentLength, .host, .expect, .acceptEncoding,
  ]

  init(to origin: URL, over transport: SocketTransport, listeners: [any EventListener]) {
    var configuration = SessionConfiguration(cookies: nil, cache: nil)
    configuration.userAgent = nil
    configuration.listeners = listeners
    configuration.options.redirectPolicy = .manual
    self.origin = origin
    session = HTTPSession(transport: transport, configuration: configuration)
  }

  /// Answers with the origin's response.
  func reply(to request: LoopbackRequest) async -> Reply {
    guard let outgoing = outgoing(request.received) else {
      return .text("the target '\(request.target)' is not a path\n", status: .badRequest)
    }
    do throws(HTTPError) {
      let (body, response) = try await session.bytes(for: outgoing)
      let scheme = request.handshake == nil ? "http" : "https"
      let local = request.fields[.host].map { "\(scheme)://\($0)" } ?? ""
      var fields = incoming(response.fields, local: local)
      var reply = Reply()
      if request.method == .head || response.body.length == 0 {
        body.cancel()
        if request.method == .head { fields[.contentLength] = response.fields[.contentLength] }
      } else {
        let chunks = Chunks(body)
        reply = .generated(length: body.length) { _ in try chunks.next() }
      }
      (reply.status, reply.reason, reply.fields) = (response.status, response.reason, fields)
      return reply
    } catch {
      return .text("the origin did not answer: \(error.message)\n", status: .badGateway)
    }
  }

  private func outgoing(_ request: ReceivedRequest) -> HTTPRequest? {
    guard request.target.hasPrefix("/"), let origin = Origin(origin), let url = URL(text: "\(origin)\(request.target)")
    else { return nil }
    var fields = HTTPFields()
    let dropped = Self.ofConnection(request.fields)
    for (name, value) in request.fields where !dropped.contains(name) { fields.append(value, for: name) }
    var outgoing = HTTPRequest(request.method, url, fields: fields)
    outgoing.options.keepsDotSegments = true
    if !request.body.isEmpty { outgoing.body = .data(request.body) }
    return outgoing
  }

  private func incoming(_ received: HTTPFields, local: String) -> HTTPFields {
    var fields = HTTPFields()
    let dropped = Self.ofConnection(received)
    for (name, value) in received where !dropped.contains(name) {
      switch name {
      case .location, .contentLocation: fields.append(self.local(value, at: local), for: name)
      case .setCookie: fields.append(Self.localCookie(value), for: name)
      default: fields.append(value, for: name)
      }
    }
    return fields
  }

  /// The fields that concern one connection, including the fields that `Connection` names.
  private static func ofConnection(_ fields: HTTPFields) -> Set<FieldName> {
    let named = fields[values: .connection].flatMap { $0.split(separator: ",") }
      .compactMap { try? FieldName(String(ASCII.trimmed($0))) }
    return ofConnections.union(named)
  }

  /// The URL at the local server, if it belongs to the origin.
  private func local(_ location: String, at local: String) -> String {
    guard let prefix = Origin(origin).map({ "\($0)" }), location.hasPrefix(prefix) else { return location }
    let rest = location.dropFirst(prefix.count)
    return rest.isEmpty || "/?#".contains(rest.prefix(1)) ? local + rest : location
  }

  /// The cookie without the attributes that would keep the client from sending it to the local server: Domain and
  /// Secure.
  static func localCookie(_ line: String) -> String {
    let parts = line.split(separator: ";", omittingEmptySubsequences: false)
    let kept = parts.enumerated().filter { index, part in
      let name = ASCII.lowercased(ASCII.trimmed(part.prefix { $0 != "=" }))
      return index == 0 || (name != "domain" && name != "secure")
    }
    return kept.map { String($0.element) }.joined(separator: ";")
  }

  /// Runs asynchronous work while the thread waits. Only for threads of a server's connections.
  static func waiting<Value: Sendable>(
    _ work: @escaping @Sendable () async throws -> Value
  ) -> Result<Value, any Error> {
    let done = DispatchSemaphore(value: 0)
    let outcome = Mutex<Result<Value, any Error>>(.failure(CancellationError()))
    Task {
      let result: Result<Value, any Error>
      do { result = .success(try await work()) } catch { result = .failure(error) }
      outcome.withLock { $0 = result }
      done.signal()
    }
    done.wait()
    return outcome.withLock { $0 }
  }

  /// A body that is read by a thread.
  private final class Chunks: Sendable {
    private let body: ResponseBody

    init(_ body: ResponseBody) { self.body = body }

    func next() throws -> Data? {
      let source = body.source
      return try Forwarder.waiting { try await source.next() }.get()
    }

    deinit { body.cancel() }
  }
}
