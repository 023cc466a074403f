public import MartletSemantics

/// An HTTP/1.1 server on 127.0.0.1, made of one closure, that can misbehave on demand.
///
/// ```swift
/// let server = try LoopbackServer { request in
///   request.path == "/slow" ? .text("hello").stalled(after: 2) : .json(#"{"ok": true}"#)
/// }
/// let (data, _) = try await session.data(for: HTTPRequest(.get, server.url("/status")))
/// #expect(server.requests[0].fields[.accept] == "application/json")
/// ```
///
/// Every connection has a thread of its own, and the closure runs on it: it may block. What it throws becomes a 500
/// that says so. Replies are as they are asked for, without a `Date` or `Server` field of their own. The server stops
/// when ``stop()`` is called, and when nobody keeps it. It is equipment for tests and demonstrations: it speaks no TLS
/// and listens on the loopback interface only.
public final class LoopbackServer: Sendable {
  /// Answers one request; called on the connection's thread.
  public typealias Responder = @Sendable (LoopbackRequest) throws -> Reply

  /// Where it listens: `http://127.0.0.1:port`.
  public let url: URL
  /// The port.
  public let port: Int
  let ledger = Watched(ServerLedger())
  let recording: Recording
  private let socket: ListeningSocket

  /// Starts a server.
  ///
  /// - Parameters:
  ///   - port: the port; 0, the default, lets the system choose a free one.
  ///   - bodies: how requests' bodies are read; by default they are collected up to 64 MiB.
  ///   - recording: whether requests are remembered; by default all are, with their bodies.
  ///   - accept: what to do with each new connection, by its number; called once for each. All are served by default.
  ///   - respond: answers the requests.
  /// - Throws: ``LoopbackServerError`` if it cannot listen there.
  public init(
    port: Int = 0, bodies: BodyReading = .collected(upTo: 64 << 20), recording: Recording = .everything,
    accept: @escaping @Sendable (_ connection: Int) -> Acceptance = { _ in .serve },
    respond: @escaping Responder
  ) throws(LoopbackServerError) {
    self.recording = recording
    socket = try ListeningSocket(port: port)
    self.port = socket.port
    url = Self.url(port: self.port, target: "")
    let acceptor = Acceptor(
      listener: socket.descriptor,
      settings: Settings(bodies: bodies, recording: recording, accept: accept, respond: respond), ledger: ledger)
    guard SystemCalls.startThread({ acceptor.run() }) else {
      _ = ledger.update { $0.stop(listener: socket.descriptor) }
      SystemCalls.closeDescriptor(socket.descriptor)
      throw LoopbackServerError("cannot start a thread for the server: the system's limit of threads is reached")
    }
  }

  deinit { stop() }

  /// The URL of a target on this server: `server.url("/path?query")`. A target that makes no URL stops the program.
  public func url(_ target: String) -> URL { Self.url(port: port, target: target) }

  /// Every request so far, in the order in which their heads (and, where they are collected, bodies) were complete.
  public var requests: [ReceivedRequest] { ledger.state.requests }

  /// How many connections were accepted so far.
  public var connectionCount: Int { ledger.state.accepted }

  /// Stops listening and shuts every connection down, in the middle of whatever it does.
  ///
  /// It never waits: a responder that blocks by means of its own finishes on its thread later. Everybody who awaits
  /// the server gets a ``LoopbackServerError``. Its port stays its own as long as the server is kept, so that connections are
  /// refused. Stopping twice does nothing.
  public func stop() { _ = ledger.update { $0.stop(listener: socket.descriptor) } }

  private static func url(port: Int, target: String) -> URL {
    guard let url = URL(string: "http://127.0.0.1:\(port)\(target)") else {
      preconditionFailure("'\(target)' is no target of a URL: begin with a slash and percent-encode what is unusual")
    }
    return url
  }
}

extension LoopbackServer {
  /// How requests' bodies are read.
  public enum BodyReading: Sendable, Hashable {
    /// Before the responder is called, into ``ReceivedRequest/body``. A larger body is answered with 413.
    /// `Expect: 100-continue` is always granted.
    case collected(upTo: Int)
    /// By the responder, through ``LoopbackRequest/nextChunk()``, without memory. What it leaves is read and dropped
    /// after the reply, so that the connection can go on. A responder that never reads refuses `Expect: 100-continue`.
    case streamed
  }

  /// Whether a server remembers its requests.
  public enum Recording: Sendable, Hashable {
    /// All of them, until the server goes: right for a test.
    case everything
    /// None: right for a server that runs for long. ``LoopbackServer/requests`` stays empty.
    case nothing
  }

  /// What happens to a new connection.
  public enum Acceptance: Sendable, Hashable {
    /// Its requests are answered.
    case serve
    /// It is closed at once.
    case close
    /// It is reset at once.
    case reset
  }

  struct Settings: Sendable {
    let bodies: BodyReading
    let recording: Recording
    let accept: @Sendable (Int) -> Acceptance
    let respond: Responder
  }
}

/// Why a server cannot start, or has nothing more to wait for.
public struct LoopbackServerError: Error, Sendable, CustomStringConvertible {
  /// What happened and what to do about it.
  public let description: String

  init(_ description: String) { self.description = description }
}
