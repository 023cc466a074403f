@_spi(Toolkit) public import MartletEngine
@_spi(Toolkit) public import MartletSemantics

/// An attempt that is being recorded. It becomes an entry of an archive.
@_spi(Toolkit) public struct HARAttempt: Sendable {
  public let number: Int
  let call: UInt64
  let started: Date
  private let stopwatch: Stopwatch
  public private(set) var request: RequestHead
  private var sent: CappedBytes
  private var received: CappedBytes
  private var sentCount: Int64 = 0
  private var receivedCount: Int64?
  public private(set) var response: ResponseHead?
  private var hasInformational = false
  public private(set) var wasSent = false
  public private(set) var metrics: TransferMetrics?
  private var marks = HARMarks()
  private var end: Duration?
  private var messages: RecordedMessages
  private let asksForWebSocket: Bool

  public init(_ number: Int, of call: UInt64, _ request: HTTPRequest, at start: (Date, Stopwatch), bodyLimit: Int) {
    self.number = number
    self.call = call
    (started, stopwatch) = start
    self.request = request.head
    sent = CappedBytes(limit: bodyLimit)
    received = CappedBytes(limit: bodyLimit)
    messages = RecordedMessages(limit: bodyLimit)
    asksForWebSocket = request.fields[.upgrade] == "websocket"
  }

  /// The bytes of the response's body that were read.
  public var receivedBytes: Int64 { max(received.count, receivedCount ?? 0) }

  /// When the response's head arrived, since the start.
  public var headTime: Duration? { marks.head }

  /// When the request reached the network last, since the start: after waits for another call or for the limits.
  public var sendingTime: Duration? { marks.sending }

  /// How long it took; until now if it has not ended.
  public var length: Duration { end ?? stopwatch.elapsed }

  /// Ends the attempt, or a copy of it that is shown as far as it got.
  public mutating func stop(at time: Duration) { end = time }

  /// Adds bytes of a body, and counts those after them that are not recorded.
  public mutating func add(_ bytes: Data, skipping count: Int = 0, _ direction: Event.Progress.Direction) {
    if direction == .sent { sent.append(bytes, skipping: count) } else { received.append(bytes, skipping: count) }
  }

  mutating func update(_ event: Event) { update(event, at: stopwatch.elapsed) }

  /// - Parameter time: when it happened, since the attempt began.
  public mutating func update(_ event: Event, at time: Duration) {
    switch event {
    case .sending(let head):
      request = head
      wasSent = true
      marks.sending = time
    case .written(let head): request.fields = head.fields
    case .informational: hasInformational = true
    case .progress(let progress):
      switch progress.direction {
      case .sent:
        sentCount = progress.completed
        marks.sent = time
      case .received: receivedCount = progress.completed - progress.offset
      }
    case .bytes(let bytes, let direction, _): add(bytes, direction)
    case .message(let message): messages.append(message, at: started + time.inMilliseconds / 1000)
    case .response(let head, _):
      response = head
      marks.head = time
    case .metrics(let metrics): self.metrics = metrics
    default: break
    }
  }

  /// Returns the entry of an attempt, as far as it got.
  ///
  /// - Parameters:
  ///   - reason: why it was not the last attempt; nil for the last.
  ///   - error: the error of the attempt; nil if it succeeded.
  public func entry(reason: String?, error: HTTPError?, redaction: Redaction) -> HAR.Entry {
    var marks = marks
    marks.end = length
    var entry = HAR.Entry(
      startedDateTime: started, request: requestPart(redaction), response: responsePart(error, redaction),
      timings: HAR.Timings(marks, metrics),
      comment: "call \(call), attempt \(number)" + (reason.map { ": \($0)" } ?? "")
        + (wasSent ? "" : response == nil ? ": not sent" : ": answered without the network"))
    entry.serverIPAddress = metrics?.remoteAddress
    entry.connection = metrics?.localPort.map(String.init)
    entry.securityDetails = (metrics?.tls).map(HAR.SecurityDetails.init)
    if let status = response?.status, asksForWebSocket, status == .switchingProtocols || status.isSuccessful {
      entry.resourceType = "websocket"
      entry.webSocketMessages = messages.messages(redaction)
      if let omitted = messages.omitted {
        entry.omittedWebSocketMessages = omitted
        entry.comment? += ": \(omitted) later messages were left out: see HARRecorder.Limits"
      }
    }
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
    // With informational responses, the number includes their heads.
    if let metrics, !hasInformational, metrics.headerBytesReceived > 0 {
      part.headersSize = metrics.headerBytesReceived
    }
    let (bytes, remark) = received.shown(describedBy: response.fields, redaction)
    let type = response.fields[.contentType] ?? ""
    let isUnread = metrics == nil && received.count == 0 && receivedCount != 0
    part.content = HAR.Content(size: 0, mimeType: type)
    if let bytes, !isUnread { part.content = HAR.Content(mimeType: type, bytes: bytes) }
    part.content.size = receivedBytes
    part.content.comment = isUnread ? "the body was not recorded" : remark
    let saved = part.content.size - part.bodySize
    if part.bodySize > 0, saved > 0 { part.content.compression = saved }
    return part
  }
}

extension CappedBytes {
  /// Returns the bytes without secrets, and a remark for the reader. The bytes are nil if they cannot be searched for
  /// secrets.
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

/// The first bytes of a body, and the length of the whole.
struct CappedBytes: Sendable {
  private(set) var bytes = Data()
  private(set) var count: Int64 = 0
  private let limit: Int

  init(limit: Int) { self.limit = limit }

  mutating func append(_ chunk: Data, skipping more: Int = 0) {
    count += Int64(chunk.count + more)
    bytes += chunk.prefix(max(0, limit - bytes.count))
  }

  var isCutOff: Bool { count > bytes.count }

  /// The bytes. If they are text, they end at a character's boundary.
  var readable: Data {
    guard isCutOff else { return bytes }
    for excess in 0..<4 where String(validating: bytes.dropLast(excess), as: UTF8.self) != nil {
      return bytes.dropLast(excess)
    }
    return bytes
  }
}

/// The times of an attempt on the recorder's clock, for transports that do not measure them.
struct HARMarks: Sendable {
  /// When the request reached the network; the transport's measurements begin then.
  var sending: Duration?
  /// When the last byte of the request's body was sent.
  var sent: Duration?
  /// When the response's head was received.
  var head: Duration?
  /// When the attempt ended.
  var end = Duration.zero
}

extension HAR.Timings {
  /// Makes the timings of an attempt, from the transport's measurements if there are any, otherwise from the marks.
  init(_ marks: HARMarks, _ metrics: TransferMetrics?) {
    self.init()
    let sending = marks.sending ?? .zero
    guard let metrics else {
      let head = marks.head ?? marks.end
      let start = min(sending, head)
      if start > .zero { blocked = start.inMilliseconds }
      send = (min(max(marks.sent ?? start, start), head) - start).inMilliseconds
      wait = (head - start).inMilliseconds - send
      receive = max(.zero, marks.end - head).inMilliseconds
      return
    }
    // Phases that a failed attempt did not reach are zero; its last phase lasted until its end.
    let wasSent = metrics.requestStart > .zero || metrics.firstByte > .zero
    let resolved = max(metrics.queued, metrics.nameLookup)
    let connected = max(resolved, metrics.connect, metrics.secureConnect)
    let ready = metrics.reusedConnection ? metrics.queued : wasSent ? connected : metrics.total
    if !metrics.reusedConnection {
      dns = (resolved - metrics.queued).inMilliseconds
      connect = max(.zero, ready - resolved).inMilliseconds
      if metrics.secureConnect > metrics.connect { ssl = (metrics.secureConnect - metrics.connect).inMilliseconds }
    }
    let start = max(metrics.requestStart, ready)
    blocked = (sending + metrics.queued + (start - ready)).inMilliseconds
    let first = max(metrics.firstByte > .zero ? metrics.firstByte : metrics.total, start)
    // The end of the request's body was measured with the recorder's clock, which may differ a little from the
    // transport's.
    let sent = min(max(marks.sent.map { $0 - sending } ?? start, start), first)
    send = (sent - start).inMilliseconds
    wait = (first - sent).inMilliseconds
    receive = max(.zero, metrics.total - first).inMilliseconds
  }
}
