#if os(Linux)
@_spi(Transports) import MartletEngine
import MartletSemantics

/// One request on its way: what the task that sends it and the loop's thread share.
final class Exchange: Sendable {
  let request: HTTPRequest
  let origin: Origin
  let head: HTTP1RequestHead
  /// The head for HTTP/2; nil if the connection cannot be one.
  let http2Head: HTTP2RequestHead?
  let key: ConnectionKey
  let security: ConnectionSecurity
  let signals: SignalQueue<ExchangeSignal>
  let upload: Upload
  /// The number of bytes of the request's body; nil if it is not known.
  let bodyLength: Int64?
  let limits: Limits
  /// What becomes of the connection if the server changes its protocol; nil if the request does not ask for it.
  let upgrade: Upgrade?
  /// The loop's part of it, from its start to its end.
  let transfer = LoopBound<Transfer?>(nil)

  /// The source of the request's body.
  enum Upload: Sendable {
    case none
    case bytes(Data)
    case queue(UploadQueue)
  }

  /// The limits of a request. Times are in nanoseconds; nil is no limit.
  struct Limits: Sendable {
    /// The longest silence before the response's head.
    var response: UInt64?
    /// The longest silence after the head, while the reader waits.
    var idle: UInt64?
    /// How long the body waits for a 100; nil if it does not wait.
    var expectation: UInt64?
    /// The most bytes of all heads and trailers.
    var headerBytes: Int
    /// The longest body that is delivered in one piece, because its caller collects it; 0 if the caller does not.
    var wholeBody: Int64
    /// Whether the call has listeners.
    var isObserved: Bool
    /// Whether the request may be sent again if its connection was stale.
    var mayRepeat: Bool
  }

  /// How a request reaches its origin.
  struct Way: Sendable {
    let origin: Origin
    let key: ConnectionKey
    let security: ConnectionSecurity
  }

  init(
    _ request: HTTPRequest, by way: Way, heads: (http1: HTTP1RequestHead, http2: HTTP2RequestHead?), body: OpenBody?,
    limits: Limits, readAhead: Int
  ) {
    self.request = request
    origin = way.origin
    key = way.key
    security = way.security
    head = heads.http1
    http2Head = heads.http2
    self.limits = limits
    upgrade = request.asksForUpgrade ? Upgrade(readAhead: readAhead) : nil
    signals = SignalQueue(highWater: max(16 << 10, readAhead), clock: EventLoop.clock)
    bodyLength = body == nil ? 0 : body?.length
    if body == nil {
      upload = .none
    } else if let bytes = request.body.bytes {
      upload = .bytes(bytes)
    } else {
      upload = .queue(UploadQueue(waitsForDemand: limits.expectation != nil || !request.body.isReplayable))
    }
  }

  /// Host and port, for messages.
  var peer: String { origin.authority }
}

extension HTTPRequest {
  /// Whether the connection is not used for HTTP any more if the server agrees (RFC 9110 §7.8, §9.3.6).
  var asksForUpgrade: Bool { fields.contains(.upgrade) || method == "CONNECT" }

  /// Whether the server agrees with this status.
  func isUpgraded(by status: HTTPStatus) -> Bool {
    status == .switchingProtocols || method == "CONNECT" && status.isSuccessful
  }
}

/// What the loop reports to the task that reads an exchange, in order.
enum ExchangeSignal: QueuedSignal {
  /// The raw lines of an informational response's head.
  case informational([UInt8])
  /// The caller's check has to decide about the certificates of a server.
  indirect case check(ServerCheck)
  /// A note for the listeners of the call.
  case note(String)
  /// How many bytes of the request's body were sent so far.
  case sent(Int64)
  /// The raw lines of the final response's head: they are parsed by the reading task, not on the loop's thread.
  case head([UInt8])
  /// Bytes of the response's body.
  case chunk(Data)
  /// The end of a complete response.
  indirect case end(Ending)
  /// All of a small response, if nothing of it was delivered before: the raw lines of its head, its body, and the raw
  /// lines of its trailers.
  case whole([UInt8], Data, trailers: [UInt8])
  /// The exchange failed.
  indirect case failed(HTTPError)

  struct Ending: Sendable {
    /// The raw lines of the trailers.
    var trailers: [UInt8]
    /// nil if the call has no listeners.
    var metrics: TransferMetrics?
  }

  /// How much of the reader's room it takes. A chunk of a few bytes needs memory for itself too.
  var byteCount: Int {
    switch self {
    case .chunk(let data), .whole(_, let data, _): max(256, data.count)
    default: 0
    }
  }

  func replaces(_ earlier: Self) -> Bool {
    if case .sent = self, case .sent = earlier { true } else { false }
  }
}
#endif
