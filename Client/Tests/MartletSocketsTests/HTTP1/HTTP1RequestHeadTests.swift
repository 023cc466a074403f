import MartletEngine
@_spi(Toolkit) import MartletSemantics
import TestSupport
import Testing

@testable import MartletSockets

/// The heads of requests (RFC 9112 §3, §6).
@Suite(.timeLimit(.minutes(5)))
struct HTTP1RequestHeadTests {
  private func head(
    _ request: HTTPRequest, _ recipient: HTTP1RequestHead.Recipient = .origin
  ) async throws -> HTTP1RequestHead {
    let origin = try #require(Origin(request.url))
    let body = request.body.isEmpty ? nil : try await request.body.open()
    return try HTTP1RequestHead(request, to: origin, through: recipient, body: body)
  }

  private func text(
    _ request: HTTPRequest, _ recipient: HTTP1RequestHead.Recipient = .origin
  ) async throws -> String {
    String(decoding: try await head(request, recipient).bytes, as: UTF8.self)
  }

  @Test func aHeadIsARequestLineHostAndTheFieldsInTheirOrder() async throws {
    let request = HTTPRequest(
      .get, url("http://example.com/a?b"), fields: ["X-B": "1", .accept: "a/b", "x-a": "", "X-B": "grün"])
    #expect(
      try await text(request)
        == "GET /a?b HTTP/1.1\r\nHost: example.com\r\nX-B: 1\r\nAccept: a/b\r\nx-a:\r\nX-B: grün\r\n\r\n")
    let bare = try await text(HTTPRequest(.get, url("http://example.com/")))
    #expect(bare == "GET / HTTP/1.1\r\nHost: example.com\r\nAccept: */*\r\n\r\n")
    var omitting = HTTPRequest(.get, url("http://example.com/"))
    omitting.options.omittedFields = [.accept]
    #expect(try await text(omitting) == "GET / HTTP/1.1\r\nHost: example.com\r\n\r\n")
  }

  // RFC 9112 §3.2.1, §3.2.4.
  @Test(
    arguments: [
      ("http://a", "GET", "/"), ("http://a/", "GET", "/"), ("http://a?b", "GET", "/?b"), ("http://a/?", "GET", "/?"),
      ("http://a#c", "GET", "/"), ("http://a/b?c#d", "GET", "/b?c"), ("http://a/../b", "GET", "/../b"),
      ("http://a//b", "GET", "//b"), ("http://a/b%20c;d=e,f", "GET", "/b%20c;d=e,f"), ("http://a?b#/c", "GET", "/?b"),
      ("http://u:p@a/b", "GET", "/b"), ("http://a/b@c?d=http://e/", "GET", "/b@c?d=http://e/"),
      ("http://a/b:c", "get", "/b:c"), ("http://a", "OPTIONS", "*"), ("http://a/", "OPTIONS", "/"),
      ("http://a?b", "OPTIONS", "/?b"), ("http://a/b", "OPTIONS", "/b"), ("http://a/b", "CONNECT", "a:80"),
      ("https://a/b", "CONNECT", "a:443"), ("https://a:8/b", "CONNECT", "a:8"),
      ("http://[::1]/", "CONNECT", "[::1]:80"),
    ])
  func theTargetOfAnOriginIsThePath(_ address: String, method: String, target: String) async throws {
    let request = HTTPRequest(try #require(HTTPMethod(rawValue: method)), url(address))
    #expect(try await text(request).hasPrefix("\(method) \(target) HTTP/1.1\r\n"))
  }

  // §3.2.2.
  @Test(
    arguments: [
      ("http://a", "GET", "http://a/"), ("http://A:80/b?c#d", "GET", "http://a/b?c"),
      ("http://a:8?b", "GET", "http://a:8/?b"), ("http://u:p@a/b", "GET", "http://a/b"),
      ("http://[fe80::1%25eth0]/b", "GET", "http://[fe80::1]/b"), ("http://a", "OPTIONS", "http://a"),
      ("http://a/", "OPTIONS", "http://a/"),
    ])
  func theTargetOfAProxyIsAbsolute(_ address: String, method: String, target: String) async throws {
    let request = HTTPRequest(try #require(HTTPMethod(rawValue: method)), url(address))
    let text = try await text(request, .proxy(authorization: "Basic YQ=="))
    #expect(text.hasPrefix("\(method) \(target) HTTP/1.1\r\nHost: "))
    #expect(text.contains("\r\nProxy-Authorization: Basic YQ==\r\n"))
    #expect(try await !self.text(request).contains("Proxy-Authorization"))
  }

  // RFC 9110 §11.7.2.
  @Test func theCallersCredentialsForAProxyAreSentToProxiesOnly() async throws {
    let request = HTTPRequest(.get, url("http://example.com/"), fields: [.proxyAuthorization: "Basic b3du"])
    #expect(try await !text(request).contains("Basic"))
    #expect(try await text(request, .proxy(authorization: nil)).contains("\r\nProxy-Authorization: Basic b3du\r\n"))
  }

  // RFC 9110 §7.2.
  @Test(
    arguments: [
      ("http://example.com/", "example.com"), ("http://EXAMPLE.com:80/", "example.com"),
      ("http://example.com:8080/", "example.com:8080"), ("https://example.com:443/", "example.com"),
      ("https://example.com:80/", "example.com:80"), ("http://[::1]:8080/", "[::1]:8080"), ("http://[::1]/", "[::1]"),
      ("http://[fe80::1%25eth0]/", "[fe80::1]"), ("http://b%C3%BCcher.example/", "xn--bcher-kva.example"),
    ])
  func hostIsTheAuthorityOfTheOrigin(_ address: String, host: String) async throws {
    #expect(try await text(HTTPRequest(.get, url(address))).contains("\r\nHost: \(host)\r\n"))
  }

  @Test func theCallersHostIsUsedAndComesFirst() async throws {
    let request = HTTPRequest(.get, url("http://example.com/"), fields: ["X-A": "b", .host: "other"])
    #expect(
      try await text(request) == "GET / HTTP/1.1\r\nHost: other\r\nX-A: b\r\nAccept: */*\r\n\r\n")
    let several = HTTPRequest(.get, url("http://example.com/"), fields: [.host: "a", .host: "b"])
    let error = await #expect(throws: HTTPError.self) { try await text(several) }
    #expect(error?.kind == .invalidRequest)
  }

  // RFC 9110 §8.6, RFC 9112 §6.
  @Test func theFramingIsThatOfTheBody() async throws {
    let chunks = RequestBody.stream { AsyncStream<Data> { $0.finish() } }
    let sized = RequestBody.stream(length: 7) { AsyncStream<Data> { $0.finish() } }
    let rows: [(HTTPMethod, RequestBody, RequestFraming, String?)] = [
      (.get, .empty, .none, nil), (.delete, .empty, .none, nil), (.post, .empty, .length(0), "Content-Length: 0"),
      (.put, .empty, .length(0), "Content-Length: 0"), (.patch, .empty, .length(0), "Content-Length: 0"),
      (.post, .data(Data("hello".utf8)), .length(5), "Content-Length: 5"),
      (.get, .data(Data("hello".utf8)), .length(5), "Content-Length: 5"),
      (.post, sized, .length(7), "Content-Length: 7"), (.put, chunks, .unknownLength, "Transfer-Encoding: chunked"),
    ]
    for (method, body, framing, line) in rows {
      var request = HTTPRequest(method, url("http://a/"), body: body)
      request.fields = [.contentLength: "99", .transferEncoding: "gzip", "Content-length": "98"]
      let head = try await head(request)
      #expect(head.framing == framing)
      let lines = String(decoding: head.bytes, as: UTF8.self).split(separator: "\r\n")
      #expect(
        lines.filter { $0.hasPrefix("Content-") || $0.hasPrefix("Transfer-") } == (line.map { [$0[...]] } ?? []))
    }
  }

  // RFC 9110 §7.6.1, §7.8, §10.1.4.
  @Test(
    arguments: [
      ([:], [], false), ([.upgrade: "echo"], ["Upgrade"], false), ([.te: "trailers"], ["TE"], false),
      ([.te: "trailers", .upgrade: "echo"], ["Upgrade, TE"], false),
      ([.upgrade: "echo", .connection: "upgrade"], ["upgrade"], false),
      ([.upgrade: "echo", .connection: "close"], ["close", "Upgrade"], true),
      ([.connection: "a, Close"], ["a, Close"], true),
      ([.connection: "a", .connection: "close"], ["a", "close"], true),
    ] as [(HTTPFields, [String], Bool)])
  func connectionNamesWhatOtherFieldsNeed(_ fields: HTTPFields, expected: [String], closes: Bool) async throws {
    let head = try await head(HTTPRequest(.get, url("http://a/"), fields: fields))
    let lines = String(decoding: head.bytes, as: UTF8.self).split(separator: "\r\n")
    #expect(lines.filter { $0.hasPrefix("Connection: ") } == expected.map { "Connection: " + $0 }[...].map { $0[...] })
    #expect(head.closesConnection == closes)
  }

  // RFC 9110 §10.1.4: a `TE` may accept several things, of which only trailers are understood.
  @Test(
    arguments: [
      ([.te: "trailers"], ["TE: trailers", "Connection: TE"]), ([.te: "Trailers"], ["TE: trailers", "Connection: TE"]),
      ([.te: "gzip;q=0.5, trailers"], ["TE: trailers", "Connection: TE"]), ([.te: "gzip"], []), ([.te: ""], []),
      ([.te: "deflate;q=0.5", .te: "gzip;q=\"a,trailers\""], []), ([.te: "trailers;q=1"], []),
      ([.te: "gzip", .te: "trailers"], ["TE: trailers", "Connection: TE"]),
      ([.te: "gzip", .connection: "close"], ["Connection: close"]),
    ] as [(HTTPFields, [String])])
  func acceptedTransferCodingsAreThoseThatAreDecoded(_ fields: HTTPFields, expected: [String]) async throws {
    let text = try await text(HTTPRequest(.get, url("http://a/"), fields: fields))
    let lines = text.split(separator: "\r\n").filter { $0.hasPrefix("TE:") || $0.hasPrefix("Connection:") }
    #expect(lines.map(String.init) == expected)
  }

  @Test(arguments: [nil, 0, 5] as [Int64?]) func trailersNeedChunks(_ length: Int64?) async throws {
    let body = RequestBody.stream(length: length, trailers: { ["X-Digest": "1"] }) { AsyncStream<Data> { $0.finish() } }
    let head = try await head(HTTPRequest(.put, url("http://a/"), fields: [.trailer: "X-Digest"], body: body))
    #expect(head.framing == .unknownLength)
    let text = String(decoding: head.bytes, as: UTF8.self)
    #expect(text.contains("\r\nTrailer: X-Digest\r\n"))
    #expect(!text.contains("Content-Length"))
  }

  // RFC 9110 §10.1.1.
  @Test(
    arguments: [
      ("100-Continue", .data(Data("a".utf8)), true), ("other", .data(Data("a".utf8)), false),
      ("100-continue", .empty, false), (nil, .data(Data(count: 2 << 20)), false),
    ] as [(String?, RequestBody, Bool)])
  func aBodyWaitsIfTheRequestHasAnExpectation(_ field: String?, body: RequestBody, waits: Bool) async throws {
    var request = HTTPRequest(.put, url("http://a/"), body: body)
    request.fields[.expect] = field
    let head = try await head(request)
    #expect(head.expectsContinue == waits)
    #expect(
      String(decoding: head.bytes, as: UTF8.self).split(separator: "\r\nExpect: ").count == (field == nil ? 1 : 2))
  }

  @Test func theBytesOfACookieAreThoseOfTheServer() async throws {
    let value = FieldOctets.text([0x61, 0x3D, 0xE9])
    let head = try await head(HTTPRequest(.get, url("http://a/"), fields: [.cookie: value]))
    #expect(head.bytes.split(separator: 10).contains { $0.starts(with: Array("Cookie: a=".utf8) + [0xE9, 13]) })
  }

  /// Foundation encodes characters that are invalid in a URL; the remaining ones would inject lines or split the
  /// target.
  @Test(arguments: ["http://a/b c", "http://a/b\r\nX-A: c", "http://a/\u{e9}?\u{e9}", "http://a/b?\u{1}"])
  func aTargetIsVisibleASCII(_ address: String) async throws {
    guard let url = URL(string: address), let origin = Origin(url) else { return }
    guard let head = try? HTTP1RequestHead(HTTPRequest(.get, url), to: origin, body: nil) else { return }
    let line = head.bytes.prefix { $0 != 13 }
    #expect(line.allSatisfy { (32...126).contains($0) })
    #expect(line.count { $0 == 32 } == 2)
  }

  @Test func refusedFieldsRefuseTheRequest() async throws {
    let request = HTTPRequest(.get, url("http://a/"), fields: ["X-A": "b\r\nX-C: d"])
    let error = await #expect(throws: HTTPError.self) { try await text(request) }
    #expect(error?.kind == .invalidRequest)
  }
}
