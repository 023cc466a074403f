@_spi(Toolkit) public import MartletSemantics

/// Receives the events of calls. It cannot change or fail a call.
///
/// ``receive(_:in:)`` runs on the call's task, so a slow listener delays the call. It must not make a request and wait
/// for the response. Set listeners for a session (``SessionConfiguration/listeners``) or for one request
/// (``RequestOptions/listeners``).
///
/// ```swift
/// struct Log: EventListener {
///   var events: Event.Kinds { .metrics }
///
///   func receive(_ event: Event, in call: Call) {
///     if case .metrics(let metrics) = event { print(call.id, metrics.total) }
///   }
/// }
/// ```
public protocol EventListener: Sendable {
  /// Receives an event of a call. The events of a call arrive in order, one at a time. Two kinds are exceptions, and
  /// may arrive concurrently or late: the bytes of a request's body, which may still be sent while the response is
  /// awaited, and events of work that a deadline has abandoned. ``Event/finished(_:)`` comes after all of them.
  func receive(_ event: Event, in call: Call)

  /// The events that the listener receives; all but the bytes of bodies by default. The bytes, progress and metrics
  /// of a call are prepared only if one of its listeners receives them. It must not change during a call.
  var events: Event.Kinds { get }
}

extension EventListener {
  /// All but ``Event/Kinds/bytes``.
  public var events: Event.Kinds { .exceptBytes }
}

/// A listener that calls a closure.
public struct EventHandler: EventListener {
  public let events: Event.Kinds
  private let handler: @Sendable (Event, Call) -> Void

  /// Makes a listener that calls the closure for these events; for all but the bytes of bodies by default.
  public init(_ events: Event.Kinds = .exceptBytes, _ handler: @escaping @Sendable (Event, Call) -> Void) {
    self.events = events
    self.handler = handler
  }

  public func receive(_ event: Event, in call: Call) { handler(event, call) }
}

/// An event of a call. Events are reported in the order in which they happen.
@nonexhaustive public enum Event: Sendable {
  /// The call began.
  case started(HTTPRequest)
  /// An attempt began, with its number, from 1, and the request after all interceptors.
  case attempt(Int, HTTPRequest)
  /// The request is sent over the network, with additions after the interceptors, such as cookies. It is not reported
  /// if the cache answers.
  case sending(RequestHead)
  /// The head of the request was written to a connection, with the transport's additions. `SocketTransport` reports it,
  /// once for each connection that it tries. It contains the request's secrets.
  case written(WrittenHead)
  /// An informational response (1xx), such as 103 Early Hints.
  case informational(ResponseHead)
  /// Bytes of a body were transferred.
  case progress(Event.Progress)
  /// Bytes of a body in this attempt, reported when the transport reads them (a request) or when the caller reads them
  /// (a response). Only for listeners whose ``EventListener/events`` contain ``Event/Kinds/bytes``.
  case bytes(Data, Event.Progress.Direction, attempt: Int)
  /// A message of a WebSocket is sent, or has arrived; or one side closes the WebSocket. Messages of both directions
  /// may be reported at the same time.
  case message(Event.Message)
  /// The head of an attempt's response was received, for the request with this URL.
  case response(ResponseHead, from: URL)
  /// The transport finished an attempt, or the attempt failed in the transport; the metrics say when each completed
  /// phase ended. If a response is not read to its end, because the request is sent again or the body is cancelled, the
  /// measurement ends at that moment.
  indirect case metrics(TransferMetrics)  // Four times as large as any other case.
  /// The request is sent again: the next request, the delay, the reason, and the attempt's error if it had no response.
  case resend(HTTPRequest, after: Duration, reason: String, failure: HTTPError?)
  /// A cookie of the response was not stored.
  case cookieRefused(Cookie.Refusal)
  /// Cookies of the response were stored, with these names, or removed, if they had expired.
  case cookiesStored([String])
  /// The cache decided about the request or its response.
  case cacheDecision(Event.CacheDecision)
  /// The response comes from the cache: fresh, validated by the origin, or stale, as the value says. The request was
  /// sent too if the origin answered 304 or failed.
  case cached(HTTPResponse.Source)
  /// A limit of the session delayed or refused the request, or sent a second one.
  case limit(Event.Limit)
  /// A message for logs: the reason why a request waits before it is sent or is not retried, that the transport sent it
  /// again within the attempt, or that a store failed and is not used.
  case note(String)
  /// The call ended: its body was read to the end, the call failed, or its body was cancelled. A call that opens a
  /// WebSocket ends with it. Always the last event.
  case finished(HTTPError?)
}

extension Event {
  /// The kinds of an ``Event``, which an ``EventListener`` chooses from.
  public struct Kinds: OptionSet, Sendable {
    /// The number whose bits are the kinds.
    public let rawValue: Int

    /// Makes a set of kinds from its number.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// ``Event/started(_:)``.
    public static let started = Event.Kinds(rawValue: 1)
    /// ``Event/attempt(_:_:)``.
    public static let attempt = Event.Kinds(rawValue: 1 << 1)
    /// ``Event/sending(_:)``.
    public static let sending = Event.Kinds(rawValue: 1 << 2)
    /// ``Event/informational(_:)``.
    public static let informational = Event.Kinds(rawValue: 1 << 3)
    /// ``Event/progress(_:)``.
    public static let progress = Event.Kinds(rawValue: 1 << 4)
    /// ``Event/bytes(_:_:attempt:)``.
    public static let bytes = Event.Kinds(rawValue: 1 << 5)
    /// ``Event/response(_:from:)``.
    public static let response = Event.Kinds(rawValue: 1 << 6)
    /// ``Event/metrics(_:)``.
    public static let metrics = Event.Kinds(rawValue: 1 << 7)
    /// ``Event/resend(_:after:reason:failure:)``.
    public static let resend = Event.Kinds(rawValue: 1 << 8)
    /// ``Event/cookieRefused(_:)``.
    public static let cookieRefused = Event.Kinds(rawValue: 1 << 9)
    /// ``Event/cached(_:)``.
    public static let cached = Event.Kinds(rawValue: 1 << 10)
    /// ``Event/limit(_:)``.
    public static let limit = Event.Kinds(rawValue: 1 << 11)
    /// ``Event/note(_:)``.
    public static let note = Event.Kinds(rawValue: 1 << 12)
    /// ``Event/finished(_:)``.
    public static let finished = Event.Kinds(rawValue: 1 << 13)
    /// ``Event/written(_:)``.
    public static let written = Event.Kinds(rawValue: 1 << 14)
    /// ``Event/message(_:)``.
    public static let message = Event.Kinds(rawValue: 1 << 15)
    /// ``Event/cookiesStored(_:)``.
    public static let cookiesStored = Event.Kinds(rawValue: 1 << 16)
    /// ``Event/cacheDecision(_:)``.
    public static let cacheDecision = Event.Kinds(rawValue: 1 << 17)
    /// All kinds.
    public static let all = Event.Kinds(rawValue: (1 << 18) - 1)
    /// All but ``bytes``.
    public static let exceptBytes = all.subtracting(.bytes)

    /// Each kind, in the order of their bits. ``all`` is their union, but a constant: most listeners use it.
    package static let each: [Event.Kinds] = [
      .started, .attempt, .sending, .informational, .progress, .bytes, .response, .metrics, .resend, .cookieRefused,
      .cached, .limit, .note, .finished, .written, .message, .cookiesStored, .cacheDecision,
    ]
  }
}

extension Event {
  /// The kind of the event.
  package var kind: Event.Kinds {
    switch self {
    case .started: .started
    case .attempt: .attempt
    case .sending: .sending
    case .written: .written
    case .informational: .informational
    case .progress: .progress
    case .bytes: .bytes
    case .message: .message
    case .response: .response
    case .metrics: .metrics
    case .resend: .resend
    case .cookieRefused: .cookieRefused
    case .cookiesStored: .cookiesStored
    case .cacheDecision: .cacheDecision
    case .cached: .cached
    case .limit: .limit
    case .note: .note
    case .finished: .finished
    }
  }
}

extension Event: CustomStringConvertible {
  /// The event, without secrets.
  public var description: String {
    switch self {
    case .started(let request): "started: \(request)"
    case .attempt(let number, let request): "attempt \(number): \(request)"
    case .sending(let head): "sending: \(head)"
    case .written(let head): "written: \(head)"
    case .informational(let head): "informational response: \(head)"
    case .progress(let progress):
      "\(progress.direction) \(progress.completed)" + (progress.total.map { " of \($0)" } ?? "") + " bytes"
    case .bytes(let bytes, let direction, let attempt): "\(direction) \(bytes.count) bytes in attempt \(attempt)"
    case .message(let message): "\(message)"
    case .response(let head, let url): "response from \(url.redacted): \(head)"
    case .metrics(let metrics): "measured: \(metrics)"
    case .resend(_, let delay, let reason, _): EventWords.resend(after: delay, because: reason)
    case .cookieRefused(let refusal): "\(refusal)"
    case .cookiesStored(let names): "stored cookies: \(names.joined(separator: ", "))"
    case .cacheDecision(let decision): "\(decision)"
    case .cached(let source): EventWords.origin(of: source)
    case .limit(let limit): "\(limit)"
    case .note(let text): text
    case .finished(let error): error.map { "finished: \($0)" } ?? "finished"
    }
  }
}
