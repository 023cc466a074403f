import MartletEngine
import MartletSemantics
@_spi(Toolkit) import MartletURLSession

// Translates between Foundation's requests and responses and the engine's. Foundation's fields are a dictionary, the
// engine's are ordered lines: lines that an observer did not change stay exactly the same.

// MARK: - Requests

extension HTTPRequest {
  /// - Parameter body: the task's own body; nil for that of the request.
  init(_ original: URLRequest, body: RequestBody?, of session: SAPURLSession) throws {
    guard let url = original.url else { throw SAPURLSessionError.invalidRequest }
    self.init(
      try Self.method(of: original), url, fields: original.fields,
      body: body ?? original.httpBody.map { .data($0) } ?? .empty, options: session.options(for: original))
  }

  /// Applies the changes that a handler made to the request that it received.
  ///
  /// - Parameter task: the task, to which the body belongs.
  mutating func apply(_ changed: URLRequest, insteadOf shown: URLRequest, of task: SAPURLSessionTask) throws {
    guard let url = changed.url else { throw SAPURLSessionError.invalidRequest }
    if url != shown.url { self.url = url }
    let new = changed.fields
    if let refusal = new.refusal { throw refusal }
    let hadContent = method.mayHaveContent
    method = try Self.method(of: changed)
    fields.applyChanges(from: shown.fields, to: new)
    if let given = try task.bodyGiven(by: changed, insteadOf: shown) {
      body = given
    } else if method.mayHaveContent != hadContent {
      body = hadContent ? .empty : task.mutable.withLock { $0.body } ?? .empty
    }
    if changed.timeoutInterval != shown.timeoutInterval || changed.cachePolicy != shown.cachePolicy
      || changed.httpShouldHandleCookies != shown.httpShouldHandleCookies
    {
      options.apply(changed, task.session.foundationConfiguration)
    }
  }

  private static func method(of request: URLRequest) throws(SAPURLSessionError) -> HTTPMethod {
    guard let method = HTTPMethod(rawValue: request.httpMethod ?? "GET") else { throw .unexpectedHTTPMethod }
    return method
  }
}

extension HTTPMethod {
  /// Whether requests with the method have content by their definition: GET and HEAD have none (RFC 9110 §9.3.1,
  /// §9.3.2).
  fileprivate var mayHaveContent: Bool { self != .get && self != .head }
}

extension SAPURLSessionTask {
  /// Returns the body that a handler's request gives in place of the task's; nil if it gives none.
  ///
  /// The body belongs to the task, and ``originalRequest`` may not have it. So a request without a body changes
  /// nothing. Neither does the body of the original request, for an upload, which never sends it, and after a redirect
  /// that has removed the body.
  fileprivate func bodyGiven(by changed: URLRequest, insteadOf shown: URLRequest) throws -> RequestBody? {
    let first = mutable.withLock { $0.begunWith }
    if let bytes = changed.httpBody {
      let isOfTask = bytes == first?.httpBody && (upload != nil || shown.httpBody == nil)
      return bytes == shown.httpBody || isOfTask ? nil : .data(bytes)
    }
    guard let stream = changed.httpBodyStream, stream !== shown.httpBodyStream, stream !== first?.httpBodyStream else {
      return nil
    }
    return .singleUse(try StreamChunks(opening: stream))
  }
}

extension URLRequest {
  /// Whether the request leaves its timeout to the configuration: it has the documented default of
  /// `URLRequest.timeoutInterval`, 60 seconds.
  var hasStandardTimeout: Bool { timeoutInterval == 60 }
}

extension RequestOptions {
  /// Foundation's `timeoutIntervalForRequest` limits the time until the response and between two parts of its body.
  mutating func apply(_ request: URLRequest, _ configuration: URLSessionConfiguration) {
    let seconds = request.hasStandardTimeout ? configuration.timeoutIntervalForRequest : request.timeoutInterval
    responseTimeout = Self.limit(seconds)
    idleTimeout = Self.limit(seconds)
    deadline = Self.limit(configuration.timeoutIntervalForResource)
    handlesCookies = request.httpShouldHandleCookies
    let policy = request.cachePolicy == .useProtocolCachePolicy ? configuration.requestCachePolicy : request.cachePolicy
    cachePolicy =
      switch policy {
      case .reloadIgnoringLocalCacheData, .reloadIgnoringLocalAndRemoteCacheData: .reloadIgnoringCacheData
      case .returnCacheDataElseLoad: .returnCacheDataElseLoad
      case .returnCacheDataDontLoad: .returnCacheDataDontLoad
      case .reloadRevalidatingCacheData: .reloadRevalidatingCacheData
      default: .useProtocolCachePolicy
      }
  }

  /// Returns nil, no limit, for a week or more. A week is Foundation's default.
  private static func limit(_ seconds: TimeInterval) -> Duration? {
    seconds > 0 && seconds < 7 * 24 * 3600 ? .seconds(seconds) : nil
  }
}

extension HTTPFields {
  /// Changes the fields that differ between the two, and leaves all other lines unchanged.
  fileprivate mutating func applyChanges(from old: HTTPFields, to new: HTTPFields) {
    for (name, _) in old where !new.contains(name) { remove(name) }
    for (name, _) in new where old[values: name] != new[values: name] {
      remove(name)
      for value in new[values: name] { append(value, for: name) }
    }
  }
}

/// A request of a task. Foundation's takes long to make, so that it is made when it is asked for.
struct ShownRequest: Sendable {
  let head: RequestHead
  private let body: Data?
  private let hasBody: Bool
  private let template: URLRequest?

  /// - Parameter task: its own request has the properties that the engine's lacks; nil for Foundation's defaults.
  init(_ request: HTTPRequest, of task: SAPURLSessionTask?) {
    head = request.head
    body = request.body.bytes
    hasBody = !request.body.isEmpty
    template = task?.mutable.withLock { $0.begunWith }
  }

  /// The request in Foundation's form.
  var urlRequest: URLRequest {
    var request = template ?? URLRequest(url: head.url)
    request.url = head.url
    request.httpMethod = head.method.rawValue
    request.setFields(head.fields)
    if !hasBody { request.httpBody = nil } else if let body { request.httpBody = body }
    return request
  }
}

// MARK: - Responses

extension HTTPFields {
  /// The fields as a dictionary, with lines of the same name joined.
  fileprivate var joined: [String: String] {
    var values: [String: String] = [:]
    values.reserveCapacity(count)
    for (name, value) in self { values[name.rawName] = value }
    // Lines of the same name, also in another case, are rare: few names are compared faster than they are hashed.
    if hasRepeatedNames { for (name, _) in self { values[name.rawName] = self[name] } }
    return values
  }

  private var hasRepeatedNames: Bool {
    let names = map(\.name)
    guard names.count <= 16 else { return Set(names).count < names.count }
    return names.indices.contains { names[..<$0].contains(names[$0]) }
  }
}

extension HTTPResponse {
  /// The response in Foundation's form, with lines of the same name joined. Only changes by observers are copied back
  /// from it.
  var urlResponse: HTTPURLResponse? { head.urlResponse(from: url) }

  /// Makes the response that an observer gave.
  init(_ response: URLResponse, _ data: Data, to request: HTTPRequest) {
    self.init(body: ResponseBody(data), url: response.url ?? request.url)
    if let response = response as? HTTPURLResponse { head = ReceivedHead.head(of: response) }
  }

  /// Applies the changes that a handler made to the response that it received.
  mutating func apply(_ changed: URLResponse, insteadOf shown: URLResponse?) {
    guard let changed = changed as? HTTPURLResponse, let shown = shown as? HTTPURLResponse else { return }
    let (old, new) = (ReceivedHead.head(of: shown), ReceivedHead.head(of: changed))
    head.status = new.status
    head.fields.applyChanges(from: old.fields, to: new.fields)
  }
}

extension ResponseHead {
  func urlResponse(from url: URL) -> HTTPURLResponse? {
    HTTPURLResponse(
      url: url, statusCode: status.code, httpVersion: version?.rawValue ?? "HTTP/1.1", headerFields: fields.joined)
  }
}
