@_spi(Toolkit) import MartletEngine
@_spi(Toolkit) import MartletObservation
@_spi(Toolkit) import MartletSemantics
import Synchronization

/// Reports the events of a run's calls on standard error: `--verbose`.
///
/// Each line begins with the time since the run began. Calls that the library itself makes, to renew a token or to
/// fetch a CSRF token, have a number before their lines.
final class Story: EventListener {
  private let output: any Output
  private let text: MessageText
  private let stopwatch: Stopwatch
  private let state = Mutex(State())

  private struct State: Sendable {
    var first: UInt64?
    var calls: [UInt64: CallState] = [:]
  }

  /// The state of a call's current attempt.
  private struct CallState: Sendable {
    var number = 0
    var prepared: RequestHead?
    /// The head to send, until it was written.
    var sending: RequestHead?
    var wasSent = false
    var response: ResponseHead?
    var received: Int64 = 0
  }

  init(to output: any Output, palette: Palette, redaction: Redaction, clock: any Clock<Duration>) {
    self.output = output
    text = MessageText(palette: palette, redaction: redaction)
    stopwatch = Stopwatch(clock)
  }

  func receive(_ event: Event, in call: Call) {
    let time = stopwatch.elapsed
    let lines: [String] = state.withLock { state in
      let isFirst = state.first == nil || state.first == call.id
      if state.first == nil { state.first = call.id }
      let lines = Self.lines(event, &state.calls[call.id, default: CallState()], text)
      if case .finished = event { state.calls[call.id] = nil }
      return isFirst ? lines : lines.map { "[\(call.id)] \($0)" }
    }
    write(lines, at: time)
  }

  /// Writes all lines at once, so that lines of several threads are not mixed.
  private func write(_ lines: [String], at time: Duration) {
    guard !lines.isEmpty else { return }
    let stamp = Quantity.text(time)
    let first = text.palette.text(String(repeating: " ", count: max(0, 8 - stamp.count)) + stamp, .dimmed)
    let others = String(repeating: " ", count: 8)
    let block = lines.enumerated().map { ($0.offset == 0 ? first : others) + "  \($0.element)\n" }.joined()
    do throws(OutputError) { try output.write(block) } catch {}
  }

  private static func lines(_ event: Event, _ call: inout CallState, _ text: MessageText) -> [String] {
    switch event {
    case .started(let request):
      return ["* \(request.method) \(text.redaction.redacted(request.url).printable)"]
    case .attempt(let number, let request):
      call = CallState(number: number, prepared: request.head)
      return number > 1 ? ["* attempt \(number)"] : []
    case .sending(let head):
      (call.sending, call.wasSent) = (head, true)
      return EventWords.additions(to: call.prepared, head).map { "* \($0)" }
    case .written(let head):
      call.sending = nil
      return sent(text.request(head))
    case .informational(let head): return text.response(head).lines.map { "< \($0)" }
    case .response(let head, _):
      call.response = head
      let unreported = call.sending.map { sent(text.request($0)) } ?? []  // its transport reports no written head
      return (call.wasSent ? unreported : ["* answered without the network"])
        + text.response(head).lines.map { "< \($0)" }
        + (EventWords.cookies(set: head) + EventWords.offers(of: head) + announcements(of: head)).map { "* \($0)" }
    case .metrics(let metrics): return ["* \(phases(metrics))"]
    case .resend, .cookieRefused, .cached, .limit, .note, .message: return ["* \(event)".printable]
    case .progress(let progress):
      if progress.direction == .received { call.received = progress.completed }
      return []
    case .bytes, .cookiesStored, .cacheDecision: return []
    case .finished(let error): return [ending(call, error)]
    @unknown default: return ["* \(event)".printable]
    }
  }

  /// What the server says about the end of the resource, and what caches and proxies on the way say.
  private static func announcements(of head: ResponseHead) -> [String] {
    let fields = head.fields
    var lines = fields.deprecationNotice().map { ["the server announces: \($0)"] } ?? []
    lines += fields.cacheStatuses.map { "the cache \($0) (Cache-Status)".printable }
    lines += fields.proxyStatuses.map { "the proxy \($0) (Proxy-Status)".printable }
    if let priority = fields.priority { lines.append("the response has \(priority) (Priority)") }
    return lines
  }

  private static func sent(_ head: String) -> [String] { head.lines.map { "> \($0)" } }

  private static func phases(_ metrics: TransferMetrics) -> String {
    var parts = Phases(metrics).texts
    if let version = metrics.version { parts.append("\(version)") }
    if let address = metrics.remoteAddress {
      parts.append(
        (metrics.reusedConnection ? "reused connection to " : "") + address
          + (metrics.remotePort.map { " port \($0)" } ?? ""))
    }
    return "times: " + parts.joined(separator: ", ")
  }

  private static func ending(_ call: CallState, _ error: HTTPError?) -> String {
    if let error, error.isCancelled, call.response != nil { return "* ended: the body was not read" }
    if let error { return "* \(EventWords.failure(error))".printable }
    var parts = [call.response?.statusText ?? "no response"]
    if call.number > 1 { parts.append("\(call.number) attempts") }
    parts.append("a body of \(Quantity.text(call.received))")
    return "* complete: " + parts.joined(separator: ", ")
  }
}

extension String {
  /// The lines, without an empty last one.
  fileprivate var lines: [Substring] { split(separator: "\n") }
}
