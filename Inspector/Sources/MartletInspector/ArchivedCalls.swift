public import MartletEngine
@_spi(Toolkit) public import MartletObservation
@_spi(Toolkit) import MartletSemantics

extension Inspector {
  /// Starts an inspector that shows an archive. Its options' limits of calls and bytes do not apply, nor does their
  /// file.
  @_spi(Toolkit) public convenience init(showing archive: HAR, _ options: Options = .init()) throws(HTTPError) {
    var options = options
    options.callLimit = max(1, archive.log.entries.count)
    options.byteLimit = .max
    options.file = nil
    let log = try CallLog(options)
    let entries = archive.log.entries.sorted { $0.startedDateTime < $1.startedDateTime }
    // A date that cannot be read is in the distant past: such a call counts as one at the beginning.
    let began = entries.first { $0.startedDateTime > .distantPast }?.startedDateTime ?? .distantPast
    for (index, entries) in ArchivedCall.groups(of: entries).enumerated() {
      guard let call = ArchivedCall(entries, since: began, log.redaction) else { continue }
      log.add { RecordedCall(UInt64(index + 1), call, log.revisions) }
    }
    try self.init(options, log: log, isLive: false)
  }
}

/// A call of an archive, as the log keeps it.
struct ArchivedCall {
  var label: String?
  let request: HTTPRequest
  let attempts: [RecordedCall.Attempt]
  /// When it ended, since the log began.
  let end: Duration
  let error: HTTPError?
  /// The number of bytes that count towards the log's limit.
  var bytes = 0

  /// Makes a call of its attempts; nil if they have no valid URL.
  ///
  /// - Parameter began: when the log began.
  init?(_ entries: [HAR.Entry], since began: Date, _ redaction: Redaction) {
    guard let first = entries.first, let url = URL(text: first.request.url), let last = entries.last else {
      return nil
    }
    attempts = entries.map { entry in
      RecordedCall.Attempt(
        archived: RecordedCall.ArchivedEntry(entry.redacted(redaction)), start: entry.start(since: began),
        reason: entry.remark)
    }
    request = Self.request(first.request, url)
    end = last.start(since: began) + .milliseconds(max(0, last.time))
    error = last.response.error.map { HTTPError(.other, $0) }
  }

  /// Returns entries in groups: those whose comments name the same call, as ours do, are its attempts; every other
  /// entry is a call.
  static func groups(of entries: [HAR.Entry]) -> [[HAR.Entry]] {
    var groups: [[HAR.Entry]] = []
    var places: [Substring: Int] = [:]
    for entry in entries {
      let name = Self.call(in: entry.comment)
      if let name, let place = places[name] {
        groups[place].append(entry)
      } else {
        if let name { places[name] = groups.count }
        groups.append([entry])
      }
    }
    return groups
  }

  /// `call 7` in the comment `call 7, attempt 2: …`.
  private static func call(in comment: String?) -> Substring? {
    guard let comment, let match = comment.prefixMatch(of: /call \d+(?=, attempt \d+)/) else { return nil }
    return match.output
  }

  /// The request without the fields that belong to its connection: a client that sends it again makes them itself. An
  /// archive has the codings that its client could decode, not the codings that its caller wanted.
  private static func request(_ archived: HAR.Request, _ url: URL) -> HTTPRequest {
    var request = HTTPRequest(HTTPMethod(rawValue: archived.method) ?? .get, url)
    for field in archived.headers {
      guard let name = try? FieldName(field.name), !ofConnection.contains(name) else { continue }
      if name == .host, ASCII.equalIgnoringCase(field.value, request.origin?.authority ?? "") { continue }
      if name == .acceptEncoding, !ASCII.equalIgnoringCase(field.value, "identity") { continue }
      request.fields.append(field.value, for: name)
    }
    return request
  }

  private static let ofConnection: Set<FieldName> = [
    .contentLength, .transferEncoding, .connection, "Keep-Alive", "Proxy-Connection",
  ]
}

extension HAR.Entry {
  /// What the comment says about the attempt, without the numbers of our archives; nil if it says nothing.
  var remark: String? {
    let text = comment?.replacing(/^call \d+, attempt \d+(: )?/, with: "").printable ?? ""
    return text.isEmpty ? nil : text
  }

  fileprivate func start(since began: Date) -> Duration {
    startedDateTime > .distantPast ? .seconds(startedDateTime.timeIntervalSince(began)) : .zero
  }
}
