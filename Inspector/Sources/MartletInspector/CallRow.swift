import MartletEngine
@_spi(Toolkit) import MartletObservation
@_spi(Toolkit) import MartletSemantics

/// A row of the table.
struct CallRow: Encodable {
  let id: UInt64
  let label: String?
  let method: String
  let url: String
  /// `running`, `done`, `failed`, `cancelled`, or `unread`: the body was not read to its end, which is no failure.
  let state: String
  let status: Int?
  /// Why it failed.
  let error: String?
  /// When it began and ended, in milliseconds since the log began.
  let start: Double
  let end: Double?
  let attempts: Int
  let received: Int64
  /// Where the response comes from: `network`, `cache` …
  let source: String
  let version: String?
  let type: String
  let isPinned: Bool
  /// The bars of all attempts, since the log began.
  let bars: [Waterfall.Bar]

  init(
    _ call: RecordedCall, _ content: RecordedCall.Content, _ made: [RecordedCall.Attempt], _ log: CallLog
  ) {
    id = call.id
    label = call.label?.printable
    method = call.request.method.rawValue
    url = log.redaction.redacted(call.request.url)
    start = call.start.inMilliseconds
    end = content.end?.inMilliseconds
    attempts = made.count
    isPinned = call.isPinned
    let last = made.last
    let (status, type) = last.map(\.response) ?? (nil, "")
    (self.status, self.type) = (status, type)
    version = last?.version
    // An archive may claim any sizes; -1 is an unknown one.
    received = made.reduce(0) { min($0 + max(0, $1.received), Int64.max / 2) }
    source = content.source
    let error = content.error
    state =
      switch error {
      case _ where content.end == nil: "running"
      case nil: "done"
      case let error? where error.isCancelled: status == nil ? "cancelled" : "unread"
      default: "failed"
      }
    self.error = state == "unread" ? nil : error.map { "\($0.kind): \($0.message)".printable }
    let now = log.elapsed
    bars = content.delays(of: call, made, until: now) + made.flatMap(\.bars)
  }
}

extension RecordedCall.Content {
  fileprivate var source: String {
    for case .cached(let source) in events.reversed().map(\.event) { return source.rawValue }
    return "network"
  }
}

extension RecordedCall.Attempt {
  /// The status and the media type of the response.
  fileprivate var response: (Int?, String) {
    if let entry = archived?.entry {
      return (entry.response.status == 0 ? nil : Int(entry.response.status), entry.response.content.mimeType)
    }
    return (live?.response?.status.code, live?.response?.fields[.contentType]?.printable ?? "")
  }

  fileprivate var version: String? {
    if let entry = archived?.entry { return entry.response.httpVersion }
    return (live?.metrics?.version ?? live?.response?.version)?.rawValue
  }

  fileprivate var received: Int64 { archived?.entry.response.content.size ?? live?.receivedBytes ?? 0 }

  var bars: [Waterfall.Bar] {
    if let entry = archived?.entry {
      let bars = Waterfall.bars(Phases(entry.timings), from: start.inMilliseconds)
      return bars.isEmpty ? Waterfall.delay(from: start, to: start + .milliseconds(entry.time), "without phases") : bars
    }
    guard let live else { return [] }
    return Waterfall.bars(
      Waterfall.Attempt(
        start: start, end: start + live.length, wasSent: live.wasSent, metrics: live.metrics,
        sendingTime: live.sendingTime.map { start + $0 }, headTime: live.headTime.map { start + $0 },
        failure: error?.phase))
  }
}
