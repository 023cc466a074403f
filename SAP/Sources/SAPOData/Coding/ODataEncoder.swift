@_spi(Toolkit) import SAPFoundation

/// Encodes values as JSON in the forms of V2 or V4: see ``ODataFormat``.
struct ODataEncoder: Encoder, SingleValueEncodingContainer {
  /// A value while it is encoded. A class, because containers are values that write to the same place.
  fileprivate final class Node {
    enum Content {
      case value(ODataJSON)
      case members([String: Node])
      case elements([Node])
    }

    var content = Content.value(.null)

    var json: ODataJSON {
      switch content {
      case .value(let json): json
      case .members(let members): .object(members.mapValues(\.json))
      case .elements(let elements): .array(elements.map(\.json))
      }
    }

    func member(_ name: String) -> Node {
      let node = Node()
      guard case .members(var members) = content else { return node }
      content = .value(.null)  // the only reference, so that the dictionary is not copied
      members[name] = node
      content = .members(members)
      return node
    }

    func element() -> Node {
      let node = Node()
      guard case .elements(var elements) = content else { return node }
      content = .value(.null)  // the only reference, so that the array is not copied
      elements.append(node)
      content = .elements(elements)
      return node
    }
  }

  private let node: Node
  let codingPath: [any CodingKey]
  let userInfo: [CodingUserInfoKey: Any] = [:]
  let format: ODataFormat

  private init(node: Node, codingPath: [any CodingKey], format: ODataFormat) {
    (self.node, self.codingPath, self.format) = (node, codingPath, format)
  }

  /// - Throws: the error of the value.
  static func encode(_ value: some Encodable, _ format: ODataFormat) throws -> ODataJSON {
    let node = Node()
    try Self(node: node, codingPath: [], format: format).write(value)
    return node.json
  }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    if case .members = node.content {} else { node.content = .members([:]) }
    return KeyedEncodingContainer(Members(encoder: self))
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer {
    if case .elements = node.content {} else { node.content = .elements([]) }
    return Elements(encoder: self)
  }

  func singleValueContainer() -> any SingleValueEncodingContainer { self }

  func encodeNil() throws {}

  func encode<T: Encodable>(_ value: T) throws { try write(value) }

  fileprivate func write(_ value: some Encodable) throws {
    if let scalar = value as? any ODataScalar {
      node.content = .value(scalar.json(format))
    } else {
      try value.encode(to: self)
    }
  }

  fileprivate func nested(_ node: Node, _ key: any CodingKey) -> ODataEncoder {
    ODataEncoder(node: node, codingPath: codingPath + [key], format: format)
  }
}

extension ODataEncoder {
  private struct Members<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let encoder: ODataEncoder
    var codingPath: [any CodingKey] { encoder.codingPath }

    private func nested(_ key: any CodingKey) -> ODataEncoder {
      encoder.nested(encoder.node.member(key.stringValue), key)
    }

    func encodeNil(forKey key: Key) throws { _ = nested(key) }
    func encode<T: Encodable>(_ value: T, forKey key: Key) throws { try nested(key).write(value) }

    func nestedContainer<N: CodingKey>(keyedBy type: N.Type, forKey key: Key) -> KeyedEncodingContainer<N> {
      nested(key).container(keyedBy: type)
    }
    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer { nested(key).unkeyedContainer() }
    func superEncoder() -> any Encoder { encoder }
    func superEncoder(forKey key: Key) -> any Encoder { nested(key) }
  }

  private struct Elements: UnkeyedEncodingContainer {
    let encoder: ODataEncoder
    var codingPath: [any CodingKey] { encoder.codingPath }
    var count: Int { if case .elements(let elements) = encoder.node.content { elements.count } else { 0 } }

    private func next() -> ODataEncoder { encoder.nested(encoder.node.element(), ODataIndex(count)) }

    func encodeNil() throws { _ = next() }
    func encode<T: Encodable>(_ value: T) throws { try next().write(value) }

    func nestedContainer<N: CodingKey>(keyedBy type: N.Type) -> KeyedEncodingContainer<N> {
      next().container(keyedBy: type)
    }
    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { next().unkeyedContainer() }
    func superEncoder() -> any Encoder { next() }
  }
}
