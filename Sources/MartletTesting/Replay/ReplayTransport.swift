public import MartletEngine
public import MartletSemantics
import Synchronization

/// A transport that answers from an HTTP Archive: one that a ``Recording`` wrote, or a browser exported. No network is asked.
///
/// ```swift
/// let replay = try ReplayTransport(file: URL(filePath: "Fixtures/login.har"))
/// let session = HTTPSession(transport: replay)
/// …
/// #expect(replay.unused.isEmpty)
/// ```
///
/// Equal requests get their recorded answers one after another, and then the last one again; ``ReplayMatching`` says what is
/// equal. Where a failure was recorded, it is thrown. A request that was not recorded is an error of kind `.other`, which
/// names the request, the recorded ones that are nearest and what differs, the file, its date and the remedy.
///
/// A body that was recorded in part is played as far as it goes, and ends in an error. Timings are not replayed, and trailers
/// are no part of the format.
public final class ReplayTransport: Transport {
  /// When the newest entry was recorded; nil where no entry says.
  public let recorded: Date?
  private let entries: [Recorded]
  private let name: String
  private let isOwn: Bool
  private let matching: ReplayMatching
  private let redaction: Redaction
  private let now: @Sendable () -> Date
  /// Which entries were given.
  private let used = Mutex<Set<Int>>([])

  private struct Recorded: Sendable {
    let entry: HAR.Entry
    let key: ReplayKey
  }

  /// Makes a transport from an archive.
  ///
  /// - Parameters:
  ///   - har: the recording.
  ///   - name: what errors call it.
  ///   - matching: which requests are the same.
  ///   - redaction: what is scrubbed from requests before they are compared: at least what was scrubbed when they were
  ///     recorded.
  ///   - now: tells the age of the recording.
  public init(
    _ har: HAR, named name: String = "the recording", matching: ReplayMatching = .init(),
    redaction: Redaction = .standard, now: @escaping @Sendable () -> Date = { .now }
  ) {
    entries = har.log.entries
      .filter { URL(string: $0.request.url).flatMap { Origin($0) } != nil }
      .map { Recorded(entry: $0, key: ReplayKey($0.request, matching, redaction)) }
    recorded = har.log.entries.map(\.startedDateTime).max().flatMap { $0 == .distantPast ? nil : $0 }
    self.name = name
    isOwn = har.log.creator.name == "Martlet"
    self.matching = matching
    self.redaction = redaction
    self.now = now
  }

  /// Makes a transport from a file; see ``init(_:named:matching:redaction:now:)``.
  ///
  /// - Throws: `HTTPError` of kind `.file` if the file cannot be read, or is no archive.
  public convenience init(
    file: URL, matching: ReplayMatching = .init(), redaction: Redaction = .standard,
    now: @escaping @Sendable () -> Date = { .now }
  ) throws(HTTPError) {
    let har: HAR
    do { har = try HAR(json: Data(contentsOf: file)) } catch {
      throw HTTPError(
        .file, "'\(file.path)' cannot be read as a recording: \(Recording.remedy)", phase: .preparing,
        underlying: error)
    }
    self.init(har, named: "'\(file.path)'", matching: matching, redaction: redaction, now: now)
  }

  /// The recorded exchanges that nobody has asked for, in order. Entries of a browser that are no http (`data:`) are left out.
  public var unused: [HAR.Entry] {
    let used = used.withLock { $0 }
    return entries.indices.filter { !used.contains($0) }.map { entries[$0].entry }
  }

  /// Whether the recording is older than that. One without a date is.
  public func isOlder(than age: Duration) -> Bool {
    recorded.map { now().timeIntervalSince($0) > Double(age.components.seconds) } ?? true
  }

  /// Answers with what was recorded for an equal request.
  ///
  /// - Throws: the recorded failure; `HTTPError` of kind `.other` where nothing was recorded; what the request's body throws.
  public func send(_ request: HTTPRequest, in exchange: Exchange) async throws -> HTTPResponse {
    let body = try await MockRequest(request, in: exchange) {}.readBody(upTo: .max)
    try Task.checkCancellation()
    var asked = HAR.Request(request.head, redaction: redaction)
    if !body.isEmpty { asked.postData = HAR.PostData(mimeType: request.fields[.contentType] ?? "", bytes: body) }
    let key = ReplayKey(asked, matching, redaction)
    let equal = entries.indices.filter { entries[$0].key.differences(from: key).isEmpty }
    guard let index = take(equal) else {
      let size = body.isEmpty ? "" : " with a body of \(body.count) bytes"
      throw HTTPError(.other, missing(shown(asked) + size, key, answers: equal.count), phase: .preparing)
    }
    return try ReplayAnswer(recorded: entries[index].entry.response, isOwn: isOwn, source: source)
      .response(to: request)
  }

  private func take(_ equal: [Int]) -> Int? {
    used.withLock { used in
      guard let index = equal.first(where: { !used.contains($0) }) else {
        return matching.repeatsLastAnswer ? equal.last : nil
      }
      used.insert(index)
      return index
    }
  }

  private func missing(_ request: String, _ key: ReplayKey, answers: Int) -> String {
    guard answers == 0 else {
      return "\(source) has \(answers) answers for \(request), and all were given: \(Recording.remedy), "
        + "or set ReplayMatching.repeatsLastAnswer"
    }
    let nearest = entries.sorted { $0.key.distance(from: key) < $1.key.distance(from: key) }.prefix(3).map { near in
      "\(shown(near.entry.request)) (\(near.key.differences(from: key).joined(separator: ", ")) differs)"
    }
    return "\(source) has no answer for \(request); "
      + (nearest.isEmpty ? "it is empty" : "nearest are \(nearest.joined(separator: "; "))") + ": \(Recording.remedy)"
  }

  /// Errors show no secret, be it in the recording.
  private func shown(_ request: HAR.Request) -> String {
    "\(request.method) \(Redaction.standard.redacted(reference: redaction.redacted(reference: request.url)))"
  }

  /// The recording and its age.
  private var source: String {
    guard let recorded else { return "\(name), recorded nobody knows when," }
    let days = Int(max(0, now().timeIntervalSince(recorded)) / 86_400)
    return "\(name), recorded on \(Timestamp.format(recorded).prefix(10)) (\(days) days ago),"
  }
}
