import MartletSemantics

/// One attempt as it is being recorded: what becomes an entry of an archive.
struct HARAttempt: Sendable {
  let number: Int
  let exchange: UInt64
  let started: Date
  private let stopwatch: Stopwatch
  private var request: RequestHead
  private var sent: CappedBytes
  private var received: CappedBytes
  private var sentCount: Int64 = 0
  private var receivedCount: Int64?
  private var response: ResponseHead?
  private var hasInformational = false
  private var wasSent = false
  private var metrics: TransferMetrics?
  private var marks = HARMarks()

  init(_ number: Int, of exchange: UInt64, _ request: HTTPRequest, at start: (Date, Stopwatch), bodyLimit: Int) {
    self.number = number
    self.exchange = exchange
    (started, stopwatch) = start
    self.request = request.head
    sent = CappedBytes(limit: bodyLimit)
    received = CappedBytes(limit: bodyLimit)
  }

  mutating func take(_ event: Event) {
    switch event {
    case .sending(let head):
      request = head
      wasSent = true
    case .informational: hasInformational = true
    case .progress(let progress):
      switch progress.direction {
      case .sent:
        sentCount = progress.completed
        marks.sent = stopwatch.elapsed
      case .received: receivedCount = progress.completed
      }
    case .bytes(let bytes, let direction, _):
      if direction == .sent { sent.append(bytes) } else { received.append(bytes) }
    case .response(let head, _):
      response = head
      marks.head = stopwatch.elapsed
    case .metrics(let metrics): self.metrics = metrics
    default: break
    }
  }

  /// The attempt is over: the entry.
  ///
  /// - Parameters:
  ///   - reason: why it was not the last attempt; nil for the last.
  ///   - error: what failed.
  func entry(reason: String?, error: HTTPError?, redaction: Redaction) -> HAR.Entry {
    var marks = marks
    marks.end = stopwatch.elapsed
    var entry = HAR.Entry(
      startedDateTime: started, request: requestPart(redaction), response: responsePart(error, redaction),
      timings: HAR.Timings(marks, metrics),
      comment: "exchange \(exchange), attempt \(number)" + (reason.map { ": \($0)" } ?? "")
        + (wasSent ? "" : ": answered without the network"))
    entry.serverIPAddress = metrics?.remoteAddress
    entry.connection = metrics?.localPort.map(String.init)
    return entry
  }

  private var version: String? { (metrics?.version ?? response?.version)?.description }

  private func requestPart(_ redaction: Redaction) -> HAR.Request {
    var part = HAR.Request(request, redaction: redaction)
    part.httpVersion = version ?? part.httpVersion
    part.bodySize = metrics?.bytesSent ?? max(sent.count, sentCount)
    guard sent.count > 0 else { return part }
    let (bytes, remark) = sent.shown(describedBy: request.fields, redaction)
    var data = HAR.PostData(mimeType: request.fields[.contentType] ?? "", bytes: bytes ?? Data())
    data.comment = remark
    part.postData = data
    return part
  }

  private func responsePart(_ error: HTTPError?, _ redaction: Redaction) -> HAR.Response {
    guard let response else {
      var part = HAR.Response(status: 0)
      part.error = error.map { "\($0.kind): \($0.message)" }
      return part
    }
    var part = HAR.Response(response, redaction: redaction)
    part.httpVersion = version ?? part.httpVersion
    part.error = error.map { "\($0.kind): \($0.message)" }
    part.bodySize = metrics?.bytesReceived ?? -1
    // Heads of informational responses are part of the number.
    if let metrics, !hasInformational, metrics.headerBytesReceived > 0 {
      part.headersSize = metrics.headerBytesReceived
    }
    let (bytes, remark) = received.shown(describedBy: response.fields, redaction)
    let type = response.fields[.contentType] ?? ""
    let isUnread = metrics == nil && received.count == 0 && receivedCount != 0
    part.content = HAR.Content(size: 0, mimeType: type)
    if let bytes, !isUnread { part.content = HAR.Content(mimeType: type, bytes: bytes) }
    part.content.size = max(received.count, receivedCount ?? 0)
    part.content.comment = isUnread ? "the body was not recorded" : remark
    let saved = part.content.size - part.bodySize
    if part.bodySize > 0, saved > 0 { part.content.compression = saved }
    return part
  }
}

extension CappedBytes {
  /// The bytes without their secrets, and what a reader has to know; nil where there may be secrets that nobody can see.
  fileprivate func shown(describedBy fields: HTTPFields, _ redaction: Redaction) -> (Data?, remark: String?) {
    guard redaction.canSearch(fields) else {
      return (nil, "left out: it is encoded, and cannot be searched for secrets")
    }
    return (
      redaction.redacted(readable, type: fields.mediaType),
      isCutOff ? "cut off after \(bytes.count) of \(count) bytes" : nil
    )
  }
}
