public import MartletSemantics

/// Writes one line for each exchange, when it has ended.
///
/// ```swift
/// configuration.listeners = [LogListener()]
/// // 2026-11-21T07:05:13.042Z info #1 GET https://example.com/a?token=*** → 200 OK, 1.2 kB received, 34 ms, HTTP/2
/// ```
///
/// | line | level |
/// |---|---|
/// | an attempt begins; an informational response; why and when the request goes again, or why not; a refused cookie | debug |
/// | a response below 500; an exchange that was cancelled, or whose body was given up | info |
/// | a response of 500 and above | warning |
/// | an exchange that failed | error |
///
/// The lines show no secrets: see `Redaction`. The number at their beginning is that of the exchange, unique in the process.
/// Bytes are those of bodies on the wire, as far as the transport measures them; time lasts to the body's end.
public struct LogListener: EventListener {
  private let sink: any LogSink
  private let redaction: Redaction
  private let clock: any Clock<Duration>
  private let summary = ExchangeLocal<ExchangeSummary?>(nil)

  /// Makes a listener.
  ///
  /// - Parameters:
  ///   - sink: where the lines go; standard error by default.
  ///   - redaction: what they leave out.
  ///   - clock: measures how long exchanges take.
  public init(
    to sink: any LogSink = StandardErrorLog(), redaction: Redaction = .standard,
    clock: any Clock<Duration> = ContinuousClock()
  ) {
    self.sink = sink
    self.redaction = redaction
    self.clock = clock
  }

  public func receive(_ event: Event, in exchange: Exchange) {
    var summary = exchange[summary] ?? ExchangeSummary(Stopwatch(clock))
    summary.take(event)
    exchange[self.summary] = summary
    switch event {
    case .attempt(let number, let request):
      log(.debug, exchange, "attempt \(number): \(request.method) \(redaction.redacted(request.url))")
    case .informational(let head): log(.debug, exchange, "\(head.status)")
    case .resend(_, let delay, let reason):
      log(.debug, exchange, delay > .zero ? "again in \(ExchangeSummary.text(delay)): \(reason)" : "again: \(reason)")
    case .cookieRefused(let refusal): log(.debug, exchange, "\(refusal)")
    case .note(let text): log(.debug, exchange, text)
    case .finished: log(summary.level, exchange, summary.line(redaction))
    default: break
    }
  }

  private func log(_ level: LogLevel, _ exchange: Exchange, _ text: @autoclosure () -> String) {
    guard sink.isEnabled(level) else { return }
    // A message may quote what came from outside: it does not begin lines of its own.
    let line = text().unicodeScalars.map { $0.properties.generalCategory == .control ? " " : $0 }
    sink.write("#\(exchange.id) " + String(String.UnicodeScalarView(line)), at: level)
  }
}
