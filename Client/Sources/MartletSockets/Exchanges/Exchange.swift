#if os(Linux)
@_spi(Transports) import MartletEngine
@_spi(Toolkit) import MartletSemantics
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// One request in progress: what the call's tasks and the loop's thread share.
final class Exchange: Sendable {
  /// What the call's tasks ask of the loop's thread. They may ask at any time, even after the exchange has ended.
  enum Command: Sendable {
    /// Read on: the reader has taken bytes and wants more of the response.
    case resumeReading
    /// Send on: there are more bytes of the request's body, or its end.
    case continueUpload
    /// Cancel: the reader has stopped.
    case cancel
    /// Fail: the request's body cannot be read.
    case fail(HTTPError)
  }

  let message: Message
  let destination: Destination
  let signals: SignalQueue<ResponseSignal>
  /// The number of bytes of the request's body; nil if it is not known.
  let bodyLength: Int64?
  let hasBody: Bool
  /// The bytes of the request's body, which a task reads while they are sent; nil if they are in memory.
  let upload: UploadQueue?
  let settings: Settings
  /// Carries the bytes of the connection after the server has changed the protocol; nil if the request does not ask for
  /// that.
  let upgrade: Upgrade?
  /// The loop's part of the exchange, from its start to its end.
  let transfer = LoopBound<LoopTransfer?>(nil)
  /// Whether the request may be sent. The reader and the loop's thread may decide at the same moment.
  private let sending = Atomic(Sending.undecided)
  private let send: @Sendable (Command, Exchange) -> Void

  private enum Sending: UInt8, AtomicRepresentable {
    case undecided
    /// A connection has begun to send it.
    case begun
    /// The reader stopped before.
    case prevented
  }

  /// A request as a connection sends it.
  struct Message: Sendable {
    let request: HTTPRequest
    /// The head for HTTP/1.1. It is not written if the server is likely to choose HTTP/2; otherwise the connection
    /// writes it when needed.
    let head: HTTP1RequestHead
    /// Whether the request may be sent over HTTP/2.
    let mayUseHTTP2: Bool
    /// The head for HTTP/2. It is not made if the server is likely to choose HTTP/1.1; see ``headForHTTP2(to:)``.
    let http2Head: HTTP2RequestHead?

    /// Returns the head for HTTP/2, made now if it was not made before; nil if the request may not use HTTP/2.
    func headForHTTP2(to origin: Origin) throws(HTTPError) -> HTTP2RequestHead? {
      if let http2Head { return http2Head }
      return mayUseHTTP2 ? try HTTP2RequestHead(request, origin: origin, framing: head.framing) : nil
    }
  }

  /// The limits of a request, and what its call needs. Times are in nanoseconds; nil is no limit.
  struct Settings: Sendable {
    /// The maximum silence before the response's head.
    var response: UInt64?
    /// The maximum silence after the head, while the reader waits.
    var idle: UInt64?
    /// How long the connection may be silent before it is tested.
    var ping: UInt64?
    /// How long the body waits for a 100; nil if it does not wait.
    var expectation: UInt64?
    /// The maximum number of bytes of all heads and trailers.
    var headerBytes: Int
    /// The number of unread bytes of the body at which the connection is paused.
    var readAhead: Int
    /// The maximum number of bytes of a body that is delivered in one piece, because its caller collects it; 0 if it
    /// does not collect it.
    var wholeBody: Int64
    /// Whether the call has sent no request before.
    var isFirstAttempt: Bool
    /// Whether it needs a connection that has not served before, because the one of the last attempt was the wrong one.
    var needsNewConnection = false
    /// The kinds of events that the call's listeners receive.
    var events: Event.Kinds
  }

  /// How a request reaches its origin. It is a class, because it is large and every async call would copy it.
  final class Destination: Sendable {
    let origin: Origin
    let key: ConnectionKey
    /// The identity for TLS; its connections stay open while a request has it.
    let identity: TLSIdentity

    init(to origin: Origin, key: ConnectionKey, identity: TLSIdentity) {
      self.origin = origin
      self.key = key
      self.identity = identity
    }
  }

  /// - Parameters:
  ///   - body: the body of the request, opened; nil if there is none.
  ///   - send: passes a command to the loop's thread.
  init(
    _ message: Message, body: OpenBody?, to destination: Destination, settings: Settings,
    send: @escaping @Sendable (Command, Exchange) -> Void
  ) {
    (self.message, self.destination) = (message, destination)
    self.settings = settings
    upgrade = message.request.asksForUpgrade ? Upgrade(readAhead: settings.readAhead) : nil
    signals = SignalQueue(highWater: max(Self.minimumReadAhead, settings.readAhead), clock: EventLoop.clock)
    bodyLength = body == nil ? 0 : body?.length
    hasBody = body != nil
    upload =
      body == nil || message.request.body.bytes != nil
      ? nil : UploadQueue(waitsForDemand: settings.expectation != nil || !message.request.body.isReplayable)
    self.send = send
  }

  /// Called by the loop: takes the next part of the request's body.
  ///
  /// - Parameter taken: how many bytes were taken before, on this connection.
  func nextPart(after taken: Int64) -> UploadQueue.Next {
    if let upload { return upload.next() }
    guard hasBody, taken == 0, let bytes = message.request.body.bytes else { return .end(trailers: [:]) }
    return .chunk(bytes)
  }

  /// Starts the task that reads the request's body for the loop; nil if there is none, or its bytes are in memory.
  func produceUpload(from body: OpenBody?) -> Task<Void, Never>? {
    guard let body, let upload else { return nil }
    return Task { [self] in
      do {
        guard await upload.demand() else { return body.source.cancel() }
        while let chunk = try await body.source.next() {
          guard await upload.push(chunk, wake: { ask(.continueUpload) }) else { return body.source.cancel() }
        }
        try Task.checkCancellation()  // If a sequence ends because its task was cancelled, the body is incomplete.
        if upload.end(trailers: body.source.trailers) { ask(.continueUpload) }
      } catch {
        body.source.cancel()
        ask(.fail(HTTPError(whileSending: error)))
      }
    }
  }

  /// Asks the loop's thread for something.
  func ask(_ command: Command) { send(command, self) }

  /// Notes that a connection begins to send the request. Returns false if its reader stopped before.
  func beginSending() -> Bool {
    sending.compareExchange(expected: .undecided, desired: .begun, ordering: .acquiringAndReleasing).original
      != .prevented
  }

  /// Keeps the request from being sent. Returns false if a connection has begun to send it.
  func preventSending() -> Bool {
    sending.compareExchange(expected: .undecided, desired: .prevented, ordering: .acquiringAndReleasing).original
      != .begun
  }

  /// The fewest unread bytes of a body at which the connection is paused.
  static let minimumReadAhead = 16 << 10

  var origin: Origin { destination.origin }

  /// Host and port, for messages.
  var peer: String { origin.authority }
}

/// The destination of the last request, which the next request usually shares. Recognizing it by the beginning of the
/// URL is much faster than making it again.
final class LastDestination: Sendable {
  private let last = Mutex<(start: [UInt8], destination: Exchange.Destination)?>(nil)

  /// Keeps a destination, unless its host is an IPv6 address, which can be written in several ways.
  func keep(_ destination: Exchange.Destination) {
    guard !destination.origin.host.utf8.contains(UInt8(ascii: ":")) else { return }
    last.withLock { $0 = (Array(destination.origin.description.utf8), destination) }
  }

  /// Returns the destination of a URL that begins with the same scheme, host and port in their usual spelling; nil for
  /// others.
  func destination(of url: URL) -> Exchange.Destination? {
    guard let (start, destination) = last.withLock({ $0 }) else { return nil }
    var text = url.absoluteString
    let isSame = text.withUTF8 { text in
      guard text.count >= start.count, let from = text.baseAddress, memcmp(from, start, start.count) == 0 else {
        return false
      }
      guard text.count > start.count else { return true }
      // Otherwise the host, the port or user information continues.
      switch text[start.count] {
      case UInt8(ascii: "/"), UInt8(ascii: "?"), UInt8(ascii: "#"): return true
      default: return false
      }
    }
    return isSame ? destination : nil
  }
}

extension HTTPRequest {
  /// Whether the request asks the server to use the connection for another protocol or as a tunnel (RFC 9110 §7.8,
  /// §9.3.6).
  var asksForUpgrade: Bool { fields.contains(.upgrade) || method == .connect }

  /// Whether the server agrees with this response.
  func isUpgraded(by head: ResponseHead) -> Bool {
    head.status == .switchingProtocols
      || head.status.isSuccessful && (method == .connect || head.version == .http2 && opensWebSocket)
  }
}
#endif
