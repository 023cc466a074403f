import MartletEngine
import MartletSemantics
import Synchronization

/// A recorded response as a transport gives it.
struct ReplayAnswer: Sendable {
  let recorded: HAR.Response
  /// Whether the recording is our own: then `Content-Encoding` stands where the body is encoded, and a remark beside a body
  /// says that it is not whole. In others the body is decoded, whatever the fields say.
  let isOwn: Bool
  /// Where the answer is from, for errors.
  let source: String

  /// - Throws: the recorded failure, where there was no response.
  func response(to request: HTTPRequest) throws(HTTPError) -> HTTPResponse {
    guard (100...999).contains(recorded.status) else { throw failure ?? incomplete("there was no response") }
    let status = HTTPStatus(Int(recorded.status))
    let hasNoBody = request.method == .head || status == .noContent || status == .notModified
    var fields = fields
    guard !hasNoBody else { return response(to: request, status, fields, body: .empty) }
    let bytes = recorded.content.bytes ?? Data()
    if let error = ending {
      return response(to: request, status, fields, body: ResponseBody(from: BrokenOffBody(bytes, then: error)))
    }
    if fields.contains(.contentLength) { fields[.contentLength] = "\(bytes.count)" }
    return response(to: request, status, fields, body: ResponseBody(bytes))
  }

  private func response(
    to request: HTTPRequest, _ status: HTTPStatus, _ fields: HTTPFields, body: ResponseBody
  ) -> HTTPResponse {
    let head = ResponseHead(status: status, fields: fields, version: HTTPVersion(recorded: recorded.httpVersion))
    return HTTPResponse(url: request.url, wire: head, body: body)
  }

  /// The fields that describe the body as it is played.
  private var fields: HTTPFields {
    var fields = HTTPFields()
    for header in recorded.headers {
      // `:status` is no field, and some browsers write the lines of Set-Cookie as one value of many lines.
      guard let name = try? FieldName(header.name) else { continue }
      for line in header.value.split(separator: "\n") { fields.appendReceived(name, String(line)) }
      if header.value.isEmpty { fields.appendReceived(name, "") }
    }
    if !isOwn { fields.remove(.contentEncoding) }
    if !fields.contains(.location), !recorded.redirectURL.isEmpty { fields[.location] = recorded.redirectURL }
    return fields
  }

  /// The error at the end of a body that is not whole.
  private var ending: HTTPError? {
    if let failure, failure.kind != .cancelled { return failure }
    let content = recorded.content
    if failure != nil { return incomplete("it was read no further when it was recorded") }
    if isOwn, let remark = content.comment { return incomplete(remark) }
    if content.text != nil { return content.bytes == nil ? incomplete("it is no base64") : nil }
    return content.size > 0 ? incomplete("left out: \(content.size) bytes") : nil
  }

  private func incomplete(_ why: String) -> HTTPError {
    HTTPError(.other, "\(source) has not the whole response's body (\(why)): record it again", phase: .receiving)
  }

  /// What failed when it was recorded, as an error of the same kind.
  private var failure: HTTPError? {
    guard let text = recorded.error, !text.isEmpty else { return nil }
    guard isOwn, let colon = text.firstRange(of: ": ") else { return HTTPError(.other, "\(text), as recorded") }
    return HTTPError(.init(name: String(text[..<colon.lowerBound])), "\(text[colon.upperBound...]), as recorded")
  }
}

extension HTTPVersion {
  /// As programs write it: `HTTP/2`, `http/2.0`, `h2`.
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

/// What there is of a body, and then an error.
private final class BrokenOffBody: BodySource {
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
