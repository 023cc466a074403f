public import MartletSemantics

/// Receives the events of calls. It cannot change, delay or fail a call.
///
/// ``receive(_:in:)`` runs on the call's task, so it should be quick; it must not make a request and wait for it. Set
/// listeners for a session (``SessionConfiguration/listeners``) or for one request (``RequestOptions/listeners``).
///
/// ```swift
/// struct Log: EventListener {
///   func receive(_ event: Event, in call: Call) {
///     if case .metrics(let metrics) = event { print(call.id, metrics.total) }
///   }
/// }
/// ```
public protocol EventListener: Sendable {
  /// Receives an event of a call. The events of a call arrive in order, one at a time; only the bytes of a request's
  /// body may arrive at the same time as other events, or later, because the body is read while the response is
  /// awaited.
  func receive(_ event: Event, in call: Call)

  /// Whether the listener receives ``Event/bytes(_:_:attempt:)``, which costs time. It is read once for each call.
  /// False by default.
  var wantsBodies: Bool { get }
}

extension EventListener {
  /// False: the bytes of bodies are not reported.
  public var wantsBodies: Bool { false }
}

/// A listener that calls a closure.
public struct EventHandler: EventListener {
  private let handler: @Sendable (Event, Call) -> Void

  /// Makes a listener that calls the closure for every event.
  public init(_ handler: @escaping @Sendable (Event, Call) -> Void) { self.handler = handler }

  public func receive(_ event: Event, in call: Call) { handler(event, call) }
}

/// An event of a call. Events are reported in the order in which they happen.
public enum Event: Sendable {
  /// The call began.
  case started(HTTPRequest)
  /// An attempt began: its number, from 1, and the request after all interceptors.
  case attempt(Int, HTTPRequest)
  /// The request is sent over the network, with what was added after the interceptors, such as cookies. It is not
  /// reported if the cache answers.
  case sending(RequestHead)
  /// An informational response (1xx), such as 103 Early Hints.
  case informational(ResponseHead)
  /// Bytes of a body were transferred.
  case progress(TransferProgress)
  /// Bytes of a body in this attempt: a request's as the transport reads them, a response's as the caller does. Only
  /// for listeners that want them: see ``EventListener/wantsBodies``.
  case bytes(Data, TransferProgress.Direction, attempt: Int)
  /// The head of an attempt's response was received, for the request with this URL.
  case response(ResponseHead, from: URL)
  /// The transport finished an attempt, or the attempt failed in it: how long each phase took, as far as it was reached.
  /// An attempt whose response is not read to its end, because the request is sent again or the body is cancelled, is
  /// measured until then.
  case metrics(TransferMetrics)
  /// The request is sent again: the next request, the delay, and the reason. If there was no response,
  /// ``Call/lastFailure`` has the error.
  case resend(HTTPRequest, after: Duration, reason: String)
  /// A cookie of the response was not stored.
  case cookieRefused(CookieRefusal)
  /// The response comes from the cache, and from where in it; after a 304, or because the origin failed, the request was
  /// sent too.
  case cached(ResponseSource)
  /// A limit of the session delayed or refused the request, or sent a second one.
  case limit(LimitEvent)
  /// A message for logs: why a request is not retried, or that a store failed and is not used.
  case note(String)
  /// The call ended: its body was read to the end, the call failed, or its body was cancelled. Always the last event.
  case finished(HTTPError?)
}

extension Event: CustomStringConvertible {
  /// The event, without secrets.
  public var description: String {
    switch self {
    case .started(let request): "started: \(request)"
    case .attempt(let number, let request): "attempt \(number): \(request)"
    case .sending(let head): "sending: \(head)"
    case .informational(let head): "informational response: \(head)"
    case .progress(let progress):
      "\(progress.direction) \(progress.completed)" + (progress.total.map { " of \($0)" } ?? "") + " bytes"
    case .bytes(let bytes, let direction, let attempt): "\(direction) \(bytes.count) bytes in attempt \(attempt)"
    case .response(let head, let url): "response from \(url.redacted): \(head)"
    case .metrics(let metrics): "measured: \(metrics)"
    case .resend(_, let delay, let reason): "again after \(delay): \(reason)"
    case .cookieRefused(let refusal): "\(refusal)"
    case .cached(let source): "the response comes from the cache: \(source.rawValue)"
    case .limit(let limit): "\(limit)"
    case .note(let text): text
    case .finished(let error): error.map { "finished: \($0)" } ?? "finished"
    }
  }
}
