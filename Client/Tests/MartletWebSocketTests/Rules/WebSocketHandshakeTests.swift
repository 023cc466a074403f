import FoundationEssentials
@_spi(Toolkit) @_spi(Transports) import MartletSemantics
import Testing

@_spi(Toolkit) @testable import MartletSemantics
@_spi(Toolkit) @_spi(Transports) @testable import MartletWebSocket

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
}

extension HTTPFields {
  /// Returns the fields with others in their place; an empty value removes a field.
  fileprivate func merging(_ others: HTTPFields) -> HTTPFields {
    var fields = self
    for (name, value) in others { fields[name] = value.isEmpty ? nil : value }
    return fields
  }
}
