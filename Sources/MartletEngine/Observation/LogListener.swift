public import MartletSemantics
import Synchronization

/// Writes one line for each call, when it has ended.
///
/// ```swift
/// configuration.listeners = [LogListener()]
/// // 2026-11-21T07:05:13.042Z info #1 GET https://example.com/a?token=*** → 200 OK, 1.2 kB received, 34 ms, HTTP/2
/// ```
///
/// | line | level |
/// |---|---|
/// | an attempt begins; an informational response; why a request is sent again, or why not; a refused cookie | debug |
/// | a response below 500; a call that was cancelled, or whose body was cancelled | info |
/// | a response of 500 and above | warning |
/// | a call that failed | error |
///
/// The lines show no secrets: see `Redaction`. Each begins with the number of the call, which is unique in the process.
/// Bytes are those of bodies on the network, as far as the transport measures them; the time is that until the end of
/// the body.
public struct LogListener: EventListener {
  private let sink: any LogSink
  private let redaction: Redaction
  private let clock: any Clock<Duration>
  private let summaries = CallLocal<KeptSummary?>(nil)

  /// Makes a listener.
  ///
  /// - Parameters:
  ///   - sink: where the lines go; standard error by default.
  ///   - redaction: what the lines leave out.
  ///   - clock: measures the time of calls.
  public init(
    to sink: any LogSink = StandardErrorLog(), redaction: Redaction = .standard,
    clock: any Clock<Duration> = ContinuousClock()
  ) {
    self.sink = sink
    self.redaction = redaction
    self.clock = clock
  }

  public func receive(_ event: Event, in call: Call) {
    let kept = summary(of: call)
    kept.summary.withLock { $0.update(event) }
    switch event {
    case .attempt(let number, let request):
      log(.debug, call, "attempt \(number): \(request.method) \(redaction.redacted(request.url))")
    case .informational(let head): log(.debug, call, "\(head.status)")
    case .resend(_, let delay, let reason):
      log(.debug, call, delay > .zero ? "again in \(Quantity.text(delay)): \(reason)" : "again: \(reason)")
    case .cookieRefused(let refusal): log(.debug, call, "\(refusal)")
    case .note(let text): log(.debug, call, text)
    case .finished:
      let summary = kept.summary.withLock { $0 }
      log(summary.level, call, summary.line(redaction))
    default: break
    }
  }

  private func summary(of call: Call) -> KeptSummary {
    if let kept = call[summaries] { return kept }
    let kept = KeptSummary(CallSummary(Stopwatch(clock)))
    call[summaries] = kept
    return kept
  }

  /// Returns a text with a space in place of each control character.
  private static func withoutControls(_ text: String) -> String {
    // the bytes of control characters, and the first of those from U+0080 on
    guard text.utf8.contains(where: { $0 < 32 || $0 == 127 || $0 == 0xC2 }) else { return text }
    let scalars = text.unicodeScalars.map { $0.properties.generalCategory == .control ? " " : $0 }
    return String(String.UnicodeScalarView(scalars))
  }

  private func log(_ level: LogLevel, _ call: Call, _ text: @autoclosure () -> String) {
    guard sink.isEnabled(level) else { return }
    // A message may contain text of a server, which must not start lines of its own.
    sink.write("#\(call.id) \(Self.withoutControls(text()))", at: level)
  }
}

/// The summary of a call, which its events change in place.
private final class KeptSummary: Sendable {
  let summary: Mutex<CallSummary>

  init(_ summary: CallSummary) { self.summary = Mutex(summary) }
}

/// The line about a call, collected from its events.
struct CallSummary: Sendable {
  private let stopwatch: Stopwatch
  private var request: RequestHead?
  private var attempts = 0
  private var status: HTTPStatus?
  private var sent: Int64 = 0
  private var received: Int64 = 0
  private var metrics: TransferMetrics?
  private var error: HTTPError?

  init(_ stopwatch: Stopwatch) { self.stopwatch = stopwatch }

  mutating func update(_ event: Event) {
    switch event {
    case .started(let request): self.request = request.head
    case .attempt(let number, let request):
      self.request = request.head
      attempts = number
      (status, metrics, sent, received) = (nil, nil, 0, 0)
    case .progress(let progress):
      switch progress.direction {
      case .sent: sent = progress.completed
      case .received: received = progress.completed
      }
    case .response(let head, _): status = head.status
    case .metrics(let metrics): self.metrics = metrics
    case .finished(let error): self.error = error
    default: break
    }
  }

  var level: LogLevel {
    if let error { return error.isCancelled ? .info : .error }
    return status.map { $0.isServerError ? .warning : .info } ?? .info
  }

  func line(_ redaction: Redaction) -> String {
    var parts: [String] = []
    if let status { parts.append("\(status)") }
    if let error { parts.append(error.isCancelled ? "cancelled" : "failed with \(error.kind): \(error.message)") }
    if attempts > 1 { parts.append("\(attempts) attempts") }
    let out = metrics?.bytesSent ?? sent
    let back = metrics?.bytesReceived ?? received
    if out > 0 { parts.append("\(Quantity.text(out)) sent") }
    if back > 0 || error == nil { parts.append("\(Quantity.text(back)) received") }
    parts.append(Quantity.text(stopwatch.elapsed))
    if let metrics {
      let version = metrics.version?.description ?? "HTTP"
      parts.append(version + (metrics.reusedConnection ? " on a reused connection" : ""))
    }
    let target = request.map { "\($0.method) \(redaction.redacted($0.url))" } ?? "a request"
    return "\(target) → \(parts.joined(separator: ", "))"
  }
}
