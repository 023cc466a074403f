@_spi(Transports) public import MartletEngine
@_spi(Toolkit) @_spi(Transports) public import MartletSemantics

extension WebSocket {
  /// A message: text or bytes (RFC 6455 §5.6).
  public enum Message: Sendable, Hashable {
    /// Text, which is sent as UTF-8.
    case string(String)
    /// Bytes.
    case data(Data)
  }

  /// Why a WebSocket was closed (RFC 6455 §7.4). Codes from 4000 to 4999 are free for applications. Codes from 3000 to
  /// 3999 are registered for libraries.
  public struct CloseCode: RawRepresentable, Sendable, Hashable {
    /// The number.
    public let rawValue: UInt16

    /// Makes a code from its number.
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// 1000: the purpose of the connection is fulfilled.
    public static let normalClosure = CloseCode(rawValue: 1000)
    /// 1001: the server is shutting down, or the program is leaving.
    public static let goingAway = CloseCode(rawValue: 1001)
    /// 1002: the peer violates the protocol.
    public static let protocolError = CloseCode(rawValue: 1002)
    /// 1003: the peer does not accept messages of this type.
    public static let unsupportedData = CloseCode(rawValue: 1003)
    /// 1005: the peer closed without a code. It is never sent.
    public static let noStatusReceived = CloseCode(rawValue: 1005)
    /// 1006: the connection ended without being closed. It is never sent.
    public static let abnormalClosure = CloseCode(rawValue: 1006)
    /// 1007: a message does not fit its type, such as text that is not UTF-8.
    public static let invalidFramePayloadData = CloseCode(rawValue: 1007)
    /// 1008: a message violates the peer's policy.
    public static let policyViolation = CloseCode(rawValue: 1008)
    /// 1009: a message is too large.
    public static let messageTooBig = CloseCode(rawValue: 1009)
    /// 1010: the server did not accept an extension that the client needs.
    public static let mandatoryExtensionMissing = CloseCode(rawValue: 1010)
    /// 1011: the server failed.
    public static let internalServerError = CloseCode(rawValue: 1011)
    /// 1012: the server restarts: connect again later.
    public static let serviceRestart = CloseCode(rawValue: 1012)
    /// 1013: the server is overloaded: connect again later.
    public static let tryAgainLater = CloseCode(rawValue: 1013)
    /// 1015: the TLS handshake failed. It is never sent.
    public static let tlsHandshakeFailure = CloseCode(rawValue: 1015)
  }

  /// The options of a WebSocket.
  public struct Options: Sendable {
    /// The maximum number of bytes of a message that is received as a whole, after decompression; 1 MiB by default. A
    /// larger message is an error of kind ``Martlet/HTTPError/Kind/bodyTooLarge`` and closes the WebSocket. The limit
    /// is checked while a message arrives, so that little more than the limit is read. ``WebSocket/receiveStream()``
    /// has no limit.
    public var messageLimit = 1 << 20
    /// How long the connection may be silent before a ping tests it; the ping may come as late as after twice this
    /// time. 30 seconds by default, nil for no pings. An interval of less than a millisecond counts as one millisecond.
    public var pingInterval: Duration? = .seconds(30)
    /// How long the answer to a ping may take; 30 seconds by default. Without an answer to a ping that tests the
    /// connection, the WebSocket ends with an error of kind ``Martlet/HTTPError/Kind/idleTimeout``. One to
    /// ``WebSocket/sendPing()`` fails with it, and does not end the WebSocket.
    public var pongTimeout: Duration = .seconds(30)
    /// How long the server may take to close the connection after either side closed the WebSocket; 10 seconds by
    /// default. Then the connection is closed.
    public var closeTimeout: Duration = .seconds(10)
    /// How much of ``closeTimeout`` is left to the server once both sides have sent their Close frames, and nothing
    /// more can arrive; 1 second by default.
    public var dropTimeout: Duration = .seconds(1)
    /// The compression of messages that is offered to the server; nil for none. By default, it has a window of 32 KiB.
    /// If messages mix secrets with data from others, the compressed sizes may reveal the secrets (RFC 7692 §8): set
    /// nil in that case.
    public var compression: Compression? = Compression()

    /// Makes the default options.
    public init() {}
  }

  /// The parameters of permessage-deflate that are offered to the server (RFC 7692 §7.1). The defaults compress best;
  /// other values save memory. A connection with compression needs about 300 KiB.
  public struct Compression: Sendable, Hashable {
    /// Whether each sent message is compressed by itself, without reference to earlier ones. False by default; the
    /// server may ask for it.
    public var resetsSentContext = false
    /// Whether the server is asked to compress each message by itself. False by default.
    public var resetsReceivedContext = false
    /// The maximum window that the server may use to compress, as a power of two from 8 to 15; nil, the default, for no
    /// limit. A server that does not support the limit sends its messages without compression, or ignores it.
    public var receivedWindowBits: Int?
    /// Whether the server may limit the window for sent messages. True by default.
    public var allowsSentWindowLimit = true

    /// Makes the default offer.
    public init() {}
  }
}

extension WebSocket.Message: CustomStringConvertible {
  /// The text, or the number of bytes.
  public var description: String {
    switch self {
    case .string(let text): text
    case .data(let data): "\(data.count) bytes"
    }
  }
}

extension WebSocket.CloseCode: CustomStringConvertible {
  /// The number, with its name if it has one: `1001 (goingAway)`.
  public var description: String { Self.names[self].map { "\(rawValue) (\($0))" } ?? "\(rawValue)" }

  private static let names: [WebSocket.CloseCode: String] = [
    .normalClosure: "normalClosure", .goingAway: "goingAway", .protocolError: "protocolError",
    .unsupportedData: "unsupportedData", .noStatusReceived: "noStatusReceived", .abnormalClosure: "abnormalClosure",
    .invalidFramePayloadData: "invalidFramePayloadData", .policyViolation: "policyViolation",
    .messageTooBig: "messageTooBig", .mandatoryExtensionMissing: "mandatoryExtensionMissing",
    .internalServerError: "internalServerError", .serviceRestart: "serviceRestart", .tryAgainLater: "tryAgainLater",
    .tlsHandshakeFailure: "tlsHandshakeFailure",
  ]

  @_spi(Transports) public init(of frame: CloseFrame) {
    self = frame.code.map(Self.init(rawValue:)) ?? .noStatusReceived
  }
}

extension HTTPError {
  /// Returns the error of a WebSocket that the server has closed.
  @_spi(Toolkit) public static func webSocketClosed(by frame: CloseFrame) -> HTTPError {
    let reason = frame.reason.isEmpty ? "" : ": \(frame.reason.printable)"
    return HTTPError(
      .connectionLost, "the server closed the WebSocket with \(WebSocket.CloseCode(of: frame))\(reason)",
      phase: .receiving)
  }
}

extension WebSocket.Message {
  /// The message as one piece.
  @_spi(Toolkit) public var piece: MessagePiece {
    switch self {
    case .string(let text): MessagePiece(isText: true, Data(text.utf8), isFirst: true, isLast: true)
    case .data(let data): MessagePiece(isText: false, data, isFirst: true, isLast: true)
    }
  }

  @_spi(Toolkit) public init(isText: Bool, _ bytes: Data) {
    // The bytes of a text were checked when they arrived.
    self = isText ? .string(String(decoding: bytes, as: UTF8.self)) : .data(bytes)
  }
}

extension WebSocket.Compression {
  var offer: DeflateOffer {
    var offer = DeflateOffer()
    offer.clientResets = resetsSentContext
    offer.serverResets = resetsReceivedContext
    offer.serverWindowBits = receivedWindowBits.map { min(15, max(8, $0)) }
    offer.allowsClientWindow = allowsSentWindowLimit
    return offer
  }
}
