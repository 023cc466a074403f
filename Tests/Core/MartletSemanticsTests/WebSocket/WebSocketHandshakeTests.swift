import FoundationEssentials
import TestSupport
import Testing

@_spi(Toolkit) @testable import MartletSemantics

/// RFC 6455 §4.1 and §4.2: the opening handshake.
struct WebSocketHandshakeTests {
  private static let accept = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
  private static let opened: HTTPFields = [
    .upgrade: "websocket", .connection: "Upgrade", .secWebSocketAccept: accept,
  ]

  private func agreement(
    _ fields: HTTPFields, _ handshake: WebSocketHandshake = WebSocketHandshake(protocols: ["chat", "superchat"])
  ) throws -> WebSocketHandshake.Agreement {
    try handshake.agreement(in: fields, expecting: Self.accept)
  }

  // MARK: - The request

  @Test func theRequestNamesProtocolVersionAndOffers() {
    let handshake = WebSocketHandshake(protocols: ["chat", "superchat"], compression: DeflateOffer())
    #expect(handshake.fields[.upgrade] == "websocket")
    #expect(handshake.fields["Sec-WebSocket-Version"] == "13")
    #expect(handshake.fields["Sec-WebSocket-Protocol"] == "chat, superchat")
    #expect(handshake.fields["Sec-WebSocket-Extensions"] == "permessage-deflate; client_max_window_bits")
    #expect(handshake.fields.opensWebSocket)
    #expect(WebSocketHandshake().fields["Sec-WebSocket-Protocol"] == nil)
    #expect(WebSocketHandshake().fields["Sec-WebSocket-Extensions"] == nil)
  }

  @Test func aKeyIs16RandomBytes() throws {
    let keys = Set((0..<100).map { _ in WebSocketHandshake.makeKey() })
    #expect(keys.count == 100)
    for key in keys { #expect(Data(base64Encoded: key)?.count == 16) }
  }

  @Test(arguments: [
    (["chat"], true), ([], true), (["a b"], false), ([""], false), (["ä"], false), (["a", "a"], false),
  ])
  func subprotocolsAreDifferentTokens(_ protocols: [String], isValid: Bool) {
    #expect((WebSocketHandshake(protocols: protocols).reasonToRefuse == nil) == isValid)
  }

  // MARK: - The response

  /// §1.3 has this key and its answer.
  @Test func theAnswerToAKeyIsOfItsSHA1() {
    var hashed: Data?
    let answer = WebSocketHandshake.accept("dGhlIHNhbXBsZSBub25jZQ==") { data in
      hashed = data
      return Data([0xB3, 0x7A])
    }
    #expect(answer == "s3o=")
    #expect(hashed == Data("dGhlIHNhbXBsZSBub25jZQ==258EAFA5-E914-47DA-95CA-C5AB0DC85B11".utf8))
  }

  /// RFC 8441 §5: neither an upgrade nor a key, but the rest as always.
  @Test func overHTTP2AResponseHasNoAnswerToTheKey() throws {
    let handshake = WebSocketHandshake(protocols: ["chat"], compression: DeflateOffer())
    func agreement(_ fields: HTTPFields) throws -> WebSocketHandshake.Agreement {
      try handshake.agreement(in: fields, expecting: nil)
    }
    #expect(try agreement([:]) == .init())
    let fields: HTTPFields = [.secWebSocketProtocol: "chat", .secWebSocketExtensions: "permessage-deflate"]
    #expect(try agreement(fields).subprotocol == "chat")
    #expect(try agreement(fields).compression != nil)
    #expect(throws: HandshakeFault.self) { try agreement([.secWebSocketProtocol: "other"]) }
    #expect(throws: HandshakeFault.self) { try agreement([.secWebSocketExtensions: "foo"]) }
  }

  @Test func aMatchingResponseOpens() throws {
    #expect(try agreement(Self.opened) == .init())
    #expect(try agreement(Self.opened.merging([.upgrade: "WebSocket", .connection: "keep-alive, upgrade"])) == .init())
  }

  @Test(
    arguments: [
      ([.upgrade: "h2c"], "h2c"), ([.upgrade: "websocket, h2c"], "websocket, h2c"), ([.upgrade: ""], "websocket"),
      ([.connection: "close"], "Connection"),
      ([.secWebSocketAccept: "s3pPLMBiTxaQ9kYGzzhZRbK+xOO="], "Sec-WebSocket-Accept"),
      ([.secWebSocketAccept: ""], "Sec-WebSocket-Accept"),
    ] as [(HTTPFields, String)])
  func aResponseThatDoesNotMatchIsAFault(_ fields: HTTPFields, part: String) {
    let fault = #expect(throws: HandshakeFault.self) { try self.agreement(Self.opened.merging(fields)) }
    #expect(fault?.reason.contains(part) == true)
  }

  /// §4.1: the status line is of HTTP/1.1.
  @Test func anUpgradeIsNotOfHTTP10() throws {
    let handshake = WebSocketHandshake()
    #expect(throws: HandshakeFault.self) {
      try handshake.agreement(in: Self.opened, .http1_0, expecting: Self.accept)
    }
    #expect(try handshake.agreement(in: Self.opened, .http1_1, expecting: Self.accept) == .init())
  }

  @Test(
    arguments: [
      (["superchat"], "superchat"), ([], nil), (["Chat"], "fault"), (["other"], "fault"),
      (["chat, superchat"], "fault"),
      (["chat", "superchat"], "fault"), ([""], "fault"),
    ] as [([String], String?)])
  func theServerChoosesOneOfferedSubprotocolOrNone(_ values: [String], expected: String?) {
    var fields = Self.opened
    for value in values { fields.append(value, for: .secWebSocketProtocol) }
    let agreed = Result { try agreement(fields).subprotocol }
    let text = if case .success(let subprotocol) = agreed { subprotocol } else { "fault" as String? }
    #expect(text == expected)
  }

  // MARK: - URLs

  @Test(arguments: [
    ("ws://a/b?c", "http://a/b?c"), ("wss://a:8443/", "https://a:8443/"), ("WSS://A/", "https://A/"),
    ("ws://[::1]:80", "http://[::1]:80"), ("http://a/", nil), ("https://a/", nil), ("wsx://a/", nil), ("/ws", nil),
  ])
  func theHandshakeGoesToTheURLOfHTTP(_ text: String, expected: String?) {
    #expect(url(text).ofWebSocketHandshake?.absoluteString == expected)
  }

  @Test func anOriginIsThatOfTheHandshake() {
    #expect(Origin(url("wss://A.example/x")) == Origin(url("https://a.example")))
    #expect(Origin(url("ws://a.example:80/")) == Origin(url("http://a.example")))
    #expect(Origin(url("ws://a:99999/")) == nil)
    #expect(URLReading(url("ws://a/")).origin == nil)
  }

  @Test(arguments: [("ws://b/c", "http://b/c"), ("wss://b/", "https://b/"), ("/d", "http://a/d"), ("ftp://b/", nil)])
  func aRedirectOfAHandshakeMayNameAWebSocket(_ location: String, expected: String?) {
    let response = ResponseHead(status: .found, fields: [.location: location])
    let request = RequestHead(method: .get, url: url("http://a/"), fields: [.upgrade: "websocket"])
    var target: String?
    if case .follow(let head, _) = RedirectRule().decide(after: response, to: request) {
      target = head.url.absoluteString
    }
    #expect(target == expected)
  }

  @Test func noOtherRequestIsRedirectedToAWebSocket() {
    let response = ResponseHead(status: .found, fields: [.location: "ws://b/c"])
    guard case .refuse = RedirectRule().decide(after: response, to: RequestHead(method: .get, url: url("http://a/")))
    else {
      Issue.record("it was followed")
      return
    }
  }

  // MARK: - Close frames (§5.5.1, §7.4)

  private func close(_ payload: [UInt8]) -> Result<CloseFrame, any Error> {
    Result { try payload.withUnsafeBytes { try CloseFrame(payload: $0) } }
  }

  @Test func aCloseFrameMayBeEmptyOrHaveACodeAndAReason() throws {
    #expect(try close([]).get() == CloseFrame(code: nil))
    #expect(try close([0x03, 0xE8]).get() == CloseFrame(code: 1000))
    #expect(try close([0x0B, 0xB8] + Array("späť".utf8)).get() == CloseFrame(code: 3000, reason: "späť"))
  }

  @Test(
    arguments: [
      (0, false), (999, false), (1000, true), (1003, true), (1004, false), (1005, false), (1006, false), (1007, true),
      (1011, true), (1014, true), (1015, false), (1016, false), (2999, false), (3000, true), (4999, true),
      (5000, false), (65_535, false),
    ] as [(UInt16, Bool)])
  func onlySomeCodesMayBeSent(_ code: UInt16, isAllowed: Bool) {
    let read = close([UInt8(code >> 8), UInt8(code & 0xFF)])
    #expect(((try? read.get()) != nil) == isAllowed)
    #expect(CloseFrame.maySend(code) == isAllowed)
  }

  @Test func aCloseFrameOfOneByteIsAViolation() {
    let fault = #expect(throws: WebSocketFault.self) { try self.close([3]).get() }
    #expect(fault?.code == 1002)
  }

  @Test func aReasonIsUTF8() {
    let fault = #expect(throws: WebSocketFault.self) { try self.close([0x03, 0xE8, 0xFF]).get() }
    #expect(fault?.code == 1007)
  }

  @Test func aLongReasonIsCutAfterACharacter() throws {
    let payload = CloseFrame(code: 1000, reason: String(repeating: "€", count: 60)).payload
    #expect(payload.count == 2 + 41 * 3)
    #expect(try close([UInt8](payload)).get().reason == String(repeating: "€", count: 41))
    #expect(CloseFrame(code: nil, reason: "a").payload.isEmpty)
  }
}

extension HTTPFields {
  /// Returns the fields with others in their place; an empty value removes a field.
  fileprivate func merging(_ others: HTTPFields) -> HTTPFields {
    var fields = self
    for (name, value) in others { fields[name] = value.isEmpty ? nil : value }
    return fields
  }
}
