@_spi(Toolkit) import MartletSemantics

/// A date in the archive's form: ISO 8601 with milliseconds. A date that cannot be read is `.distantPast`.
struct HARDate: Sendable, Hashable, Codable {
  var date: Date

  init(date: Date) { self.date = date }

  init(from decoder: any Decoder) throws {
    let text = try decoder.singleValueContainer().decode(String.self)
    date = Timestamp.parse(text) ?? .distantPast
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(Timestamp.format(date))
  }
}

extension KeyedDecodingContainer {
  /// Returns a value; nil if it is missing, null or cannot be decoded.
  func value<Value: Decodable>(_ key: Key) -> Value? { try? decodeIfPresent(Value.self, forKey: key) }

  /// Returns a string; a number is converted.
  func text(_ key: Key) -> String? {
    if let text: String = value(key) { return text }
    if let number: Int64 = value(key) { return String(number) }
    return (value(key) as Double?).map { String($0) }
  }

  /// Returns a finite number; a string is converted. A number of more than 15 digits counts as 10^15 with the same
  /// sign: no time in milliseconds and no size is larger, and a `Duration` cannot represent every number.
  func number(_ key: Key) -> Double? {
    let number: Double? = value(key) ?? (value(key) as String?).flatMap { Double($0) }
    return number.flatMap { $0.isFinite ? min(max($0, -1e15), 1e15) : nil }
  }

  /// Returns an integer with the bounds of ``number(_:)``; a fraction is removed.
  func integer(_ key: Key) -> Int64? { number(key).flatMap { Int64(exactly: $0.rounded(.towardZero)) } }
}

extension HAR {
  static func bytes(of text: String, encoding: String?) -> Data? {
    guard let encoding, ASCII.equalIgnoringCase(encoding, "base64") else { return Data(text.utf8) }
    return Data(base64Encoded: text, options: .ignoreUnknownCharacters)
  }

  /// Returns the bytes as text or in base64. They are text if they are UTF-8 without NUL, and the media type is unknown
  /// or a type of text.
  static func text(of bytes: Data, mimeType: String) -> (String, encoding: String?) {
    let type = MediaType(mimeType)
    if type?.isText ?? true, !bytes.contains(0), let text = String(validating: bytes, as: UTF8.self) {
      return (text, nil)
    }
    return (bytes.base64EncodedString(), "base64")
  }
}

extension MediaType {
  /// Whether the content is text.
  var isText: Bool {
    if type == "text" || isJSON || suffix == "xml" || type == "multipart" || charset != nil { return true }
    return type == "application"
      && [
        "xml", "javascript", "ecmascript", "x-javascript", "x-www-form-urlencoded", "x-ndjson", "jsonl", "graphql",
        "yaml", "x-yaml", "toml", "sql",
      ].contains(subtype)
  }
}
