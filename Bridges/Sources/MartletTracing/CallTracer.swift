#if Tracing
public import MartletEngine
public import MartletSemantics
public import Tracing

/// Makes spans of calls: one for the call, and below it one for each attempt. The attempt's request carries the context
/// of its span to the server.
///
/// ```swift
/// configuration.trace()   // with the tracer of InstrumentationSystem.bootstrap(_:)
/// ```
///
/// The span of a call begins below the current `ServiceContext` and ends with the body. Redirects, retries and
/// challenges are further attempts of the same call. The tracer injects each attempt's context into its fields, usually
/// as `traceparent` and `tracestate`, and replaces existing values, even those of a ``Martlet/CorrelationInterceptor``.
/// With ``Martlet/Hedging`` an attempt may be two requests: both carry the same context.
///
/// | attribute | call | attempt |
/// |---|---|---|
/// | name of the span | ``Martlet/RequestOptions/label``, or else the method | the method |
/// | kind | `internal` | `client` |
/// | `http.request.method` | ✓ | ✓ |
/// | `http.request.method_original`, if the method is not registered | ✓ | ✓ |
/// | `url.full` without secrets, `server.address`, `server.port` | ✓ | ✓ |
/// | `http.request.resend_count`, from the second attempt on | | ✓ |
/// | `http.response.status_code` | ✓ | ✓ |
/// | `error.type`: a status of 400 and above, or the kind of the error | ✓ | ✓ |
/// | `network.protocol.version`, `network.peer.address`, `network.peer.port` | | ✓ |
/// | `martlet.response.source`, if the cache answers | | ✓ |
/// | `martlet.resend.reason`, if the request is sent again | | ✓ |
///
/// The names are those of OpenTelemetry's stable conventions for HTTP clients, except those with `martlet`. A span with
/// an `error.type` has the status `error`; the error of a call is recorded too.
public final class CallTracer: Interceptor, EventListener {
  private let tracer: (any Tracer)?
  private let redaction: Redaction
  private let spans = CallLocal<CallSpans?>(nil)

  /// Makes a tracer of calls. Add it with `SessionConfiguration.trace(with:)`.
  ///
  /// - Parameters:
  ///   - tracer: makes the spans and injects their context. nil, the default, means the one that the program has set
  ///     with `InstrumentationSystem.bootstrap(_:)` by the time of the call.
  ///   - redaction: the secrets that are omitted from URLs in attributes.
  public init(_ tracer: (any Tracer)? = nil, redaction: Redaction = .standard) {
    self.tracer = tracer
    self.redaction = redaction
  }

  /// Only `prepare`.
  public var stages: InterceptorStages { .prepare }

  public func prepare(_ request: HTTPRequest, in call: Call) async throws -> Preparation {
    guard let context = call[spans]?.beginAttempt(of: request) else { return .send(request) }
    var injected = HTTPFields()
    // All instruments of the program, including the tracer.
    let instrument: any Instrument = tracer ?? InstrumentationSystem.instrument
    instrument.inject(context, into: &injected, using: FieldInjector())
    var request = request
    if injected.contains(Self.traceParent) {
      call.isTraced = true
      request.fields.remove(Self.traceState)  // It belongs to the replaced parent.
    }
    for (name, value) in injected { request.fields[name] = value }
    return .send(request)
  }

  private static let traceParent: FieldName = "traceparent"
  private static let traceState: FieldName = "tracestate"

  public func receive(_ event: Event, in call: Call) {
    if case .started(let request) = event {
      call[spans] = CallSpans(
        of: request, named: call.label, by: tracer ?? InstrumentationSystem.tracer, redaction: redaction)
    } else {
      call[spans]?.receive(event, in: call)
    }
  }
}

/// Sets fields of a request, one for each key.
private struct FieldInjector: Injector {
  func inject(_ value: String, forKey key: String, into fields: inout HTTPFields) {
    // A key that is no token cannot be a field.
    if let name = try? FieldName(key) { fields[name] = value }
  }
}

extension SessionConfiguration {
  /// Makes spans of the session's calls: adds a tracer to ``Martlet/SessionConfiguration/interceptors`` and
  /// ``Martlet/SessionConfiguration/listeners``.
  ///
  /// Call it after all other interceptors are set: those added later would count as part of each attempt.
  public mutating func trace(with tracer: CallTracer = CallTracer()) {
    interceptors.append(tracer)
    listeners.append(tracer)
  }
}
#endif
