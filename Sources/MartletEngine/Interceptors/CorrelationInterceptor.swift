public import MartletSemantics

/// Gives every exchange an identifier that the servers log too, so that what one call did can be found on all of them.
///
/// The identifier is the same on every attempt of an exchange: redirects, retries and challenges. A request that carries
/// the field already keeps its value, and the exchange takes it over. Listeners and interceptors find it in
/// ``Exchange/correlationID``.
///
/// ```swift
/// configuration.interceptors = [CorrelationInterceptor(trace: .sampled)]
/// configuration.listeners = [EventHandler { event, exchange in print(exchange.correlationID ?? "-", event) }]
/// ```
///
/// With a ``Trace``, the field `traceparent` of W3C Trace Context (level 1) goes beside it: its trace id stays the same, and
/// is the identifier itself where that is a UUID; its parent id is new for every attempt, because each is a request of its
/// own. A `traceparent` that the request carries already is passed on as it is.
public struct CorrelationInterceptor: Interceptor {
  /// Whether `traceparent` is sent, and what it says of sampling.
  public enum Trace: Sendable, Hashable {
    /// It is not sent.
    case none
    /// It is sent, and asks the servers to record the trace.
    case sampled
    /// It is sent, and leaves it to the servers whether to record the trace.
    case unsampled
  }

  private static let traceParent: FieldName = "traceparent"

  private let field: FieldName
  private let trace: Trace
  private let makeID: @Sendable () -> String
  private let traceParent = ExchangeLocal<TraceParent?>(nil)

  /// Makes an interceptor.
  ///
  /// - Parameters:
  ///   - field: the field that carries the identifier; `X-CorrelationID` by default.
  ///   - trace: whether `traceparent` is sent too; it is not by default.
  ///   - makeID: makes the identifier of an exchange; a random UUID in lower case by default.
  public init(
    field: FieldName = "X-CorrelationID", trace: Trace = .none,
    makeID: @escaping @Sendable () -> String = { UUID().uuidString.lowercased() }
  ) {
    self.field = field
    self.trace = trace
    self.makeID = makeID
  }

  public func prepare(_ request: HTTPRequest, in exchange: Exchange) async throws -> HTTPRequest {
    var request = request
    let id = request.fields[field] ?? exchange.correlationID ?? makeID()
    exchange.correlationID = id
    if !request.fields.contains(field) { request.fields[field] = id }
    if trace != .none, !request.fields.contains(Self.traceParent) {
      let trace = exchange[traceParent] ?? makeTrace(id)
      exchange[traceParent] = trace
      request.fields[Self.traceParent] = trace.value(span: .random(in: 1...UInt64.max))
    }
    return request
  }

  private func makeTrace(_ id: String) -> TraceParent {
    let isSampled = trace == .sampled
    return TraceParent(uuid: id, isSampled: isSampled)
      ?? TraceParent(random: (.random(in: 1...UInt64.max), .random(in: 0...UInt64.max)), isSampled: isSampled)
  }
}

extension Exchange {
  private static let correlation = ExchangeLocal<String?>(nil)

  /// What ``CorrelationInterceptor`` calls the exchange; nil without one, and before the first attempt was prepared.
  public internal(set) var correlationID: String? {
    get { self[Self.correlation] }
    set { self[Self.correlation] = newValue }
  }
}
