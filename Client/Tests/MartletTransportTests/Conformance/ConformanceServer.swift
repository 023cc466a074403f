#if os(Linux)
import MartletEngine
import MartletSemantics
import MartletTesting

extension LoopbackServer {
  /// A server with the resources of Apple's conformance cases for HTTP clients.
  static func forConformance() throws -> LoopbackServer {
    try LoopbackServer { request in
      switch request.path {
      case "/not_http": .raw("FOOBAR")
      case "/http_case": .raw("Http/1.1 200 OK\r\n\r\n")
      case "/no_reason": .raw("HTTP/1.1 200\r\n\r\n")
      case "/204_with_cl": .raw("HTTP/1.1 204 No Content\r\nContent-Length: 1000\r\n\r\n")
      case "/304_with_cl": .raw("HTTP/1.1 304 Not Modified\r\nContent-Length: 1000\r\n\r\n")
      case "/incomplete_body": .raw("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n1234")
      case "/no_length_hint": .raw("HTTP/1.1 200 OK\r\n\r\n1234")
      case "/conflicting_cl": .raw("HTTP/1.1 200 OK\r\nContent-Length: 10, 4\r\n\r\n1234")
      case "/head_with_cl": .raw("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
      case "/200": .status(.ok)
      case "/gzip": .data(coded["gzip"]).with(.contentEncoding, "gzip")
      case "/deflate": .data(coded["deflate"]).with(.contentEncoding, "deflate")
      case "/brotli": .data(coded["br"]).with(.contentEncoding, "br")
      case "/identity": .text("TEST\n").with(.contentEncoding, "identity")
      case "/301": .redirect(to: "/request", status: HTTPStatus(301))
      case "/308": .redirect(to: "/request", status: HTTPStatus(308))
      case "/redirect_ping": .redirect(to: "/redirect_pong")
      case "/redirect_pong": .redirect(to: "/redirect_ping")
      case "/404": .status(.notFound)
      case "/999": .status(HTTPStatus(999))
      case "/echo": .data(request.body)
      case "/stall": .never
      case "/stall_body": .data(pattern(2000)).stalled(after: 1000)
      case "/1mb_body": .data(pattern(1_000_000))
      case "/header_multivalue": .text("").with("X-Test", "one").with("X-Test", "two")
      case "/cookie": .text("").with(.setCookie, "foo=5c0e")
      case "/etag": answerWithETag(request.received)
      default: try .json(encoding: Seen(request.received))
      }
    }
  }

  /// The answer of `/request`.
  struct Seen: Codable, Equatable {
    var method: String
    var target: String
    var fields: [[String]]
    var body: String

    init(_ request: ReceivedRequest) {
      method = request.method.rawValue
      target = request.target
      fields = request.fields.map { [$0.name.rawName.lowercased(), $0.value] }
      body = request.text
    }

    func values(of name: String) -> [String] { fields.filter { $0[0] == name }.map { $0[1] } }
  }

  private static let coded: [String: Data] = [
    "gzip": "H4sIAAAAAAACAwtxDQ7hAgC+14P3BQAAAA==", "deflate": "eJwLcQ0O4QIABGgBSw==", "br": "CwKAVEVTVAoD",
  ].mapValues { Data(base64Encoded: $0) ?? Data() }

  private static func answerWithETag(_ request: ReceivedRequest) -> Reply {
    let tag = "\"\(request.query ?? "")\""
    let fields: HTTPFields = [.eTag: tag, "Cached": request.fields[.ifNoneMatch] == tag ? "true" : "false"]
    if request.fields[.ifNoneMatch] == tag { return .status(.notModified, fields: fields) }
    return Reply(fields: fields, content: Data("content of \(tag)".utf8))
  }
}

extension Reply {
  fileprivate static func data(_ data: Data?) -> Reply { .data(data ?? Data()) }
}
#endif
