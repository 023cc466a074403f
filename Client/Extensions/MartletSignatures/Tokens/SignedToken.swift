import MartletSemantics

/// A JSON Web Token that is signed, in its compact form (RFC 7519, RFC 7515 §7.1).
enum SignedToken {
  /// Returns the signed token.
  ///
  /// - Parameters:
  ///   - header: the header in JSON.
  ///   - claims: the claims in JSON.
  static func text(_ header: Data, _ claims: Data, by key: SignatureKey) throws(SignatureError) -> String {
    let text = header.base64URL + "." + claims.base64URL
    return text + "." + (try key.signature(of: Data(text.utf8))).base64URL
  }

  /// Returns the JSON of a value: members in alphabetical order, without white space.
  static func json(_ value: some Encodable) throws(SignatureError) -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    guard let json = try? encoder.encode(value) else {
      throw SignatureError(.malformedSignature, "the claims cannot be written as JSON")
    }
    return json
  }

  /// 128 bits of the system's random numbers in base64url: the identifier of a token (`jti`).
  static func identifier() -> String { Data((0..<16).map { _ in UInt8.random(in: 0...255) }).base64URL }

  /// The number of whole seconds since 1970 (RFC 7519 §2).
  static func seconds(_ date: Date) -> Int { Int(exactly: date.timeIntervalSince1970.rounded(.down)) ?? 0 }
}

extension Data {
  /// The data in base64url without padding (RFC 7515 §2).
  var base64URL: String {
    let bytes = base64EncodedString().utf8.compactMap { byte -> UInt8? in
      switch byte {
      case UInt8(ascii: "+"): UInt8(ascii: "-")
      case UInt8(ascii: "/"): UInt8(ascii: "_")
      case UInt8(ascii: "="): nil
      default: byte
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Reads base64url without padding; nil for anything else.
  init?(base64URL text: String) {
    guard !text.utf8.contains(where: { "+/=".utf8.contains($0) }) else { return nil }
    let standard = text.replacing("-", with: "+").replacing("_", with: "/")
    self.init(base64Encoded: standard + String(repeating: "=", count: (4 - standard.utf8.count % 4) % 4))
  }
}
