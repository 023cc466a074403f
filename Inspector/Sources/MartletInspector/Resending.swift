@_spi(Toolkit) import MartletEngine
@_spi(Toolkit) import MartletSemantics
import Synchronization

/// What it takes to send a recorded call again: the request as its caller made it, and its session.
struct Repetition: Sendable {
  /// The request, without a body that is not kept.
  let request: HTTPRequest
  /// Why it cannot be sent again; nil if it can.
  let obstacle: String?
  /// The number of bytes that it holds.
  let memory: Int
  private let weakSession: WeakSession

  init(of request: HTTPRequest, in session: WeakSession, bodyLimit: Int) {
    weakSession = session
    obstacle = Self.obstacle(to: request, bodyLimit)
    memory = obstacle == nil ? request.body.bytes?.count ?? 0 : 0
    var kept = request
    if obstacle != nil { kept.body = .empty }
    self.request = kept
  }

  /// The session that made the call; nil if the program no longer has it.
  var session: HTTPSession? { weakSession.session }

  private static func obstacle(to request: HTTPRequest, _ bodyLimit: Int) -> String? {
    let scheme = ASCII.lowercased(request.url.scheme ?? "")
    if request.fields.contains(.upgrade) || scheme == "ws" || scheme == "wss" { return "it opens a WebSocket" }
    if request.body.bytes == nil, request.body.file == nil { return "its body is a stream, which is not kept" }
    if let bytes = request.body.bytes, bytes.count > bodyLimit {
      return "its body is longer than \(Quantity.text(Int64(bodyLimit))), the limit of the inspector"
    }
    return nil
  }
}

/// Sends requests again, a few at a time, and cancels them when the inspector is closed.
final class Resender: Sendable {
  /// The maximum number of requests in progress: a page that sends without end must not fill the program.
  static let limit = 16
  private let state = Mutex(State())

  private struct State: Sendable {
    /// The requests in progress; nil for one whose task is being made.
    var tasks: [Int: Task<Void, Never>?] = [:]
    var last = 0
    var isClosed = false
  }

  /// Begins to send a request, and discards the response. Returns false if too many are in progress.
  func send(_ request: HTTPRequest, through session: HTTPSession) -> Bool {
    let number = state.withLock { state -> Int? in
      guard !state.isClosed, state.tasks.count < Self.limit else { return nil }
      state.last += 1
      state.tasks[state.last] = .some(nil)
      return state.last
    }
    guard let number else { return false }
    let task = Task { @concurrent in
      // A failure is shown as that of any other call.
      if let (body, _) = try? await session.bytes(for: request) {
        do { for try await _ in body {} } catch {}
      }
      state.withLock { _ = $0.tasks.removeValue(forKey: number) }
    }
    let isClosed = state.withLock { state in
      if state.tasks[number] != nil { state.tasks[number] = task }
      return state.isClosed
    }
    if isClosed { task.cancel() }
    return true
  }

  /// Cancels the requests in progress.
  func close() {
    let tasks = state.withLock { state in
      state.isClosed = true
      return state.tasks.values.compactMap(\.self)
    }
    tasks.forEach { $0.cancel() }
  }
}

/// A request that the page shows for editing, without secrets, or that it wants to send.
struct EditedRequest: Codable {
  var method: String
  var url: String
  /// Names and values.
  var fields: [[String]]
  /// The text of the body; nil if the body is to be sent as it was, because it is no text.
  var body: String?

  /// Why a request cannot be sent, for the user of the page.
  struct Refusal: Error { let reason: String }

  init(_ request: HTTPRequest, _ redaction: Redaction) {
    let request = request.addingBodyFields()
    method = request.method.rawValue
    url = redaction.redacted(request.url)
    fields = redaction.redacted(request.fields).map { [$0.name.rawName, $0.value] }
    body = Self.text(of: request, redaction)
  }

  private static func text(of request: HTTPRequest, _ redaction: Redaction) -> String? {
    guard let bytes = request.body.bytes, redaction.canSearch(request.fields), !bytes.contains(0) else {
      return nil
    }
    return String(validating: redaction.redacted(bytes, type: request.fields.mediaType), as: UTF8.self)
  }

  /// Returns the request with the changes of the page. Hidden values that were not changed are taken from the original,
  /// unless the request now goes to another origin.
  func applied(to original: HTTPRequest, _ redaction: Redaction) throws(Refusal) -> HTTPRequest {
    let shown = EditedRequest(original, redaction)
    var request = original.addingBodyFields()
    request.body.fields = [:]  // Fields that were removed must not be added again.
    guard let method = HTTPMethod(rawValue: method) else { throw Refusal(reason: "'\(method)' is no method") }
    request.method = method
    if url != shown.url { request.url = try changedURL(original, redaction) }
    request.fields = try changedFields(request, keepsSecrets: request.origin == original.origin, redaction)
    guard let body, body != shown.body else {
      if request.origin != original.origin, shown.body?.contains(redaction.placeholder) == true {
        throw Refusal(reason: "the body has hidden values, which are not sent to another origin: replace them")
      }
      return request
    }
    if body.contains(redaction.placeholder), shown.body?.contains(redaction.placeholder) == true {
      throw Refusal(reason: "the body was changed, and still has hidden values: replace \(redaction.placeholder) in it")
    }
    request.body = .data(Data(body.utf8))
    return request
  }

  /// The URL with the original values of the parameters that are hidden, in their order.
  private func changedURL(_ original: HTTPRequest, _ redaction: Redaction) throws(Refusal) -> URL {
    guard let url = URL(text: url), ["http", "https"].contains(ASCII.lowercased(url.scheme ?? "")) else {
      throw Refusal(reason: "the URL is not valid: write http:// or https://, a host and a path")
    }
    guard !redaction.hidesNothing, self.url.contains(redaction.placeholder) else { return url }
    guard HTTPRequest(.get, url).origin == original.origin else {
      throw Refusal(reason: "hidden values of the URL are not sent to another origin: replace them")
    }
    var hidden = Self.parameters(original.url.absoluteString)
    let parts = self.url.split(separator: "&", omittingEmptySubsequences: false).map { part in
      guard part.hasSuffix("=" + redaction.placeholder) else { return String(part) }
      let name = part.dropLast(redaction.placeholder.count)
      let key = name.lastIndex(of: "?").map { name[name.index(after: $0)...] } ?? name
      guard let index = hidden.firstIndex(where: { $0.hasPrefix(key) }) else { return String(part) }
      return String(name) + hidden.remove(at: index).dropFirst(key.count)
    }
    guard let restored = URL(text: parts.joined(separator: "&")),
      !restored.absoluteString.contains(redaction.placeholder)
    else { throw Refusal(reason: "the URL still has hidden values: replace \(redaction.placeholder) in it") }
    return restored
  }

  /// The parts of a URL's query, such as `token=1`.
  private static func parameters(_ url: String) -> [Substring] {
    let query = url.prefix { $0 != "#" }.split(separator: "?", maxSplits: 1).dropFirst().first ?? ""
    return query.split(separator: "&")
  }

  private func changedFields(
    _ original: HTTPRequest, keepsSecrets: Bool, _ redaction: Redaction
  ) throws(Refusal) -> HTTPFields {
    var rest = original.fields.map { ($0.name, $0.value) }
    var changed = HTTPFields()
    for field in fields where field.count == 2 && !field[0].isEmpty {
      guard let name = try? FieldName(field[0]) else { throw Refusal(reason: "'\(field[0])' is no name of a field") }
      if [.contentLength, .transferEncoding].contains(name) { continue }  // They belong to the body.
      let index = rest.firstIndex { $0 == name && redaction.redacted($1, of: name) == field[1] }
      let value = index.map { rest.remove(at: $0).1 } ?? field[1]
      let isHidden = !redaction.hidesNothing && (value != field[1] || value.contains(redaction.placeholder))
      guard !isHidden || index != nil && keepsSecrets else {
        throw Refusal(reason: "\(name) has a hidden value, which is not sent to another origin or changed: replace it")
      }
      changed.append(value, for: name)
    }
    return changed
  }
}
