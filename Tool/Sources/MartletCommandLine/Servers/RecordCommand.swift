import Dispatch
import MartletEngine
import MartletObservation
import MartletSemantics
import MartletSockets
import MartletTesting
import Synchronization

/// Passes requests on to a server and records them: `martlet record`.
struct RecordCommand {
  private let surroundings: Surroundings
  private let port: Int
  private let origin: URL
  private let archive: OwnFile
  private let connection: ConnectionConfiguration

  init(_ arguments: ParsedArguments, _ surroundings: Surroundings) throws(UsageError) {
    guard let text = arguments.value(.origin) else {
      throw UsageError("name the server: martlet record --origin https://api.example.com --har api.har")
    }
    guard let archive = try OwnFile(.har, .archive, arguments, surroundings) else {
      throw UsageError("name the archive to write: --har FILE")
    }
    self.surroundings = surroundings
    origin = try TargetURL.parse(text)
    self.archive = archive
    port = try LocalServer.port(arguments)
    connection = try ConnectionOptions(arguments, surroundings).configuration()
  }

  func run() async throws -> ExitCode {
    let recorder = HARRecorder(limits: .ofArchives)
    let calls = TaskCounter()
    let (archive, surroundings) = (archive.url, surroundings)
    let writer = EventHandler { event, _ in
      guard case .finished = event else { return }
      do throws(HTTPError) { try recorder.write(to: archive) } catch {
        surroundings.report("martlet: \(error.message)")
      }
    }
    let forwarder = Forwarder(to: origin, over: connection, listeners: [recorder, writer, calls])
    let server = try LocalServer.start(port) { request in
      let reply = forwarder.reply(to: request)
      surroundings.report("\(request.method) \(request.target) \(reply.status.code)")
      return reply
    }
    defer { server.stop() }
    try recorder.write(to: archive)  // a file that cannot be written is reported at once
    try surroundings.output.write("\(server.url)/ passes on to \(origin.absoluteString), recorded in \(archive.path)\n")
    try await LocalServer.untilInterrupted()
    await waitForEnd(of: calls)
    let incomplete = recorder.endAttempts(with: Self.interrupted)
    try recorder.write(to: archive)
    if incomplete > 0 { surroundings.report("martlet: recorded as far as they got: \(incomplete) unfinished") }
    return .success
  }

  /// What an archive says of a response that was not complete at Ctrl-C.
  static let interrupted = HTTPError(.other, "the recording was ended before the response was complete")

  /// Returns when all calls have ended, or after a second: what is complete for the client may not be written down yet. It does not
  /// matter that the task is cancelled.
  private func waitForEnd(of calls: TaskCounter) async {
    let clock = surroundings.clock
    await Task {
      await withTaskGroup(of: Void.self) { group in
        group.addTask { _ = await calls.counts.first { $0 == 0 } }
        group.addTask { try? await clock.sleep(for: .seconds(1)) }
        await group.next()
        group.cancelAll()
      }
    }.value
  }
}

/// Sends the requests of a local server to an origin. Redirects, cookies and credentials are the client's; what names
/// the origin in a response is rewritten, so that the client stays with the local server.
struct Forwarder: Sendable {
  private let origin: URL
  private let session: HTTPSession

  /// The fields that concern one connection only (RFC 9110 §7.6.1), and those that the transport sets itself.
  private static let ofConnections: Set<FieldName> = [
    .connection, "Keep-Alive", .proxyAuthenticate, .proxyAuthorization, "Proxy-Connection", .te, .trailer,
    .transferEncoding, .upgrade, .contentLength, .host, .expect, .acceptEncoding,
  ]

  init(to origin: URL, over connection: ConnectionConfiguration, listeners: [any EventListener]) {
    var configuration = SessionConfiguration(cookies: nil, cache: nil)
    configuration.userAgent = nil
    configuration.listeners = listeners
    configuration.options.redirectPolicy = .manual
    self.origin = origin
    session = HTTPSession(transport: SocketTransport(connection), configuration: configuration)
  }

  /// Answers on the connection's own thread, which waits for the origin.
  func reply(to request: LoopbackRequest) -> Reply {
    guard let outgoing = outgoing(request.received) else {
      return .text("the target '\(request.target)' is not a path\n", status: .badRequest)
    }
    let session = session
    let result = Self.waiting { try await session.bytes(for: outgoing) }
    switch result {
    case .success(let (body, response)):
      let local = request.fields[.host].map { "http://\($0)" } ?? ""
      var fields = incoming(response.fields, local: local)
      if request.method == .head || response.body.length == 0 {
        body.cancel()
        if request.method == .head { fields[.contentLength] = response.fields[.contentLength] }
        return .status(response.status, fields: fields)
      }
      let chunks = Chunks(body)
      var reply = Reply.generated(length: body.length) { _ in try chunks.next() }
      (reply.status, reply.fields) = (response.status, fields)
      return reply
    case .failure(let error):
      return .text("the origin did not answer: \(HTTPError(wrapping: error).message)\n", status: .badGateway)
    }
  }

  private func outgoing(_ request: ReceivedRequest) -> HTTPRequest? {
    guard request.target.hasPrefix("/"), let origin = Origin(origin), let url = URL(text: "\(origin)\(request.target)")
    else { return nil }
    var fields = HTTPFields()
    for (name, value) in request.fields where !Self.ofConnections.contains(name) { fields.append(value, for: name) }
    var outgoing = HTTPRequest(request.method, url, fields: fields)
    outgoing.options.keepsDotSegments = true
    if !request.body.isEmpty { outgoing.body = .data(request.body) }
    return outgoing
  }

  private func incoming(_ received: HTTPFields, local: String) -> HTTPFields {
    var fields = HTTPFields()
    let prefix = Origin(origin).map { "\($0)" } ?? ""
    for (name, value) in received where !Self.ofConnections.contains(name) {
      switch name {
      case .location, .contentLocation:
        fields.append(value.hasPrefix(prefix) ? local + value.dropFirst(prefix.count) : value, for: name)
      case .setCookie: fields.append(Self.localCookie(value), for: name)
      default: fields.append(value, for: name)
      }
    }
    return fields
  }

  /// The cookie without what would keep the client from sending it to the local server: Domain and Secure.
  static func localCookie(_ line: String) -> String {
    let parts = line.split(separator: ";", omittingEmptySubsequences: false)
    let kept = parts.enumerated().filter { index, part in
      let name = ASCII.lowercased(ASCII.trimmed(part.prefix { $0 != "=" }))
      return index == 0 || (name != "domain" && name != "secure")
    }
    return kept.map { String($0.element) }.joined(separator: ";")
  }

  /// Runs asynchronous work while the thread waits. For threads of a server's connections only.
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
