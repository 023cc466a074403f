@_spi(Toolkit) @_spi(Transports) public import MartletEngine
@_spi(Toolkit) public import MartletObservation
@_spi(Toolkit) @_spi(Transports) public import MartletSemantics
import Synchronization

/// A transport that answers from an HTTP Archive, written by a ``Recording`` or exported by a browser, without the
/// network.
///
/// ```swift
/// let replay = try ReplayTransport(file: URL(filePath: "Fixtures/login.har"))
/// let session = HTTPSession(transport: replay)
/// …
/// #expect(replay.unused.isEmpty)
/// ```
///
/// Equal requests get their recorded responses one after another, and then the last one again; ``ReplayMatching``
/// defines which requests are equal. A recorded failure is thrown. A request that was not recorded is an error of kind
/// `.other`. It names the request, the most similar recorded requests and the differences, the file, its date and the
/// remedy.
///
/// A recorded WebSocket sends its messages in the recorded order, and waits for the program's in between. A message of
/// the program that differs from the recorded one, after redaction, ends it with an error.
///
/// A partly recorded body or WebSocket is replayed up to that point, and ends with an error. Timings are not replayed,
/// and trailers are not part of the format.
public final class ReplayTransport: Transport {
  /// The date of the newest entry; nil if no entry has one.
  public let recorded: Date?
  private let entries: [Recorded]
  private let name: String
  private let isOwn: Bool
  private let matching: ReplayMatching
  private let redaction: Redaction
  private let now: @Sendable () -> Date
  /// The indices of the entries that were replayed.
  private let used = Mutex<Set<Int>>([])

  private struct Recorded: Sendable {
    let entry: HAR.Entry
    let key: ReplayKey
  }

  /// Makes a transport from an archive.
  ///
  /// - Parameters:
  ///   - har: the recording.
  ///   - name: its name in errors.
  ///   - matching: which requests count as equal.
  ///   - redaction: what is redacted from requests before they are compared; it must include everything that was
  ///     redacted during the recording.
  ///   - now: returns the current date, for the recording's age.
  public init(
    _ har: HAR, named name: String = "the recording", matching: ReplayMatching = .init(),
    redaction: Redaction = .standard, now: @escaping @Sendable () -> Date = { .now }
  ) {
    entries = har.log.entries
      .filter { URL(text: $0.request.url).flatMap { Origin($0) } != nil }
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
  /// - Throws: `HTTPError` of kind `.file` if the file cannot be read, or is not an HTTP Archive.
  public convenience init(
    file: URL, matching: ReplayMatching = .init(), redaction: Redaction = .standard,
    now: @escaping @Sendable () -> Date = { .now }
  ) throws(HTTPError) {
    let har: HAR
    do { har = try HAR(json: SpareDescriptors.contents(of: file)) } catch {
      throw HTTPError(
        .file, "'\(file.path)' cannot be read as a recording: \(Recording.remedy)", phase: .preparing,
        underlying: error)
    }
    self.init(har, named: "'\(file.path)'", matching: matching, redaction: redaction, now: now)
  }

  /// The entries that no request has used yet, in order. Entries of a browser with another scheme (`data:`) are
  /// omitted.
  public var unused: [HAR.Entry] {
    let used = used.withLock { $0 }
    return entries.indices.filter { !used.contains($0) }.map { entries[$0].entry }
  }

  /// Whether the recording is older than `age`; true if it has no date.
  public func isOlder(than age: Duration) -> Bool {
    recorded.map { now().timeIntervalSince($0) > Double(age.components.seconds) } ?? true
  }

  /// Answers with the response that was recorded for an equal request.
  ///
  /// - Throws: the recorded failure; `HTTPError` of kind `.other` if nothing was recorded; the error of reading the
  ///   request's body.
  public func send(_ request: HTTPRequest, in call: Call) async throws -> HTTPResponse {
    let body = try await MockRequest(request, in: call) {}.readBody(upTo: .max)
    try Task.checkCancellation()
    var entry = HAR.Request(request.head, redaction: redaction)
    if !body.isEmpty { entry.postData = HAR.PostData(mimeType: request.fields[.contentType] ?? "", bytes: body) }
    let key = ReplayKey(entry, matching, redaction)
    let equal = entries.indices.filter { entries[$0].key.differences(from: key).isEmpty }
    guard let index = take(equal) else {
      let size = body.isEmpty ? "" : " with a body of \(body.count) bytes"
      throw HTTPError(.other, missing(shown(entry) + size, key, answers: equal.count), phase: .preparing)
    }
    let recorded = entries[index].entry
    var response = try RecordedResponse(recorded: recorded.response, isOwn: isOwn, source: source)
      .response(to: request)
    if request.fields.contains(.upgrade), let messages = recorded.webSocketMessages {
      let conversation = RecordedConversation(
        messages: messages, omitted: recorded.omittedWebSocketMessages ?? 0, error: recorded.response.error,
        redaction: redaction, source: source)
      response.head.fields.remove(.secWebSocketExtensions)  // Messages are recorded decompressed.
      response.messages = MockChannel(in: call) { try await conversation.serve($0) }
    }
    return response
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
      return "\(source) has \(answers) responses for \(request), and all were used: \(Recording.remedy), "
        + "or set ReplayMatching.repeatsLastAnswer"
    }
    let nearest = entries.sorted { $0.key.distance(from: key) < $1.key.distance(from: key) }.prefix(3).map { near in
      "\(shown(near.entry.request)) (\(near.key.differences(from: key).joined(separator: ", ")) differs)"
    }
    return "\(source) has no response for \(request); "
      + (nearest.isEmpty ? "it is empty" : "most similar are \(nearest.joined(separator: "; "))")
      + ": \(Recording.remedy)"
  }

  /// The method and URL for errors, redacted even if the recording is not.
  private func shown(_ request: HAR.Request) -> String {
    "\(request.method) \(Redaction.standard.redacted(reference: redaction.redacted(reference: request.url)))"
  }

  /// The recording's name and age, for errors.
  private var source: String {
    guard let recorded else { return "\(name), recorded at an unknown date," }
    let days = Int(max(0, now().timeIntervalSince(recorded)) / 86_400)
    return "\(name), recorded on \(Timestamp.format(recorded).prefix(10)) (\(days) days ago),"
  }
}

/// Makes a transport's response from a recorded one.
struct RecordedResponse: Sendable {
  let recorded: HAR.Response
  /// Whether Martlet wrote the recording: then `Content-Encoding` means that the body is encoded, and a comment on a
  /// body means that it is incomplete. In other recordings the body is decoded, whatever the fields say.
  let isOwn: Bool
  /// The recording's name and age, for errors.
  let source: String

  /// - Throws: the recorded failure, if there was no response.
  func response(to request: HTTPRequest) throws(HTTPError) -> HTTPResponse {
    guard (100...999).contains(recorded.status) else { throw failure ?? incomplete("there was no response") }
    let status = HTTPStatus(Int(recorded.status))
    var fields = fields
    guard BodyFraming.hasBody(status: status.code, answering: request.method) else {
      return response(to: request, status, fields, body: .empty)
    }
    let bytes = recorded.content.bytes ?? Data()
    if let error = ending {
      return response(to: request, status, fields, body: ResponseBody(from: InterruptedBody(bytes, then: error)))
    }
    if fields.contains(.contentLength) { fields[.contentLength] = "\(bytes.count)" }
    return response(to: request, status, fields, body: ResponseBody(bytes))
  }

  private func response(
    to request: HTTPRequest, _ status: HTTPStatus, _ fields: HTTPFields, body: ResponseBody
  ) -> HTTPResponse {
    var head = ResponseHead(status: status, fields: fields, version: HTTPVersion(recorded: recorded.httpVersion))
    // Only HTTP/1 has phrases; browsers record an empty one for other versions.
    let hasPhrase = head.version.map { $0 < .http2 } ?? false
    if hasPhrase || !recorded.statusText.isEmpty { head.reason = recorded.statusText }
    return HTTPResponse(url: request.url, networkHead: head, body: body)
  }

  /// The fields that describe the body in its replayed form.
  private var fields: HTTPFields {
    var fields = HTTPFields()
    for header in recorded.headers {
      // `:status` is not a field, and some browsers write all lines of Set-Cookie as one value with line breaks.
      guard let name = try? FieldName(header.name) else { continue }
      // CR LF is one character, which differs from LF, but two scalars.
      let lines = header.value.unicodeScalars.split { $0 == "\n" || $0 == "\r" }
      for line in lines { fields.appendReceived(name, String(line)) }
      if header.value.isEmpty { fields.appendReceived(name, "") }
    }
    if !isOwn { fields.remove(.contentEncoding) }
    if !fields.contains(.location), !recorded.redirectURL.isEmpty { fields[.location] = recorded.redirectURL }
    return fields
  }

  /// The error at the end of an incomplete body.
  private var ending: HTTPError? {
    if let failure, failure.kind != .cancelled { return failure }
    let content = recorded.content
    if failure != nil { return incomplete("it was read no further when it was recorded") }
    if isOwn, let comment = content.comment { return incomplete(comment) }
    if content.text != nil { return content.bytes == nil ? incomplete("invalid base64") : nil }
    return content.size > 0 ? incomplete("left out: \(content.size) bytes") : nil
  }

  private func incomplete(_ why: String) -> HTTPError {
    HTTPError(.other, "\(source) has an incomplete response body (\(why)): record it again", phase: .receiving)
  }

  /// The recorded failure, as an error of the same kind.
  private var failure: HTTPError? {
    guard let text = recorded.error, !text.isEmpty else { return nil }
    guard isOwn, let colon = text.firstRange(of: ": ") else { return HTTPError(.other, "\(text), as recorded") }
    let kind = HTTPError.Kind(name: String(text[..<colon.lowerBound])) ?? .other
    return HTTPError(kind, "\(text[colon.upperBound...]), as recorded")
  }
}

extension HTTPVersion {
  /// Parses a version in common spellings: `HTTP/2`, `http/2.0`, `h2`.
  fileprivate init?(recorded text: String) {
    switch ASCII.lowercased(text) {
    case "http/1.0": self = .http1_0
    case "http/1.1": self = .http1_1
    case "http/2", "http/2.0", "h2": self = .http2
    case "http/3", "http/3.0", "h3": self = .http3
    default: return nil
    }
  }
}

/// A body that ends with an error.
private final class InterruptedBody: BodySource {
  private let rest: Mutex<Data>
  private let error: HTTPError

  init(_ bytes: Data, then error: HTTPError) {
    rest = Mutex(bytes)
    self.error = error
  }

  func next() async throws -> Data? {
    let bytes = rest.withLock { rest in
      defer { rest = Data() }
      return rest
    }
    guard bytes.isEmpty else { return bytes }
    throw error
  }
}
