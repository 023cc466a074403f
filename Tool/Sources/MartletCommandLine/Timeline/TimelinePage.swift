@_spi(Toolkit) import MartletEngine
@_spi(Toolkit) import MartletObservation
@_spi(Toolkit) import MartletSemantics

/// A page that shows a ``Timeline``: a row for each call and each attempt, with its phases as bars. It needs only a
/// browser: no script, no other file. The rows are `details` elements, which the keyboard opens.
struct TimelinePage {
  private let timeline: Timeline
  /// The time that the whole width represents, in milliseconds.
  private let total: Double

  /// Writes the page to a file, which only its owner can read, because it contains the requests.
  static func write(_ timeline: Timeline, to file: URL) throws(HTTPError) {
    let partial = try PartialFile(for: file, access: .ownerOnly, phase: nil)
    try partial.append(Data(TimelinePage(timeline).html.utf8))
    try partial.complete()
  }

  /// The beginning of every page, by which it is recognized.
  private static let beginning = """
    <!DOCTYPE html>
    <html lang="en">
    <head>
    <meta charset="utf-8">
    <meta name="generator" content="martlet --timeline">
    """

  /// Whether a file is a complete page of this kind.
  static func isPage(_ data: Data) -> Bool {
    data.starts(with: beginning.utf8) && data.suffix(8).elementsEqual("</html>\n".utf8)
  }

  init(_ timeline: Timeline) {
    self.timeline = timeline
    total = max(timeline.end.inMilliseconds, 0.001)
  }

  var html: String {
    let attempts = timeline.calls.map(\.attempts.count).reduce(0, +)
    let calls = timeline.calls.count
    let bytes = timeline.calls.flatMap(\.attempts).map { $0.metrics?.bytesReceived ?? 0 }.reduce(0, +)
    let summary = [
      "\(calls) call\(calls == 1 ? "" : "s")", "\(attempts) attempt\(attempts == 1 ? "" : "s")",
      Quantity.text(timeline.end), "\(Quantity.text(bytes)) over the network",
    ]
    let title = timeline.calls.first.map { "\($0.method) \($0.url)" } ?? "no calls"
    return """
      \(Self.beginning)
      <meta name="viewport" content="width=device-width, initial-scale=1">
      <meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
      <title>\(Self.escaped(title))</title>
      <style>
      \(Waterfall.style)
      \(Self.style)
      </style>
      </head>
      <body>
      <header>
      <h1>\(Self.escaped(title))</h1>
      <p>\(summary.joined(separator: " · ")) · \(Timestamp.format(timeline.began))</p>
      <p class="legend">\(Self.legend)</p>
      </header>
      <main>
      \(axis)
      \(timeline.calls.map(section).joined(separator: "\n"))
      </main>
      </body>
      </html>

      """
  }

  private static let legend = Waterfall.legend
    .map { "<span><i class=\"\($0.lowercased())\"></i>\($0)</span>" }.joined(separator: " ")

  /// Five time marks above the bars.
  private var axis: String {
    let marks = (0...4).map { step in
      let time = Duration.milliseconds(total * Double(step) / 4)
      return "<span style=\"left:\(step * 25)%\">\(Quantity.text(time))</span>"
    }
    return "<div class=\"axis\" aria-hidden=\"true\"><div>\(marks.joined())</div></div>"
  }

  private func section(_ call: Timeline.CallRecord) -> String {
    let end = call.end ?? timeline.end
    let state = call.error.map { "<p class=\"error\">\(Self.escaped($0))</p>" } ?? ""
    return """
      <section>
      <h2><span class="what">\(Self.escaped("\(call.method) \(call.url)"))</span>\
      <span class="time">\(Quantity.text(end - call.start))</span></h2>
      \(state)
      \(call.attempts.map(row).joined(separator: "\n"))
      </section>
      """
  }

  private func row(_ attempt: Timeline.AttemptRecord) -> String {
    let status = attempt.status.map { "\($0.code)" } ?? "–"
    let style = attempt.status.map { $0.code >= 400 ? "bad" : $0.code >= 300 ? "notice" : "good" } ?? "bad"
    let size = attempt.metrics.map { Quantity.text($0.bytesReceived) } ?? (attempt.wasSent ? "" : "cache")
    return """
      <details>
      <summary><span class="label"><b class="\(style)">\(status)</b> \(Self.escaped("\(attempt.method) \(attempt.url)"))\
      </span><span class="size">\(size)</span><span class="bars">\(bars(attempt))</span></summary>
      <div class="facts">
      \(facts(attempt))
      </div>
      </details>
      """
  }

  private func bars(_ attempt: Timeline.AttemptRecord) -> String {
    let drawn = Waterfall.Attempt(
      start: attempt.start, end: attempt.end ?? timeline.end, wasSent: attempt.wasSent, metrics: attempt.metrics,
      sendingTime: attempt.sendingTime, headTime: attempt.headTime, failure: attempt.failure)
    return Waterfall.bars(drawn).map(bar).joined()
  }

  private func bar(_ bar: Waterfall.Bar) -> String {
    let left = min(100, bar.start / total * 100)
    let width = max(0, min(100 - left, bar.length / total * 100))
    let place = "left:\(Self.percent(left));width:max(2px,\(Self.percent(width)))"
    return "<i class=\"\(bar.style)\" style=\"\(place)\" title=\"\(bar.title)\"></i>"
  }

  /// With two decimals, independent of the machine's language.
  private static func percent(_ value: Double) -> String {
    let hundredths = Int((value * 100).rounded())
    let rest = hundredths % 100
    return "\(hundredths / 100).\(rest < 10 ? "0" : "")\(rest)%"
  }

  private func facts(_ attempt: Timeline.AttemptRecord) -> String {
    var rows: [(String, String)] = [("attempt", "\(attempt.number), after \(Quantity.text(attempt.start))")]
    if let metrics = attempt.metrics {
      rows += Phases(metrics, failedWhile: attempt.failure).map { ($0.name, Quantity.text($0.length)) }
      rows.append(("sent", Quantity.text(metrics.bytesSent)))
      rows.append(
        ("received", "\(Quantity.text(metrics.bytesReceived)), decoded \(Quantity.text(attempt.received))"))
      if let address = metrics.remoteAddress {
        let port = metrics.remotePort.map { " port \($0)" } ?? ""
        rows.append(("connection", "\(address)\(port), \(metrics.reusedConnection ? "reused" : "new")"))
      }
    }
    if let version = attempt.metrics?.version ?? attempt.version { rows.append(("version", version.rawValue)) }
    if !attempt.wasSent { rows.append(("cache", "answered without the network")) }
    rows += attempt.notes.map { ("note", $0) }
    let list = rows.map { "<dt>\(Self.escaped($0.0))</dt><dd>\(Self.escaped($0.1))</dd>" }.joined()
    return "<dl>\(list)</dl>" + fields("request", attempt.requestFields) + fields("response", attempt.responseFields)
  }

  private func fields(_ title: String, _ fields: HTTPFields) -> String {
    guard !fields.isEmpty else { return "" }
    let lines = fields.map { "<dt>\(Self.escaped($0.name.rawName))</dt><dd>\(Self.escaped($0.value))</dd>" }.joined()
    return "<h3>Fields of the \(title)</h3><dl>\(lines)</dl>"
  }

  static func escaped(_ text: String) -> String {
    var result = ""
    for scalar in text.printable.unicodeScalars {
      switch scalar {
      case "&": result += "&amp;"
      case "<": result += "&lt;"
      case ">": result += "&gt;"
      case "\"": result += "&quot;"
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result
  }
}
