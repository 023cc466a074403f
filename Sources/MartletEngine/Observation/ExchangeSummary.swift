import MartletSemantics

/// What there is to say of an exchange in one line.
struct ExchangeSummary: Sendable {
  private let stopwatch: Stopwatch
  private var request: RequestHead?
  private var attempts = 0
  private var status: HTTPStatus?
  private var sent: Int64 = 0
  private var received: Int64 = 0
  private var metrics: TransferMetrics?
  private var error: HTTPError?

  init(_ stopwatch: Stopwatch) { self.stopwatch = stopwatch }

  mutating func take(_ event: Event) {
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
    if out > 0 { parts.append("\(Self.text(out)) sent") }
    if back > 0 || error == nil { parts.append("\(Self.text(back)) received") }
    parts.append(Self.text(stopwatch.elapsed))
    if let metrics {
      let version = metrics.version?.description ?? "HTTP"
      parts.append(version + (metrics.reusedConnection ? " on a reused connection" : ""))
    }
    let target = request.map { "\($0.method) \(redaction.redacted($0.url))" } ?? "a request"
    return "\(target) → \(parts.joined(separator: ", "))"
  }

  /// `17 B`, `1.2 kB`, `34.5 MB`.
  static func text(_ bytes: Int64) -> String {
    guard bytes >= 1000 else { return "\(bytes) B" }
    var value = Double(bytes) / 1000
    for unit in ["kB", "MB", "GB"] {
      if value < 999.5 { return "\(rounded(value)) \(unit)" }
      value /= 1000
    }
    return "\(rounded(value)) TB"
  }

  /// `0.3 ms`, `34 ms`, `1.5 s`.
  static func text(_ duration: Duration) -> String {
    let milliseconds = duration.inMilliseconds
    return milliseconds < 999.5 ? "\(rounded(milliseconds)) ms" : "\(rounded(milliseconds / 1000)) s"
  }

  /// One digit after the point, below ten only.
  private static func rounded(_ value: Double) -> String {
    let tenths = (value * 10).rounded()
    guard tenths < 100, tenths.truncatingRemainder(dividingBy: 10) != 0 else { return String(Int(value.rounded())) }
    return "\(Int(tenths) / 10).\(Int(tenths) % 10)"
  }
}
