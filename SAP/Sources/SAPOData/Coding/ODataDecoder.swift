@_spi(Toolkit) import SAPFoundation

/// Decodes values from JSON in the forms of V2 and V4, without strategies: `Int64` and `Decimal` from strings and
/// numbers, `/Date(…)/` and ISO 8601, base64 and base64url, V2's `results`, and links to what was not expanded as nil.
struct ODataDecoder: Decoder, SingleValueDecodingContainer {
  let json: ODataJSON
  let codingPath: [any CodingKey]
  let userInfo: [CodingUserInfoKey: Any] = [:]

  /// - Throws: `DecodingError` that names the property.
  static func decode<Value: Decodable>(_ type: Value.Type, from json: ODataJSON) throws -> Value {
    try Self(json: json, codingPath: []).value(type)
  }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    guard case .object(let members) = json else { throw mismatch([String: Any].self) }
    return KeyedDecodingContainer(Members(members: members, decoder: self))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    guard let elements = json.elements else { throw mismatch([Any].self) }
    return Elements(elements: elements, decoder: self)
  }

  func singleValueContainer() throws -> any SingleValueDecodingContainer { self }

  func decodeNil() -> Bool { json == .null }

  func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try value(type) }

  fileprivate func value<Value: Decodable>(_ type: Value.Type) throws -> Value {
    guard let scalar = type as? any ODataScalar.Type else { return try Value(from: self) }
    if let value = scalar.reading(json) as? Value { return value }
    if type == Decimal.self, json.text != nil {
      throw DecodingError.dataCorrupted(
        .init(
          codingPath: codingPath,
          debugDescription: "no number with at most \(Decimal.digits) digits: declare the property as String"))
    }
    throw mismatch(type)
  }

  fileprivate func nested(_ json: ODataJSON, _ key: any CodingKey) -> ODataDecoder {
    ODataDecoder(json: json, codingPath: codingPath + [key])
  }

  private func mismatch(_ type: Any.Type) -> DecodingError {
    let found = "\(json)".prefix { $0 != "(" }  // the kind, and not the value, which may be confidential
    return .typeMismatch(
      type, .init(codingPath: codingPath, debugDescription: "expected \(type), but found: \(found)"))
  }
}

/// The index of an element or of a value's superclass, as a key.
struct ODataIndex: CodingKey {
  let intValue: Int?
  let stringValue: String

  init(_ index: Int) { (intValue, stringValue) = (index, "[\(index)]") }
  init?(intValue: Int) { self.init(intValue) }
  init?(stringValue: String) { (self.intValue, self.stringValue) = (nil, stringValue) }
}

extension ODataDecoder {
  private struct Members<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let members: [String: ODataJSON]
    let decoder: ODataDecoder

    var codingPath: [any CodingKey] { decoder.codingPath }
    var allKeys: [Key] { members.keys.compactMap { Key(stringValue: $0) } }

    func contains(_ key: Key) -> Bool { members[key.stringValue] != nil }
    func decodeNil(forKey key: Key) throws -> Bool {
      members[key.stringValue].map { $0 == .null || $0.isDeferred } ?? true
    }

    private func nested(_ key: any CodingKey) throws -> ODataDecoder {
      guard let json = members[key.stringValue] else {
        throw DecodingError.keyNotFound(
          key, .init(codingPath: codingPath, debugDescription: "there is no property '\(key.stringValue)'"))
      }
      return decoder.nested(json, key)
    }

    func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T { try nested(key).value(type) }

    func nestedContainer<N: CodingKey>(keyedBy type: N.Type, forKey key: Key) throws -> KeyedDecodingContainer<N> {
      try nested(key).container(keyedBy: type)
    }
    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
      try nested(key).unkeyedContainer()
    }
    func superDecoder() throws -> any Decoder { decoder }
    func superDecoder(forKey key: Key) throws -> any Decoder { try nested(key) }
  }

  private struct Elements: UnkeyedDecodingContainer {
    let elements: [ODataJSON]
    let decoder: ODataDecoder
    private(set) var currentIndex = 0

    init(elements: [ODataJSON], decoder: ODataDecoder) { (self.elements, self.decoder) = (elements, decoder) }

    var codingPath: [any CodingKey] { decoder.codingPath }
    var count: Int? { elements.count }
    var isAtEnd: Bool { currentIndex == elements.count }

    private mutating func next() throws -> ODataDecoder {
      guard !isAtEnd else {
        throw DecodingError.valueNotFound(
          Any.self, .init(codingPath: codingPath, debugDescription: "there are only \(elements.count) elements"))
      }
      defer { currentIndex += 1 }
      return decoder.nested(elements[currentIndex], ODataIndex(currentIndex))
    }

    mutating func decodeNil() throws -> Bool {
      guard !isAtEnd, elements[currentIndex] == .null else { return false }
      currentIndex += 1
      return true
    }
    mutating func decode<T: Decodable>(_ type: T.Type) throws -> T { try next().value(type) }

    mutating func nestedContainer<N: CodingKey>(keyedBy type: N.Type) throws -> KeyedDecodingContainer<N> {
      try next().container(keyedBy: type)
    }
    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer { try next().unkeyedContainer() }
    mutating func superDecoder() throws -> any Decoder { try next() }
  }
}
