@_spi(Toolkit) public import MartletSemantics

/// Adds an identifier to every call. Servers can log it, so that the call's requests can be found in all their logs.
///
/// All attempts of a call have the same identifier: redirects, retries, and resends after challenges. If the request
/// already has the field, its value is the identifier. Listeners and interceptors find it in ``Call/correlationID``.
///
/// ```swift
/// configuration.interceptors = [CorrelationInterceptor(trace: .sampled)]
/// configuration.listeners = [EventHandler { event, call in print(call.correlationID ?? "-", event) }]
/// ```
///
/// With a ``Trace``, the field `traceparent` of W3C Trace Context (level 1) is sent too. Its trace ID is the same for
/// all attempts, and equals the identifier if that is a UUID. Its parent ID is new for every attempt, so that redirects
/// and retries are separate spans.
///
/// A request that already has a `traceparent` continues that trace, as a service does with the trace of its caller.
/// Trace ID and sampling flag stay, a new parent ID replaces the old one, and `tracestate` is passed on. If the value
/// is not valid, a new trace begins without `tracestate` (§4.3). Without a ``Trace`` both fields are sent unchanged.
///
/// If a tracing system such as `CallTracer` of `MartletTracing` has set `traceparent`, it is sent unchanged: its span
/// is the parent.
///
/// ```swift
/// // `fields` are those of the request that the service was called with
/// request.fields["traceparent"] = fields["traceparent"]
/// request.fields["tracestate"] = fields["tracestate"]
/// ```
public struct CorrelationInterceptor: Interceptor {
  /// Only `prepare`.
  public var stages: InterceptorStages { .prepare }

  /// Whether `traceparent` is sent, and with which sampling flag a new trace begins.
  public enum Trace: Sendable, Hashable {
    /// It is not sent.
    case none
    /// It is sent, and requests that servers record the trace.
    case sampled
    /// It is sent, and does not request that servers record the trace.
    case unsampled
  }

  private static let traceParent: FieldName = "traceparent"
  private static let traceState: FieldName = "tracestate"

  private let field: FieldName
  private let trace: Trace
  private let makeID: @Sendable () -> String
  private let traceParent = CallLocal<TraceParent?>(nil)

  /// Makes an interceptor.
  ///
  /// - Parameters:
  ///   - field: the field with the identifier; `X-CorrelationID` by default.
  ///   - trace: whether `traceparent` is sent too; it is not by default.
  ///   - makeID: returns the identifier of a call; a random UUID in lower case by default.
  public init(
    field: FieldName = "X-CorrelationID", trace: Trace = .none,
    makeID: @escaping @Sendable () -> String = Self.makeRandomID
  ) {
    self.field = field
    self.trace = trace
    self.makeID = makeID
  }

  /// Returns a random UUID in lower case (RFC 9562).
  @Sendable public static func makeRandomID() -> String { UUID.random().lowercaseText }

  @_spi(Toolkit) public func prepareImmediately(_ request: inout HTTPRequest, in call: Call) -> Unfinished<Preparation>?
  {
    let given = request.fields[field]
    let known = call.correlationID
    let id = given ?? known ?? makeID()
    if id != known { call.correlationID = id }
    if given == nil { request.fields[field] = id }
    guard trace != .none, !call.isTraced else { return nil }
    let parents = request.fields[values: Self.traceParent]
    let continued = parents.count == 1 ? parents.first.flatMap { TraceParent($0) } : nil
    let trace = continued ?? call[traceParent] ?? makeTrace(id)
    if continued == nil { call[traceParent] = trace }
    request.fields[Self.traceParent] = trace.value(span: .random(in: 1...UInt64.max))
    if request.fields.contains(Self.traceState) {
      request.fields[Self.traceState] =
        continued == nil ? nil : TraceState.combined(Array(request.fields[values: Self.traceState]))
    }
    return nil
  }

  private func makeTrace(_ id: String) -> TraceParent {
    let isSampled = trace == .sampled
    return TraceParent(uuid: id, isSampled: isSampled)
      ?? TraceParent(random: (.random(in: 1...UInt64.max), .random(in: 0...UInt64.max)), isSampled: isSampled)
  }
}

@_spi(Toolkit) extension CorrelationInterceptor: ImmediateInterceptor {}

extension Call {
  private static let correlation = CallLocal<String?>(nil)
  private static let tracing = CallLocal(false)

  /// Whether a tracing system sets `traceparent` in the requests of the call; `false` by default. If it does,
  /// ``CorrelationInterceptor`` leaves their trace as it is.
  ///
  /// Set it in an interceptor that passes on the context of a tracer of your own; `MartletTracing` sets it, too.
  public var isTraced: Bool {
    get { self[Self.tracing] }
    set { self[Self.tracing] = newValue }
  }

  /// The identifier of ``CorrelationInterceptor``; nil without one, and before the first attempt.
  public internal(set) var correlationID: String? {
    get { self[Self.correlation] }
    set { self[Self.correlation] = newValue }
  }
}
