@_spi(Toolkit) public import MartletSemantics
import Synchronization

/// Writes one line for each call when it has ended.
///
/// ```swift
/// configuration.listeners = [LogListener()]
/// // 2026-11-21T07:05:13.042Z info #1 GET https://example.com/a?token=*** → 200 OK, 1.2 kB received, 34 ms, HTTP/2
/// ```
///
/// | line | level |
/// |---|---|
/// | the head that is sent, the head of a response, what the transport measured; a message of a WebSocket | trace |
/// | an attempt begins; an informational response; why a request is sent again, or why not; a refused cookie; the response comes from the cache; a request waits because of a limit; what caches and proxies on the way say (``CacheStatus``, ``ProxyStatus``), and the priority of a response | debug |
/// | a response below 500; a call that was cancelled, or whose body was cancelled | info |
/// | a circuit breaker opens or closes; a server wants no more requests; a resource is deprecated or will end (``DeprecationNotice``), once for an origin and a path | notice |
/// | a response of 500 and above | warning |
/// | a call that failed | error |
///
/// The lines show no secrets: see `Redaction`. Each begins with the number of the call, which is unique in the process.
/// Sizes are those of bodies on the network, if the transport measures them; the duration includes the time until the
/// body ends. For a call that opens a WebSocket, the line is written when the WebSocket is closed.
///
/// A sink that implements ``LogSink/write(_:)`` gets the following metadata, if known, with each line. The names are
/// those of OpenTelemetry's conventions for HTTP where these define one:
///
/// | name | value |
/// |---|---|
/// | `call` | the number of the call |
/// | `label` | ``RequestOptions/label``; lines have it too, after the number |
/// | `request.id` | ``Call/correlationID``, of a ``CorrelationInterceptor`` |
/// | `attempt` | the number of the attempt |
/// | `http.request.method`, `url.full`, `server.address`, `server.port` | of the request that was sent last, without secrets |
/// | `http.response.status_code`, `error.type` | the status; the kind of the error, at the end of a call |
/// | `duration` | seconds from the beginning of the call; at its end |
/// | `network.protocol.version`, `http.request.body.size`, `http.response.body.size` | at the end of a call |
public struct LogListener: EventListener {
  private let sink: any LogSink
  private let redaction: Redaction
  private let clock: any Clock<Duration>
  private let summaries = CallLocal<KeptSummary?>(nil)
  private let deprecations = DeprecationMemory()

  /// Makes a listener.
  ///
  /// - Parameters:
  ///   - sink: the destination of the lines; standard error by default.
  ///   - redaction: the secrets that the lines omit.
  ///   - clock: measures the time of calls.
  public init(
    to sink: any LogSink = StandardErrorLog(), redaction: Redaction = .standard,
    clock: any Clock<Duration> = ContinuousClock()
  ) {
    self.sink = sink
    self.redaction = redaction
    self.clock = clock
  }

  public var events: Event.Kinds { .exceptBytes.subtracting([.written, .cookiesStored, .cacheDecision]) }

  public func receive(_ event: Event, in call: Call) {
    let kept = summary(of: call)
    kept.summary.withLock { $0.update(event) }
    switch event {
    case .attempt(let number, let request):
      log(.debug, call, EventWords.attempt(number, request, redaction))
    case .sending(let head):
      log(.trace, call, "sending: \(head.method) \(redaction.redacted(head.url)), \(shown(head.fields))")
    case .response(let head, let url):
      log(.trace, call, "response: \(head.statusText), \(shown(head.fields))")
      for offer in EventWords.offers(of: head) { log(.trace, call, offer) }
      if sink.isEnabled(.debug) { for line in EventWords.intermediaries(of: head) { log(.debug, call, line) } }
      if let notice = deprecations.newNotice(of: head, from: url) {
        log(.notice, call, EventWords.deprecation(notice, of: url, redaction))
      }
    case .metrics: log(.trace, call, "\(event)")
    case .message(let message): log(.trace, call, shown(message))
    case .informational(let head): log(.debug, call, head.statusText)
    case .resend, .cookieRefused, .cached, .note: log(.debug, call, "\(event)")
    case .limit(let limit): log(limit.level, call, "\(event)")
    case .finished:
      let summary = kept.summary.withLock { $0 }
      log(summary.level, call, summary.line(redaction), isEnd: true)
    case .started, .written, .progress, .bytes, .cookiesStored, .cacheDecision: break
    }
  }

  private func summary(of call: Call) -> KeptSummary {
    if let kept = call[summaries] { return kept }
    let kept = KeptSummary(CallSummary(Stopwatch(clock)))
    call[summaries] = kept
    return kept
  }

  private func shown(_ fields: HTTPFields) -> String { redaction.line(of: fields) }

  /// A message, with the beginning of its text.
  private func shown(_ message: Event.Message) -> String {
    if message.kind == .data || message.payload.isEmpty { return "\(message)" }
    let text = String(decoding: redaction.redacted(message.payload, type: nil), as: UTF8.self)
    return "\(message): \(text.prefix(200))\(text.count > 200 ? "…" : "")"
  }

  private func log(_ level: LogLevel, _ call: Call, _ text: @autoclosure () -> String, isEnd: Bool = false) {
    guard sink.isEnabled(level) else { return }
    let summary = summary(of: call).summary.withLock { $0 }
    let (number, label, correlation, redaction) = (call.id, call.label, call.correlationID, redaction)
    let elapsed = isEnd ? summary.elapsed : nil
    let prefix = label.map { "\($0): " } ?? ""
    // Most sinks write only the line.
    let entry = LogEntry("#\(number) " + (prefix + text()).printable, at: level) {
      var metadata: [(name: String, value: LogEntry.Value)] = [("call", .integer(Int64(clamping: number)))]
      if let label { metadata.append(("label", .text(label.printable))) }
      if let correlation { metadata.append(("request.id", .text(correlation.printable))) }
      return metadata + summary.metadata(redaction, atEnd: elapsed)
    }
    sink.write(entry)
  }
}

extension Event.Limit {
  fileprivate var level: LogLevel {
    switch self {
    case .circuit, .paused: .notice
    case .queued, .throttled, .hedged: .debug
    }
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
  private var response: ResponseHead?
  private var sent: Int64 = 0
  private var received: Int64 = 0
  private var messages = MessageCounts()
  private var metrics: TransferMetrics?
  private var error: HTTPError?

  /// The messages of a WebSocket and their bytes.
  private struct MessageCounts {
    var sent = 0
    var received = 0
    var sentBytes: Int64 = 0
    var receivedBytes: Int64 = 0

    mutating func add(_ message: Event.Message) {
      if case .close = message.kind { return }
      switch message.direction {
      case .sent:
        sent += 1
        sentBytes += Int64(message.count)
      case .received:
        received += 1
        receivedBytes += Int64(message.count)
      }
    }
  }

  init(_ stopwatch: Stopwatch) { self.stopwatch = stopwatch }

  mutating func update(_ event: Event) {
    switch event {
    case .started(let request): self.request = request.head
    case .attempt(let number, let request):
      self.request = request.head
      attempts = number
      (response, metrics, sent, received) = (nil, nil, 0, 0)
    case .progress(let progress):
      switch progress.direction {
      case .sent: sent = progress.completed
      case .received: received = progress.completed - progress.offset
      }
    case .message(let message): messages.add(message)
    case .response(let head, _): response = head
    case .metrics(let metrics): self.metrics = metrics
    case .finished(let error): self.error = error
    default: break
    }
  }

  var level: LogLevel {
    if let error { return error.isCancelled ? .info : .error }
    return response.map { $0.status.isServerError ? .warning : .info } ?? .info
  }

  /// The time since the call began.
  var elapsed: Duration { stopwatch.elapsed }

  /// - Parameter elapsed: the duration of the call at its end; nil before.
  func metadata(_ redaction: Redaction, atEnd elapsed: Duration?) -> [(name: String, value: LogEntry.Value)] {
    var metadata: [(name: String, value: LogEntry.Value)] = []
    if attempts > 0 { metadata.append(("attempt", .integer(Int64(attempts)))) }
    if let request {
      metadata.append(("http.request.method", .text(request.method.rawValue)))
      metadata.append(("url.full", .text(redaction.redacted(request.url))))
      if let origin = Origin(request.url) {
        metadata.append(("server.address", .text(origin.host)))
        metadata.append(("server.port", .integer(Int64(origin.port))))
      }
    }
    if let response { metadata.append(("http.response.status_code", .integer(Int64(response.status.code)))) }
    guard let elapsed else { return metadata }
    if let error { metadata.append(("error.type", .text(error.kind.name))) }
    metadata.append(("duration", .number(elapsed.inMilliseconds / 1000)))
    if let version = metrics?.version { metadata.append(("network.protocol.version", .text(version.number))) }
    metadata.append(("http.request.body.size", .integer(metrics?.bytesSent ?? sent)))
    metadata.append(("http.response.body.size", .integer(metrics?.bytesReceived ?? received)))
    return metadata
  }

  func line(_ redaction: Redaction) -> String {
    var parts: [String] = []
    if let response { parts.append(response.statusText) }
    if let error { parts.append(error.isCancelled ? "cancelled" : EventWords.failure(error)) }
    if attempts > 1 { parts.append("\(attempts) attempts") }
    if messages.sent + messages.received > 0 { parts.append("\(messages.sent + messages.received) messages") }
    let out = (metrics?.bytesSent ?? sent) + messages.sentBytes
    let back = (metrics?.bytesReceived ?? received) + messages.receivedBytes
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
