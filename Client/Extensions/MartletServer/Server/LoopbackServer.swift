public import MartletSemantics
import Synchronization

#if os(Linux)
typealias SecuredServer = ServerTLSContext
#else
/// A server with TLS, which other systems do not have.
struct SecuredServer: Sendable {
  init(_ tls: LoopbackTLS, authority: LoopbackAuthority) throws(LoopbackServerError) {
    throw LoopbackAuthority.unsupported
  }
}
#endif

/// An HTTP server on 127.0.0.1 whose replies come from a closure, and can misbehave on demand: HTTP/1.1 and HTTP/2,
/// with TLS or without.
///
/// ```swift
/// let server = try LoopbackServer { request in
///   request.path == "/slow" ? .text("hello").stalled(after: 2) : .json(#"{"ok": true}"#)
/// }
/// let (data, _) = try await session.data(for: HTTPRequest(.get, server.url("/status")))
/// #expect(server.requests[0].fields[.accept] == "application/json")
/// ```
///
/// Every connection has its own thread, and so has every stream of HTTP/2. The closure runs on it: it may block, and it
/// may suspend, as a proxy does that sends a request of its own. Its task is cancelled when the client has closed the
/// connection. An error that it throws becomes a 500 with the error's description. Replies are sent as the closure
/// makes them, without additional `Date` or `Server` fields. A request that violates RFC 9112 (no `Host`, or two, a
/// control character in a field, a fragment in its target) gets a 400, and the reason is written to standard error. The
/// server stops when ``stop()`` is called or the last reference to it is released.
///
/// With ``LoopbackTLS`` it serves https, and HTTP/2 to clients that choose it. Without TLS it serves HTTP/2 to clients
/// that begin with it (``Martlet/ConnectionConfiguration/Versions/http2PriorKnowledge``). It is meant for tests and
/// demonstrations: it listens only on the loopback interface.
public final class LoopbackServer: Sendable {
  /// Answers one request; called on the thread of the connection, or of the stream of HTTP/2.
  public typealias Responder = @Sendable (LoopbackRequest) async throws -> Reply

  /// The server's URL: `http://127.0.0.1:port`, or `https://127.0.0.1:port` with TLS.
  public let url: URL
  /// The authority that has signed the server's certificate; nil without TLS. Its ``LoopbackAuthority/file`` is for
  /// ``Martlet/TLSSettings/authorities`` of the client.
  public let authority: LoopbackAuthority?
  /// The port that it listens on.
  public let port: Int
  let state: Awaitable<ServerState>
  private let socket: ListeningSocket
  private let scheme: String

  /// Starts a server.
  ///
  /// - Parameters:
  ///   - port: the port; 0, the default, lets the system choose a free one.
  ///   - bodies: how request bodies are read; by default they are collected up to 64 MiB.
  ///   - recording: whether requests are recorded; by default all are, with their bodies.
  ///   - accept: decides about each new connection, by its number; called once for each. All are served by default.
  ///   - respond: answers the requests.
  /// - Throws: ``LoopbackServerError`` if it cannot listen there.
  public convenience init(
    port: Int = 0, bodies: BodyReading = .collected(upTo: 64 << 20), recording: Recording = .everything,
    accept: @escaping @Sendable (_ connection: Int) -> Acceptance = { _ in .serve },
    respond: @escaping Responder
  ) throws(LoopbackServerError) {
    var settings = Settings(bodies: bodies, recording: recording, accept: accept, respond: respond)
    settings.allowsPreface = true
    try self.init(ListeningSocket(port: port), settings, nil)
  }

  /// Starts a server with TLS, which serves HTTP/2 and HTTP/1.1. All requests are recorded.
  ///
  /// - Parameters:
  ///   - tls: the certificate, the versions, and whether clients need a certificate.
  ///   - port: the port; 0, the default, lets the system choose a free one.
  ///   - bodies: how request bodies are read; by default they are collected up to 64 MiB.
  ///   - accept: decides about each new connection, by its number; called once for each. All are served by default.
  ///   - respond: answers the requests.
  /// - Throws: ``LoopbackServerError`` if it cannot listen there, and for hosts that cannot be in a certificate.
  public convenience init(
    tls: LoopbackTLS, port: Int = 0, bodies: BodyReading = .collected(upTo: 64 << 20),
    accept: @escaping @Sendable (_ connection: Int) -> Acceptance = { _ in .serve },
    respond: @escaping Responder
  ) throws(LoopbackServerError) {
    let settings = Settings(bodies: bodies, recording: .everything, accept: accept, respond: respond)
    try self.init(ListeningSocket(port: port), settings, tls)
  }

  /// Starts a server with limits, for programs that are not only reachable by their own tests.
  @_spi(Toolkit) public convenience init(
    port: Int, bodies: BodyReading, limits: Limits, recording: Recording = .nothing, respond: @escaping Responder
  ) throws(LoopbackServerError) {
    try self.init(
      ListeningSocket(port: port),
      Settings(bodies: bodies, recording: recording, accept: { _ in .serve }, respond: respond, limits: limits), nil)
  }

  /// Starts a server with limits whose responder depends on the port, which may be chosen by the system.
  @_spi(Toolkit) public convenience init(
    port: Int, tls: LoopbackTLS? = nil, bodies: BodyReading, limits: Limits, makeResponder: (_ port: Int) -> Responder
  ) throws(LoopbackServerError) {
    let socket = try ListeningSocket(port: port)
    let settings = Settings(
      bodies: bodies, recording: .nothing, accept: { _ in .serve }, respond: makeResponder(socket.port), limits: limits)
    try self.init(socket, settings, tls)
  }

  private init(_ socket: ListeningSocket, _ settings: Settings, _ tls: LoopbackTLS?) throws(LoopbackServerError) {
    var settings = settings
    authority = try tls?.madeAuthority()
    if let tls, let authority { settings.tls = try SecuredServer(tls, authority: authority) }
    let state = Awaitable(ServerState(recording: settings.recording))
    self.state = state
    self.socket = socket
    self.port = socket.port
    scheme = authority == nil ? "http" : "https"
    url = Self.url(scheme, port: self.port, target: "")
    let acceptor = Acceptor(listener: socket.descriptor, settings: settings, state: state)
    guard SystemCalls.startThread({ acceptor.run() }) else {
      _ = state.update { $0.stop(listener: socket.descriptor) }
      SystemCalls.closeDescriptor(socket.descriptor)
      throw LoopbackServerError("cannot start a thread for the server: the system's limit of threads is reached")
    }
  }

  deinit { stop() }

  /// Returns the URL of a target on this server: `server.url("/path?query")`. An invalid target stops the program.
  public func url(_ target: String) -> URL { Self.url(scheme, port: port, target: target) }

  /// All requests so far, in the order in which their heads (and bodies, if these are collected) were complete.
  public var requests: [ReceivedRequest] { state.value.requests }

  /// The number of connections that were accepted so far.
  public var connectionCount: Int { state.value.accepted }

  /// Stops listening and shuts down every connection, even in the middle of a reply.
  ///
  /// It does not block: a responder that blocks by its own means finishes later on its thread. Tasks that await the
  /// server get a ``LoopbackServerError``. The port stays reserved until the server is deallocated, so that connections
  /// to it are refused. Stopping twice does nothing.
  public func stop() { _ = state.update { $0.stop(listener: socket.descriptor) } }

  private static func url(_ scheme: String, port: Int, target: String) -> URL {
    guard let url = URL(string: "\(scheme)://127.0.0.1:\(port)\(target)") else {
      preconditionFailure("'\(target)' is not a valid target: begin with a slash and percent-encode special characters")
    }
    return url
  }
}

extension LoopbackServer {
  /// How request bodies are read.
  public enum BodyReading: Sendable, Hashable {
    /// Before the responder is called, into ``ReceivedRequest/body``. A larger body is answered with 413.
    /// `Expect: 100-continue` is always granted.
    case collected(upTo: Int)
    /// By the responder, through ``LoopbackRequest/nextChunk()``, chunk by chunk. The rest is read and discarded after
    /// the reply, so that the connection can be reused. A responder that reads nothing refuses `Expect: 100-continue`.
    case streamed
  }

  /// Whether a server records its requests.
  public enum Recording: Sendable, Hashable {
    /// All requests are recorded, until the server is deallocated: for tests.
    case everything
    /// None is recorded, nor the ends of connections: for long-running servers, whose memory must not grow.
    /// ``LoopbackServer/requests`` stays empty.
    case nothing
  }

  /// What happens to a new connection.
  public enum Acceptance: Sendable, Hashable {
    /// The server answers its requests.
    case serve
    /// It is closed at once.
    case close
    /// It is reset at once.
    case reset
    /// Nothing is read or sent until the client closes it: a TLS handshake does not end.
    case stall
    /// The TLS handshake is refused by an alert.
    case refuseHandshake
  }

  struct Settings: Sendable {
    let bodies: BodyReading
    let recording: Recording
    let accept: @Sendable (Int) -> Acceptance
    let respond: Responder
    var limits = Limits()
    /// nil without TLS.
    var tls: SecuredServer?
    /// Whether a client without TLS may begin with HTTP/2.
    var allowsPreface = false
    /// The bytes of the bodies that are held at the moment.
    let held = HeldBytes()
  }

  /// Limits for clients; none by default.
  @_spi(Toolkit) public struct Limits: Sendable {
    /// The maximum number of simultaneous connections. For a further one the server closes the connection that has
    /// waited longest for a request, for the rest of its head, or for more of its body. If none waits, the further one
    /// gets a 503 and is closed.
    public var connections = Int.max
    /// How long a request's head may take, from the moment the connection is ready for it. If none has begun by then,
    /// the connection is closed.
    public var headTime: Duration?
    /// How long a request's body may take.
    public var bodyTime: Duration?
    /// How long a client may leave sent bytes unread, in whole seconds.
    public var sendTime: Duration?
    /// The maximum number of bytes of all collected bodies together. A body that does not fit gets a 503.
    public var heldBytes = Int.max

    /// Makes limits; by default there are none.
    public init(
      connections: Int = .max, headTime: Duration? = nil, bodyTime: Duration? = nil, sendTime: Duration? = nil,
      heldBytes: Int = .max
    ) {
      self.connections = connections
      self.headTime = headTime
      self.bodyTime = bodyTime
      self.sendTime = sendTime
      self.heldBytes = heldBytes
    }
  }

  /// Counts bytes that are held.
  final class HeldBytes: Sendable {
    private let count = Mutex(0)

    /// Adds bytes; if they would exceed the limit, adds none and returns false.
    func add(_ more: Int, upTo limit: Int) -> Bool {
      count.withLock { count in
        guard more <= limit - count else { return false }
        count += more
        return true
      }
    }

    func remove(_ fewer: Int) { count.withLock { $0 -= fewer } }
  }
}

/// An error of a test helper: a server that cannot start or was stopped, a file or a program that cannot be used.
public struct LoopbackServerError: Error, Sendable, CustomStringConvertible {
  /// The problem, and the remedy.
  public let description: String

  @_spi(Toolkit) public init(_ description: String) { self.description = description }
}

extension LoopbackServer {
  /// Which side ended a connection.
  public enum ConnectionEnd: Sendable, Hashable {
    /// The client closed it, or it broke.
    case client
    /// The server closed or reset it, because of a reply or because the server was stopped.
    case server
  }

  /// Waits for the n-th request, counted from 1 over all connections, and returns it.
  ///
  /// It returns before the request is answered: a test thus knows that the server has received a request.
  ///
  /// A wait of more than 10 seconds is reported on standard error, with its line.
  ///
  /// - Throws: `CancellationError`, or ``LoopbackServerError`` if the server is stopped before that request, or records
  ///   nothing.
  public func request(_ number: Int, fileID: String = #fileID, line: Int = #line) async throws -> ReceivedRequest {
    try checkRecording(of: "requests")
    let description: @Sendable (ServerState) -> String = {
      "request \(number) of a LoopbackServer, which has received \($0.requests.count)"
    }
    return try await state.wait(at: .init(fileID, line), saying: description) {
      state -> Result<ReceivedRequest, LoopbackServerError>? in
      if number > 0, state.requests.count >= number { return .success(state.requests[number - 1]) }
      guard state.isStopped else { return nil }
      return .failure(.init("the server was stopped after \(state.requests.count) requests, before number \(number)"))
    }.get()
  }

  /// Waits until the n-th connection, counted from 1, is closed, and returns which side closed it.
  ///
  /// A wait of more than 10 seconds is reported on standard error, with its line.
  ///
  /// - Throws: `CancellationError`, or ``LoopbackServerError`` if the server is stopped before that connection, or
  ///   records nothing.
  @discardableResult
  public func end(
    ofConnection number: Int, fileID: String = #fileID, line: Int = #line
  ) async throws -> ConnectionEnd {
    try checkRecording(of: "ends of connections")
    let description: @Sendable (ServerState) -> String = {
      "the end of connection \(number) of a LoopbackServer, which has accepted \($0.accepted)"
    }
    return try await state.wait(at: .init(fileID, line), saying: description) {
      state -> Result<ConnectionEnd, LoopbackServerError>? in
      if let end = state.ends[number] { return .success(end) }
      guard state.isStopped, number > state.accepted else { return nil }
      return .failure(.init("the server was stopped after \(state.accepted) connections, before number \(number)"))
    }.get()
  }

  private func checkRecording(of what: String) throws(LoopbackServerError) {
    guard state.value.recording == .everything else {
      throw LoopbackServerError("the server records no \(what) to wait for: make it with `recording: .everything`")
    }
  }
}
