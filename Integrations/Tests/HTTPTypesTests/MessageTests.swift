import HTTPTypes
import Martlet
import MartletHTTPTypes
import Testing

/// Messages of swift-http-types are converted to Martlet's, and back, without loss.
@Suite struct MessageTests {
  private static func lines(_ fields: HTTPTypes.HTTPFields) -> [String] {
    fields.map { "\($0.name.rawName): \($0.value)" }
  }

  @Test func orderRepeatedLinesAndCaseOfNamesAreKeptBothWays() throws {
    var fields = HTTPTypes.HTTPFields()
    let given = [("X-tag", "a"), ("Set-Cookie", "a=1"), ("x-TAG", "b"), ("Set-Cookie", "b=2, c"), ("X-Empty", "")]
    for (name, value) in given { fields.append(HTTPField(name: try #require(HTTPField.Name(name)), value: value)) }

    let converted = Martlet.HTTPFields(fields)
    let back = try HTTPTypes.HTTPFields(converted)

    #expect(converted.map { "\($0.name.rawName): \($0.value)" } == given.map { "\($0): \($1)" })
    #expect(Self.lines(back) == given.map { "\($0): \($1)" })
  }

  @Test(arguments: [
    (Array("Grüße".utf8), "Grüße"),
    ([0x47, 0x72, 0xFC, 0xDF, 0x65], "Grüße"),  // Latin-1
    ([0x61, 0x09, 0x62], "a\tb"),
    ([], ""),
  ])
  func bytesOfAValueAreUTF8OrElseLatin1(bytes: [UInt8], text: String) throws {
    let fields: HTTPTypes.HTTPFields = [try #require(HTTPField.Name("X-Text")): ""]
    var changed = fields
    changed[0] = HTTPField(name: fields[0].name, value: bytes)

    let converted = Martlet.HTTPFields(changed)

    #expect(converted["X-Text"] == text)
    #expect(try HTTPTypes.HTTPFields(converted)[0].value == text)
  }

  @Test func aRefusedFieldIsTheErrorOfTheRequestAndOfTheWayBack() async throws {
    var request = HTTPTypes.HTTPRequest(method: .get, scheme: "http", authority: "a.example", path: "/")
    request.headerFields.append(HTTPField(name: .accept, lenientValue: [0x61, 0x07]))

    let converted = try Martlet.HTTPRequest(request)

    #expect(converted.fields.refusal == .invalidValue(name: "Accept"))
    let refused = #expect(throws: HTTPError.self) { _ = try HTTPTypes.HTTPFields(converted.fields) }
    #expect(refused?.kind == .invalidRequest)
    #expect(refused?.underlying as? Martlet.HTTPFields.Refusal == .invalidValue(name: "Accept"))
    let error = await #expect(throws: HTTPError.self) { _ = try await HTTPSession.shared.data(for: converted) }
    #expect(error?.kind == .invalidRequest)
  }

  struct RequestCase: Sendable, CustomTestStringConvertible {
    let url: String
    let scheme: String?
    let authority: String?
    let path: String
    /// The URL of the request after the conversion back.
    let back: String
    var testDescription: String { url }
  }

  @Test(arguments: [
    RequestCase(
      url: "https://a.example/b%20c?d=e&f", scheme: "https", authority: "a.example", path: "/b%20c?d=e&f",
      back: "https://a.example/b%20c?d=e&f"),
    RequestCase(
      url: "http://a.example:8080", scheme: "http", authority: "a.example:8080", path: "/",
      back: "http://a.example:8080/"),
    RequestCase(
      url: "https://[::1]:443/x", scheme: "https", authority: "[::1]", path: "/x", back: "https://[::1]/x"),
    RequestCase(
      url: "https://user:secret@a.example/x#part", scheme: "https", authority: "a.example", path: "/x",
      back: "https://a.example/x"),
    RequestCase(url: "/orders?page=2", scheme: nil, authority: nil, path: "/orders?page=2", back: "/orders?page=2"),
  ])
  func aRequestIsConvertedBothWays(row: RequestCase) throws {
    let request = Martlet.HTTPRequest(.post, row.url, fields: ["X-A": "1"], body: .form([("a", "b")]))

    let converted = try HTTPTypes.HTTPRequest(request)
    let back = try Martlet.HTTPRequest(converted)

    #expect(converted.method == .post)
    #expect(converted.scheme == row.scheme)
    #expect(converted.authority == row.authority)
    #expect(converted.path == row.path)
    #expect(Self.lines(converted.headerFields) == ["X-A: 1", "Content-Type: application/x-www-form-urlencoded"])
    #expect(back.url.absoluteString == row.back)
    #expect(back.method == .post)
    #expect(back.fields.count == 2)
  }

  @Test func whatCannotBeSentSaysWhy() throws {
    var extended = HTTPTypes.HTTPRequest(
      method: .connect, scheme: "https", authority: "a.example", path: "/chat", headerFields: [:])
    extended.extendedConnectProtocol = "websocket"
    let partial = HTTPTypes.HTTPRequest(method: .get, scheme: "https", authority: nil, path: "/")
    let nothing = HTTPTypes.HTTPRequest(method: .get, scheme: nil, authority: nil, path: nil)
    for (request, text) in [(extended, ":protocol"), (partial, "set both"), (nothing, "set both")] {
      let error = #expect(throws: HTTPError.self) { _ = try Martlet.HTTPRequest(request) }
      #expect(error?.kind == .invalidRequest)
      #expect(error?.message.contains(text) == true)
    }
  }

  /// swift-http-types would end the process.
  @Test func moreFieldLinesThanCanBeHeldAreAnError() throws {
    var fields = Martlet.HTTPFields()
    for _ in 0..<65_534 { fields.append("", forName: "a") }
    #expect(try HTTPTypes.HTTPFields(fields).count == 65_534)

    fields.append("", forName: "a")
    let error = #expect(throws: HTTPError.self) {
      _ = try HTTPTypes.HTTPResponse(ResponseHead(status: 200, fields: fields))
    }
    #expect(error?.kind == .unexpectedResponse)
    #expect(error?.message.contains("65534") == true)
  }

  @Test(
    arguments: [
      ("https", "a.example", "@evil.example/"), ("https", "a.example", ".evil.example/"),
      ("https", "a.example", ":8080/"),
      ("https", "a.example", "/x#y"), ("https", "a.example/x", "/y"), ("https", "a.example?x", "/y"),
      ("https", "a.example#x", "/y"), ("https", #"a.example\x"#, "/y"), ("https", "user@a.example", "/y"),
      ("https://evil.example/", "a.example", "/y"), (nil, nil, "//evil.example/x"), (nil, nil, #"/\evil.example/x"#),
      (nil, nil, #"\\evil.example/x"#), (nil, nil, "http://evil.example/x"),
    ] as [(String?, String?, String)])
  func noPartOfARequestChangesAnother(scheme: String?, authority: String?, path: String) {
    let request = HTTPTypes.HTTPRequest(method: .get, scheme: scheme, authority: authority, path: path)
    let error = #expect(throws: HTTPError.self) { _ = try Martlet.HTTPRequest(request) }
    #expect(error?.kind == .invalidRequest)
  }

  @Test(arguments: ["", "/", "?a=b", "/x//y@z:8080"]) func aPathFollowsTheAuthority(path: String) throws {
    let request = HTTPTypes.HTTPRequest(method: .get, scheme: "HTTPS", authority: "a.example:8080", path: path)
    let url = try Martlet.HTTPRequest(request).url
    #expect(url.host() == "a.example" && url.port == 8080 && url.absoluteString.hasSuffix(path))
  }

  @Test func aResponseIsConvertedBothWays() throws {
    let head = ResponseHead(status: 404, fields: [.setCookie: "a=1", .setCookie: "b=2"])

    let converted = try HTTPTypes.HTTPResponse(head)

    #expect(converted.status.code == 404)
    #expect(converted.status.reasonPhrase == "Not Found")
    #expect(converted.headerFields[values: .setCookie] == ["a=1", "b=2"])
    #expect(ResponseHead(converted) == head)
    var worded = head
    worded.reason = "Nothing Here"
    #expect(try HTTPTypes.HTTPResponse(worded).status.reasonPhrase == "Nothing Here")
    #expect(try ResponseHead(HTTPTypes.HTTPResponse(worded)) == worded)
    #expect(throws: HTTPError.self) { _ = try HTTPTypes.HTTPResponse(ResponseHead(status: 1000)) }
  }
}
