@_spi(Toolkit) import MartletSemantics

/// The offer of permessage-deflate, the compression of messages (RFC 7692 §7.1).
struct DeflateOffer: Sendable, Hashable {
  /// The client says that it will compress each message by itself (§7.1.1.2).
  var clientResets = false
  /// The client asks that the server compresses each message by itself (§7.1.1.1).
  var serverResets = false
  /// The maximum window of the server's compression that the client requests, as a power of two from 8 to 15; nil for
  /// no request (§7.1.2.1).
  var serverWindowBits: Int?
  /// Whether the server may limit the window of the client's compression (§7.1.2.2).
  var allowsClientWindow = true

  init() {}

  /// The offer as an element of `Sec-WebSocket-Extensions`.
  var fieldValue: String {
    var value = DeflateAgreement.name
    if serverResets { value += "; \(DeflateAgreement.serverResetsName)" }
    if clientResets { value += "; \(DeflateAgreement.clientResetsName)" }
    if let serverWindowBits { value += "; \(DeflateAgreement.serverWindowName)=\(serverWindowBits)" }
    if allowsClientWindow { value += "; \(DeflateAgreement.clientWindowName)" }
    return value
  }
}

/// The parameters of permessage-deflate that both sides agreed on.
struct DeflateAgreement: Sendable, Hashable {
  /// Whether the client compresses each message by itself, without the context of earlier ones.
  var clientResets = false
  /// Whether the server does.
  var serverResets = false
  /// The window of the client's compression, as a power of two.
  var clientWindowBits = 15
  /// The window of the server's compression.
  var serverWindowBits = 15

  init() {}

  fileprivate static let name = "permessage-deflate"
  fileprivate static let clientResetsName = "client_no_context_takeover"
  fileprivate static let serverResetsName = "server_no_context_takeover"
  fileprivate static let clientWindowName = "client_max_window_bits"
  fileprivate static let serverWindowName = "server_max_window_bits"

  /// Reads the server's answer to an offer (RFC 6455 §9.1, RFC 7692 §7.1).
  ///
  /// - Parameters:
  ///   - values: the values of `Sec-WebSocket-Extensions` in the response.
  ///   - offer: what the client offered; nil for nothing.
  /// - Returns: the agreement; nil if the server does not compress.
  /// - Throws: ``HandshakeFault`` if the answer does not fit the offer.
  static func reading(
    _ values: [String], answering offer: DeflateOffer?
  ) throws(HandshakeFault) -> DeflateAgreement? {
    let extensions = values.flatMap { FieldList.elements(of: $0[...]) }
    guard let first = extensions.first else { return nil }
    guard extensions.count == 1 else { throw HandshakeFault("it accepted \(extensions.count) extensions") }
    let parts = FieldList.elements(of: first, separator: UInt8(ascii: ";"))
    guard let offer, let name = parts.first, ASCII.equalIgnoringCase(name, Self.name) else {
      throw HandshakeFault("it accepted the extension '\(parts.first ?? "")', which was not offered")
    }
    var agreement = DeflateAgreement()
    // §7.1.1.2: the client does what it has offered, even if the server does not repeat it.
    agreement.clientResets = offer.clientResets
    var seen: Set<String> = []
    for part in parts.dropFirst() {
      guard let (fieldName, value) = FieldParameters.pair(in: part) else {
        throw HandshakeFault("it accepted \(Self.name) with the invalid parameter '\(part)'")
      }
      let name = fieldName.canonicalName
      guard seen.insert(name).inserted else { throw HandshakeFault("it sent the parameter \(name) twice") }
      try agreement.set(name, value, answering: offer)
    }
    // §7.1.2.1 has the server repeat a limit that it accepts. aiohttp leaves out one of 15, which limits nothing, and
    // other servers ignore all limits: their messages can be read with the largest window.
    return agreement
  }

  private mutating func set(
    _ name: String, _ value: String?, answering offer: DeflateOffer
  ) throws(HandshakeFault) {
    switch name {
    case Self.clientResetsName where value == nil: clientResets = true
    case Self.serverResetsName where value == nil: serverResets = true
    case Self.serverWindowName:
      serverWindowBits = try Self.windowBits(name, value)
      if let limit = offer.serverWindowBits, serverWindowBits > limit {
        throw HandshakeFault("it set \(name) to \(serverWindowBits), more than the \(limit) that were asked for")
      }
    case Self.clientWindowName where offer.allowsClientWindow: clientWindowBits = try Self.windowBits(name, value)
    case Self.clientWindowName: throw HandshakeFault("it set \(name), which was not offered")
    default: throw HandshakeFault("it sent the parameter \(name)\(value.map { "=\($0)" } ?? ""), which is not defined")
    }
  }

  /// §7.1.2: a decimal number from 8 to 15 without leading zeros.
  private static func windowBits(_ name: String, _ value: String?) throws(HandshakeFault) -> Int {
    guard let value, let bits = Int(value), (8...15).contains(bits), value == "\(bits)" else {
      throw HandshakeFault("it set \(name) to '\(value ?? "")': it is a number from 8 to 15")
    }
    return bits
  }
}
