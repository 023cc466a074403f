@_spi(Toolkit) import MartletEngine
@_spi(Toolkit) import MartletObservation
@_spi(Toolkit) import MartletSemantics

/// The details of a call that the page shows: its events in words, and every attempt as an entry of an archive.
struct CallDetails: Encodable {
  /// Something that happened.
  struct Line: Encodable {
    /// In milliseconds since the call began.
    let time: Double
    let text: String
    /// The section of an RFC that decides it.
    let rule: String?
    /// `bad` for failures, `notice` for what needs attention.
    let style: String?
  }

  struct Attempt: Encodable {
    /// Without the texts of bodies, which the page asks for.
    let entry: HAR.Entry
    let bars: [Waterfall.Bar]
    /// Marks beside the hidden fields of the entry's heads.
    let fingerprints: Fingerprints
    /// The content codings that were decoded in the response's body; nil if it had none.
    let decoded: String?
    /// Whether its request was sent over the network.
    let wasSent: Bool
    /// The connection in words; nil if none was used.
    let connection: String?
    /// The numbers of bytes that are kept of the request's and the response's body.
    let sent: Int
    let received: Int
  }

  let summary: CallRow
  let lines: [Line]
  let attempts: [Attempt]
  /// The request for other tools: `curl`, `martlet`, `Swift`.
  let copies: [String: String]
  /// The secrets that the copies omit.
  let omissions: RequestCopies.Omissions
  /// Whether the page may send it again.
  let maySend: Bool
  /// Why it cannot be sent again; nil if it can.
  let obstacle: String?

  init(_ call: RecordedCall, _ log: CallLog) {
    let content = call.snapshot
    let made = content.attempts(of: call, log)
    summary = CallRow(call, content, made, log)
    attempts = made.compactMap { attempt in
      guard let entry = attempt.entry(log.redaction) else { return nil }
      let bodies = (entry.request.postData?.bytes, entry.response.content.bytes)
      return Attempt(
        entry: entry.withoutBodies, bars: attempt.bars,
        fingerprints: Fingerprints(attempt.live, log.redaction),
        decoded: attempt.codings.isEmpty ? nil : attempt.codings.joined(separator: ", ").printable,
        wasSent: attempt.live?.wasSent ?? true,
        connection: attempt.connection, sent: bodies.0?.count ?? 0, received: bodies.1?.count ?? 0)
    }
    var words = CallWords(call.start, log.redaction, failure: content.error?.phase)
    lines = content.events.flatMap { words.lines(of: $0.event, at: $0.time) } + Self.reasons(made, call)
    var request = call.request
    let sent = made.first?.entry(log.redaction)?.request
    if let data = sent?.postData {
      if !request.fields.contains(.contentType), !data.mimeType.isEmpty { request.fields[.contentType] = data.mimeType }
      // A body that was cut off is not copied.
      if data.comment == nil, let body = data.bytes { request.body = .data(body) }
    }
    copies = RequestCopies.all(of: request, log.redaction)
    omissions = RequestCopies.Omissions(
      request, sentWith: made.first?.live?.request.fields ?? [:], body: sent?.missingBody, log.redaction)
    maySend = call.repetition != nil
    obstacle = call.repetition?.obstacle
  }

  /// Returns the reasons that an archive gives for attempts that were not the last.
  private static func reasons(_ attempts: [RecordedCall.Attempt], _ call: RecordedCall) -> [Line] {
    attempts.compactMap { attempt in
      guard let entry = attempt.archived?.entry else { return nil }
      let time = (attempt.start - call.start).inMilliseconds
      if let error = entry.response.error { return Line(time: time, text: error.printable, rule: nil, style: "bad") }
      return entry.remark.map { Line(time: time, text: $0, rule: nil, style: nil) }
    }
  }
}

/// Short marks of the hidden fields of an attempt's heads, which show whether two hidden values are equal.
///
/// They are the beginning of a hash with a key that only this process has. Without the key, values cannot be tried
/// against a mark, and 16 bits do not lead back to one.
struct Fingerprints: Encodable {
  /// The mark of each field in its order; nil for one that is not hidden.
  let request: [String?]
  let response: [String?]

  /// Makes the marks of an attempt; nil stands for an archive, which has no hidden values.
  init(_ attempt: HARAttempt?, _ redaction: Redaction) {
    request = Self.marks(attempt?.request.fields, redaction)
    response = Self.marks(attempt?.response?.fields, redaction)
  }

  private static let key = InspectorKey()

  private static func marks(_ fields: HTTPFields?, _ redaction: Redaction) -> [String?] {
    fields?.map { name, value in redaction.hides(name) ? mark(of: value) : nil } ?? []
  }

  private static func mark(of value: String) -> String? {
    guard let hash = MessageDigest.hash(.sha256, Data((key.text + value).utf8)) else { return nil }
    return hash.prefix(2).hexadecimal
  }
}

extension HAR.Request {
  /// Why the recording has no complete body; nil if it has one, or the request had none.
  fileprivate var missingBody: String? {
    postData.map { $0.comment } ?? (bodySize > 0 ? "it was not kept" : nil)
  }
}

extension HAR.Entry {
  fileprivate var withoutBodies: HAR.Entry {
    var copy = self
    copy.request.postData?.text = nil
    copy.request.postData?.params = nil
    copy.response.content.text = nil
    return copy
  }
}

extension RecordedCall.Attempt {
  fileprivate var connection: String? {
    guard let metrics = live?.metrics, let address = metrics.remoteAddress else {
      return archived?.entry.serverIPAddress
    }
    let port = metrics.remotePort.map { " port \($0)" } ?? ""
    let local = metrics.localPort.map { ", from port \($0)" } ?? ""
    let security = metrics.secureConnect > .zero ? ", TLS handshake" : ""
    return "\(metrics.reusedConnection ? "reused" : "new"): \(address)\(port)\(local)\(security)"
  }
}

/// Describes the events of a call in words.
private struct CallWords {
  private let start: Duration
  private let redaction: Redaction
  /// The phase in which the call failed.
  private let failure: HTTPError.Phase?
  private var prepared: RequestHead?

  init(_ start: Duration, _ redaction: Redaction, failure: HTTPError.Phase?) {
    (self.start, self.redaction, self.failure) = (start, redaction, failure)
  }

  mutating func lines(of event: Event, at time: Duration) -> [CallDetails.Line] {
    let milliseconds = (time - start).inMilliseconds
    return words(of: event, at: time).map { text, rule, style in
      CallDetails.Line(time: milliseconds, text: text.printable, rule: rule, style: style)
    }
  }

  private typealias Words = (text: String, rule: String?, style: String?)

  private mutating func words(of event: Event, at time: Duration) -> [Words] {
    switch event {
    case .started(let request): return [("\(request.method) \(redaction.redacted(request.url))", nil, nil)]
    case .attempt(let number, let request):
      prepared = request.head
      if number > 1 { return [(EventWords.attempt(number, request, redaction), nil, nil)] }
      let preparation = time - start
      return preparation < .milliseconds(1)
        ? []
        : [("the first attempt begins, after \(Quantity.text(preparation)) in the session's interceptors", nil, nil)]
    case .sending(let head): return EventWords.additions(to: prepared, head).map { ($0, nil, nil) }
    case .written(let head):
      return [("sent \(head.method) \(redaction.redacted(reference: head.target)) \(head.version)", nil, nil)]
    case .informational(let head): return [("informational response: \(head.statusText)", "RFC 9110 §15.2", nil)]
    case .response(let head, _):
      return [("response: \(head.statusText)", nil, head.status.code >= 400 ? "bad" : nil)]
        + EventWords.offers(of: head).map { ($0, "RFC 7838", nil) }
        + Self.announcements(of: head)
    case .metrics(let metrics):
      let phases = Phases(metrics, failedWhile: failure).texts
      return [("times: " + phases.joined(separator: ", "), nil, nil)]
    case .cookieRefused: return [("\(event)", "RFC 6265bis §5.7", "notice")]
    case .cookiesStored: return [("\(event)", "RFC 6265bis §5.7", nil)]
    case .cacheDecision(let decision): return [(decision.words, decision.rule, nil)]
    case .cached(let source): return [("\(event)", EventWords.rule(for: source), nil)]
    case .resend, .limit, .note: return [("\(event)", nil, "notice")]
    case .progress, .bytes, .message: return []
    case .finished(let error): return [ending(error)]
    @unknown default: return [("\(event)", nil, nil)]
    }
  }

  /// What the server says about the end of the resource, and what caches and proxies on the way say.
  private static func announcements(of head: ResponseHead) -> [Words] {
    let fields = head.fields
    var words: [Words] = []
    if let notice = fields.deprecationNotice() {
      words.append(("the server announces: \(notice)", "RFC 9745, RFC 8594", "notice"))
    }
    words += fields.cacheStatuses.map { ("the cache \($0)", "RFC 9211", nil) }
    words += fields.proxyStatuses.map { ("the proxy \($0)", "RFC 9209", $0.error == nil ? nil : "notice") }
    if let priority = fields.priority { words.append(("the response has \(priority)", "RFC 9218", nil)) }
    return words
  }

  private func ending(_ error: HTTPError?) -> Words {
    guard let error else { return ("complete", nil, nil) }
    if error.isCancelled { return ("ended: \(error.message)", nil, "notice") }
    return ("failed\(error.phase.map { " " + Self.words(for: $0) } ?? ""): \(error.message)", nil, "bad")
  }

  private static func words(for phase: HTTPError.Phase) -> String {
    switch phase {
    case .queued: "in the queue"
    case .resolving: "while the name was looked up"
    case .securing: "during the TLS handshake"
    case .preparing, .connecting, .sending, .waiting, .receiving: "while \(phase.rawValue)"
    @unknown default: "while \(phase.rawValue)"
    }
  }
}
