import Foundation
import MartletEngine
import MartletSemantics

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// A request as URLSession wants it.
struct OutgoingRequest: Sendable {
  let request: URLRequest
  let payload: Payload
  /// How many bytes the body has.
  let length: Int64?
  /// Host and port, for messages.
  let peer: String
  /// A week: time is taken by the one who waits.
  static let noTimeout: TimeInterval = 7 * 24 * 3600

  /// Where URLSession finds the body.
  enum Payload: Sendable {
    case none
    case bytes(Data)
    case file(URL)
    /// A temporary file, which is there as long as its owner.
    case spooled(URL, SpoolFile)
  }

  init(_ original: HTTPRequest) async throws {
    guard let scheme = original.url.scheme?.lowercased(), scheme == "http" || scheme == "https" else {
      throw HTTPError(
        .invalidRequest, "the URL '\(original.url.redacted)' is no http or https URL", phase: .preparing)
    }
    guard original.method != .head || original.body.isEmpty else {
      throw HTTPError(.invalidRequest, "a HEAD request cannot have a body (RFC 9110 §9.3.2)", phase: .preparing)
    }
    request = Self.convert(original)
    peer = Self.peer(of: original.url)
    (payload, length) = try await Self.payload(of: original.body)
  }

  private static func convert(_ original: HTTPRequest) -> URLRequest {
    var request = URLRequest(url: original.url, cachePolicy: .useProtocolCachePolicy, timeoutInterval: noTimeout)
    request.httpMethod = original.method.rawValue
    request.httpShouldHandleCookies = false
    request.setFields(original.fields, leavingOut: framing)
    return request
  }

  /// How the message is framed is the transport's business; a second opinion in a field would be a smuggling risk.
  private static let framing: Set<FieldName> = [.contentLength, .transferEncoding]

  private static func payload(of body: RequestBody) async throws -> (Payload, Int64?) {
    if body.isEmpty { return (.none, 0) }
    if let bytes = body.bytes { return (.bytes(bytes), Int64(bytes.count)) }
    let opened = try await body.open()  // for a file: to say now what is wrong with it
    if case .file(let url) = body.storage { return (.file(url), opened.length) }
    return try await SpoolFile.collect(opened.source)
  }

  private static func peer(of url: URL) -> String {
    let host = url.host() ?? "the request"
    let literal = host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host
    return url.port.map { "\(literal):\($0)" } ?? literal
  }
}
