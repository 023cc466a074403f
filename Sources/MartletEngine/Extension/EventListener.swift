public import MartletSemantics

/// Only watches. It cannot change, delay or fail an exchange.
///
/// ``receive(_:in:)`` runs on the task of the call it tells about, so it should be quick; it must not call back into
/// the session and wait. Set listeners for a session (``SessionConfiguration/listeners``) or for one request
/// (``RequestOptions/listeners``).
///
/// ```swift
/// struct Log: EventListener {
///   func receive(_ event: Event, in exchange: Exchange) {
///     if case .metrics(let metrics) = event { print(exchange.id, metrics.total) }
///   }
/// }
/// ```
public protocol EventListener: Sendable {
  /// Takes one event of an exchange. Events of one exchange come one after another, in order; only the bytes of a
  /// request's body may come at the same time as others, and late, because they are read while the response is awaited.
  func receive(_ event: Event, in exchange: Exchange)

  /// Whether ``Event/bytes(_:_:attempt:)`` is to be told, which costs something; asked once an exchange. `false` by
  /// default.
  var wantsBodies: Bool { get }
}

extension EventListener {
  /// Bodies do not matter.
  public var wantsBodies: Bool { false }
}

/// A listener made of a closure.
public struct EventHandler: EventListener {
  private let handler: @Sendable (Event, Exchange) -> Void

  /// Makes a listener that calls the closure for every event.
  public init(_ handler: @escaping @Sendable (Event, Exchange) -> Void) { self.handler = handler }

  public func receive(_ event: Event, in exchange: Exchange) { handler(event, exchange) }
}

/// What happens to an exchange, in the order in which it happens.
public enum Event: Sendable {
  /// The call began.
  case started(HTTPRequest)
  /// A request goes out: the number of the attempt (1 is the first), and what is sent.
  case attempt(Int, HTTPRequest)
  /// The transport sends this: what the attempt said, and what was added beneath the interceptors, such as cookies. It
  /// does not come where the network is not asked.
  case sending(RequestHead)
  /// An informational response (1xx), such as 103 Early Hints.
  case informational(ResponseHead)
  /// Bytes of a body moved.
  case progress(TransferProgress)
  /// The bytes themselves, of this attempt: a request's as the transport takes them, a response's as the reader does. Only
  /// for listeners that want them: see ``EventListener/wantsBodies``.
  case bytes(Data, TransferProgress.Direction, attempt: Int)
  /// The head of an attempt's response arrived, for the request with this URL.
  case response(ResponseHead, from: URL)
  /// The transport finished an attempt; how long each phase took.
  case metrics(TransferMetrics)
  /// The request goes again: what comes next, after how long, and why.
  case resend(HTTPRequest, after: Duration, reason: String)
  /// A cookie of the response was not taken.
  case cookieRefused(CookieRefusal)
  /// Something that explains what follows, or why nothing does: a retry that was decided against, a store that failed and
  /// is done without. For people.
  case note(String)
  /// The exchange ended: its body was read to the end, failed or was abandoned. Always the last event.
  case finished(HTTPError?)
}
