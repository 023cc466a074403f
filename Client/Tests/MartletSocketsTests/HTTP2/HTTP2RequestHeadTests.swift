#if os(Linux)
import MartletEngine
@_spi(Toolkit) import MartletSemantics
import Testing
@testable import MartletSockets

/// Heads of requests over HTTP/2 (RFC 9113 §8.2, §8.3.1).
@Suite(.timeLimit(.minutes(5)))
struct HTTP2RequestHeadTests {
  private func head(
    _ method: HTTPMethod = .get, _ url: String = "https://host.example/", _ fields: HTTPFields = [:],
    framing: RequestFraming = .none
  ) throws -> HTTP2RequestHead {
    let url = try #require(URL(string: url))
    return try HTTP2RequestHead(
      HTTPRequest(method, url, fields: fields), origin: try #require(Origin(url)), framing: framing)
  }

  @Test(arguments: [
    ("https://host.example", "host.example", "/"), ("https://host.example/", "host.example", "/"),
    ("https://host.example/a/b?c=d&e", "host.example", "/a/b?c=d&e"), ("https://host.example?a", "host.example", "/?a"),
    ("https://host.example/a#b", "host.example", "/a"), ("https://host.example#b", "host.example", "/"),
    ("https://host.example/a?b#c?d", "host.example", "/a?b"),
    ("https://user:pass@host.example/a", "host.example", "/a"),
    ("https://HOST.example:443/a", "host.example", "/a"), ("https://host.example:8443/a", "host.example:8443", "/a"),
    ("https://[::1]:8443/a", "[::1]:8443", "/a"),
    ("https://host.example/%20a//b/../c", "host.example", "/%20a//b/../c"),
  ])
  func theTargetIsAuthorityAndPath(_ url: String, _ authority: String, _ path: String) throws {
    let head = try head(.get, url)

    #expect(head.fields[":scheme"] == ["https"])
    #expect(head.fields[":authority"] == [authority])
    #expect(head.fields[":path"] == [path])
  }

  @Test(arguments: [
    ("https://host.example", "*"), ("https://host.example/", "/"), ("https://host.example?a", "/?a"),
  ])
  func optionsOfTheServerItselfHasAnAsterisk(_ url: String, _ path: String) throws {
    #expect(try head(.options, url).fields[":path"] == [path])
  }

  @Test func pseudoFieldsComeFirst() throws {
    let head = try head(.put, "https://host.example/a", ["X-A": "b"], framing: .length(3))

    #expect(head.fields.names == [":method", ":scheme", ":authority", ":path", "content-length", "x-a", "accept"])
    #expect(head.fields[":method"] == ["PUT"])
  }

  /// RFC 8441 §4, §5.
  @Test func theHandshakeOfAWebSocketIsAnExtendedConnect() throws {
    let fields: HTTPFields = [
      .upgrade: "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
      "Sec-WebSocket-Protocol": "chat",
    ]
    let head = try head(.get, "https://host.example/a?b", fields)

    #expect(
      head.fields.names == [
        ":method", ":protocol", ":scheme", ":authority", ":path", "sec-websocket-version", "sec-websocket-protocol",
        "accept",
      ])
    #expect(head.fields[":method"] == ["CONNECT"])
    #expect(head.fields[":protocol"] == ["websocket"])
    #expect(head.fields[":scheme"] == ["https"])
    #expect(head.fields[":path"] == ["/a?b"])
    #expect(head.hasBody)
    let text = String(decoding: head.lines, as: UTF8.self)
    #expect(text.hasPrefix("CONNECT /a?b HTTP/2\r\nHost: host.example\r\n:protocol: websocket\r\n"))
  }

  @Test func aHostFieldBecomesTheAuthority() throws {
    let head = try head(.get, "https://127.0.0.1/", [.host: "host.example"])

    #expect(head.fields[":authority"] == ["host.example"])
    #expect(!head.fields.names.contains("host"))
  }

  /// RFC 9113 §8.2.2
  @Test func fieldsOfAConnectionAreLeftOut() throws {
    let head = try head(
      .get, "https://host.example/",
      [
        .connection: "close, X-Hop", "Keep-Alive": "timeout=5", "Proxy-Connection": "close",
        .transferEncoding: "chunked",
        .upgrade: "h2c", "HTTP2-Settings": "AAA", "x-hop": "1", .contentLength: "7", .accept: "text/html",
      ])

    #expect(head.fields.names == [":method", ":scheme", ":authority", ":path", "accept"])
  }

  @Test(arguments: [
    ("trailers", ["trailers"]), ("Trailers", ["trailers"]), ("gzip, trailers", ["trailers"]), ("gzip", []), ("", []),
  ])
  func teIsTrailersOrAbsent(_ value: String, _ sent: [String]) throws {
    #expect(try head(.get, "https://host.example/", [.te: value]).fields["te"] == sent)
  }

  @Test func namesAreInLowerCaseAndValuesUnchanged() throws {
    let head = try head(
      .get, "https://host.example/", ["X-Mixed-Case": "Ünï Code", "X-Empty": "", "X-Mixed-Case": "2"])

    #expect(head.fields["x-mixed-case"] == ["Ünï Code", "2"])
    #expect(head.fields["x-empty"] == [""])
  }

  @Test(arguments: [
    (RequestFraming.none, [], false), (.length(0), ["0"], false), (.length(5), ["5"], true),
    (.unknownLength, [], true),
  ])
  func theLengthIsThatOfTheBody(_ framing: RequestFraming, _ length: [String], _ hasBody: Bool) throws {
    let head = try head(.post, framing: framing)

    #expect(head.fields["content-length"] == length)
    #expect(head.hasBody == hasBody)
  }

  // RFC 9110 §11.7.2: it is for the next proxy.
  @Test func credentialsForAProxyAreNotSentToAnOrigin() async throws {
    let head = try head(.get, "https://host.example/", [.proxyAuthorization: "Basic YTpi", "X-Other": "1"])
    #expect(head.fields["proxy-authorization"].isEmpty)
    #expect(head.fields["x-other"] == ["1"])
  }

  @Test func secretsAreNeverIndexed() throws {
    let client = try HTTP2Client()
    let server = HTTP2Server()
    let (id, _) = try client.submit(
      .get, "/",
      fields: [
        "Authorization": "Bearer 0123456789012345678901234567890123456789", "X-Other": "1",
        "Cookie": "session=0123456789012345678901234567890123456789", "X-API-Key": "k",
      ])

    client.talk(to: server)

    #expect(server.requests[id]?.secrets == ["authorization", "cookie", "x-api-key"])
    #expect(server.requests[id]?["x-other"] == "1")
  }

  @Test(arguments: [
    "Authorization", "Cookie", "Set-Cookie", "X-API-Key", "X-Auth-Token", "X-CSRF-Token", "X-XSRF-Token",
    "X-Amz-Security-Token", "Ocp-Apim-Subscription-Key",
  ])
  func everySecretIsMarked(_ name: String) throws {
    var fields: HTTPFields = ["Accept": "*/*"]
    fields.append("a=b", for: try FieldName(name))

    let head = try head(.get, "https://host.example/", fields)

    #expect(head.fields[ASCII.lowercased(name)] == ["a=b"])
    #expect(head.fields.lines.map(\.isSecret) == [false, false, false, false, false, true])
  }

  @Test(arguments: [
    "Connection", "Content-Length", "Host", "HTTP2-Settings", "Keep-Alive", "Proxy-Authorization", "Proxy-Connection",
    "Transfer-Encoding", "Upgrade",
  ])
  func everyFieldOfAConnectionIsLeftOut(_ name: String) throws {
    var fields: HTTPFields = ["Accept": "*/*"]
    fields.append("a", for: try FieldName(name))

    let head = try head(.get, "https://host.example/", fields)

    #expect(head.fields.names == [":method", ":scheme", ":authority", ":path", "accept"])
  }

  @Test func theBytesOfACookieAreThoseOfTheServer() throws {
    let cookie = FieldOctets.text([97, 61, 0xff, 0xfe])
    var fields: HTTPFields = [:]
    fields.append(cookie, for: .cookie)
    let head = try head(.get, "https://host.example/", fields)

    #expect(head.fields.rawValues("cookie") == [[97, 61, 0xff, 0xfe]])
  }

  @Test func aHeadThatNoServerAcceptsIsRefused() throws {
    var fields: HTTPFields = [:]
    fields.append(String(repeating: "a", count: 1 << 20), for: "X-Large")

    let error = #expect(throws: HTTPError.self) { try head(.get, "https://host.example/", fields) }
    #expect(error?.kind == .invalidRequest)
    #expect(throws: HTTPError.self) { try head("CONNECT") }
  }

  @Test func aLargeHeadIsSentInContinuations() throws {
    let client = try HTTP2Client()
    let server = HTTP2Server()
    let large = String(repeating: "a", count: 60_000)
    let (id, _) = try client.submit(.get, "/", fields: ["X-Large": large, "X-Larger": large])
    client.talk(to: server)

    #expect(server.requests[id]?["x-large"] == large)
    #expect(server.requests[id]?["x-larger"] == large)
  }
}

extension HTTP2Fields {
  var names: [String] { lines.map { String(decoding: bytes[$0.start..<($0.start + $0.nameCount)], as: UTF8.self) } }

  func rawValues(_ name: String) -> [[UInt8]] {
    zip(names, lines).filter { $0.0 == name }.map { _, line in
      let start = line.start + line.nameCount
      return Array(bytes[start..<(start + line.valueCount)])
    }
  }

  subscript(name: String) -> [String] { rawValues(name).map { String(decoding: $0, as: UTF8.self) } }
}
#endif
