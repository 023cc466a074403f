#if Tracing
import MartletEngine
@_spi(Toolkit) import MartletSemantics
import Synchronization
import Tracing

/// The spans of one call. Its events end them.
final class CallSpans: Sendable {
  private let tracer: any Tracer
  private let redaction: Redaction
  private let call: any Span
  private let attempt = Mutex(AttemptState())

  private struct AttemptState: Sendable {
    /// The span of the attempt in progress.
    var span: (any Span)?
    /// The status of its response.
    var status: HTTPStatus?
    /// Whether the call has ended.
    var isFinished = false
  }

  /// Begins the span of a call, below the current `ServiceContext`.
  init(of request: HTTPRequest, named label: String?, by tracer: any Tracer, redaction: Redaction) {
    self.tracer = tracer
    self.redaction = redaction
    call = tracer.startSpan(
      label ?? request.nameOfSpan, context: ServiceContext.current ?? .topLevel, ofKind: .internal)
    call.describe(request, redaction)
  }

  /// Begins the span of an attempt. Returns its context; nil after the end of the call: a deadline may abandon the
  /// preparation of a request.
  func beginAttempt(of request: HTTPRequest) -> ServiceContext? {
    guard attempt.withLock({ !$0.isFinished }) else { return nil }
    let span = tracer.startSpan(request.nameOfSpan, context: call.context, ofKind: .client)
    span.describe(request, redaction)
    // The previous span, or this one if the call has ended in the meantime.
    let (ended, isFinished) = attempt.withLock { attempt -> ((any Span)?, Bool) in
      guard !attempt.isFinished else { return (span, true) }
      defer { attempt = AttemptState(span: span) }
      return (attempt.span, false)
    }
    ended?.end()
    return isFinished ? nil : span.context
  }

  func receive(_ event: Event, in call: Call) {
    switch event {
    case .attempt(let number, let request):
      let span = current
      span?.describe(request, redaction)
      if number > 1 { span?.attributes["http.request.resend_count"] = number - 1 }
    case .cached(let source): current?.attributes["martlet.response.source"] = source.rawValue
    case .response(let head, _):
      let span = attempt.withLock { attempt in
        attempt.status = head.status
        return attempt.span
      }
      span?.describe(head.status)
    case .metrics(let metrics): current?.describe(metrics)
    case .resend(_, _, let reason, let failure):
      let last = endAttempt()
      last.span?.attributes["martlet.resend.reason"] = reason
      if last.status == nil { last.span?.fail(failure?.kind.name ?? "_OTHER") }
      last.span?.end()
    case .finished(let error): finish(error)
    case .started, .sending, .written, .informational, .progress, .bytes, .message, .cookieRefused,
      .cookiesStored, .cacheDecision, .limit, .note:
      break
    @unknown default: break
    }
  }

  private func finish(_ error: HTTPError?) {
    let last = endAttempt(isFinished: true)
    if let status = last.status { call.describe(status) }
    if let error {
      call.recordError(error)
      // The error made from a refusal says less than its status.
      if last.status.map({ $0.code < 400 }) ?? true {
        last.span?.fail(error.kind.name)
        call.fail(error.kind.name)
      }
    }
    last.span?.end()
    call.end()
  }

  private var current: (any Span)? { attempt.withLock { $0.span } }

  private func endAttempt(isFinished: Bool = false) -> AttemptState {
    attempt.withLock { attempt in
      let last = attempt
      attempt = AttemptState(isFinished: isFinished)
      return last
    }
  }
}

extension HTTPRequest {
  fileprivate var nameOfSpan: String { method.registeredName == method.rawValue ? method.rawValue : "HTTP" }
}

extension Span {
  fileprivate func describe(_ request: HTTPRequest, _ redaction: Redaction) {
    updateAttributes { attributes in
      attributes["http.request.method"] = request.method.registeredName
      if request.method.registeredName != request.method.rawValue {
        attributes["http.request.method_original"] = request.method.rawValue
      }
      attributes["url.full"] = redaction.redacted(request.url)
      if let origin = Origin(request.url) {
        attributes["server.address"] = origin.host
        attributes["server.port"] = origin.port
      }
    }
  }

  fileprivate func describe(_ status: HTTPStatus) {
    attributes["http.response.status_code"] = status.code
    if status.code >= 400 { fail("\(status.code)") }
  }

  fileprivate func describe(_ metrics: TransferMetrics) {
    updateAttributes { attributes in
      if let version = metrics.version { attributes["network.protocol.version"] = version.number }
      if let address = metrics.remoteAddress { attributes["network.peer.address"] = address }
      if let port = metrics.remotePort { attributes["network.peer.port"] = port }
    }
  }

  fileprivate func fail(_ type: String) {
    attributes["error.type"] = type
    setStatus(SpanStatus(code: .error))
  }
}
#endif
