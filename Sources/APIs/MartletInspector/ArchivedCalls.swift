package import MartletEngine
package import MartletObservation
import MartletSemantics

extension Inspector {
  /// Starts an inspector that shows an archive. Its options' limits of calls and bytes do not apply.
  package convenience init(showing archive: HAR, _ options: Options = .init()) throws(HTTPError) {
    var options = options
    options.callLimit = max(1, archive.log.entries.count)
    let log = CallLog(options)
    for call in ArchivedCalls(archive, log).calls { log.add { call } }
    try self.init(options, log: log, isLive: false)
  }
}

/// The calls of an archive. Entries whose comments name the same call, as ours do, are its attempts; every other entry
/// is a call.
struct ArchivedCalls {
  let calls: [RecordedCall]

  init(_ archive: HAR, _ log: CallLog) {
    let entries = archive.log.entries.sorted { $0.startedDateTime < $1.startedDateTime }
    let began = entries.first?.startedDateTime ?? .distantPast
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
    calls = groups.enumerated().compactMap { index, entries in
      Self.call(UInt64(index + 1), entries, since: began, log)
    }
  }

  /// `call 7` in the comment `call 7, attempt 2: …`.
  private static func call(in comment: String?) -> Substring? {
    guard let comment, let match = comment.prefixMatch(of: /call \d+(?=, attempt \d+)/) else { return nil }
    return match.output
  }

  private static func call(
    _ id: UInt64, _ entries: [HAR.Entry], since began: Date, _ log: CallLog
  ) -> RecordedCall? {
    guard let first = entries.first, let url = URL(text: first.request.url), let last = entries.last else {
      return nil
    }
    let attempts = entries.map { entry in
      RecordedCall.Attempt(
        archived: RecordedCall.ArchivedEntry(entry.redacted(log.redaction)), start: entry.start(since: began))
    }
    var request = HTTPRequest(HTTPMethod(rawValue: first.request.method) ?? .get, url)
    for field in first.request.headers {
      guard let name = try? FieldName(field.name) else { continue }
      request.fields.append(field.value, for: name)
    }
    let end = last.start(since: began) + .milliseconds(max(0, last.time))
    let error = last.response.error.map { HTTPError(.other, $0) }
    return RecordedCall(id, request, attempts, end: (end, error), log.revisions)
  }
}

extension HAR.Entry {
  fileprivate func start(since began: Date) -> Duration { .seconds(startedDateTime.timeIntervalSince(began)) }
}
