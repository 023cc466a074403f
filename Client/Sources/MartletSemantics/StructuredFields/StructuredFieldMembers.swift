/// Keys and values in their order, with the position of each key: a peer may send tens of thousands of keys, and to
/// search all of them for each one would take too long.
struct Members<Value: Sendable & Hashable>: Sendable {
  private(set) var pairs: [(key: String, value: Value)] = []
  private var positions: [String: Int] = [:]

  subscript(key: String) -> Value? {
    get { positions[key].map { pairs[$0].value } }
    set {
      switch (positions[key], newValue) {
      case (let position?, let value?): pairs[position].value = value
      case (nil, let value?):
        positions[key] = pairs.count
        pairs.append((key, value))
      case (let position?, nil):
        pairs.remove(at: position)
        positions[key] = nil
        for index in position..<pairs.count { positions[pairs[index].key] = index }
      case (nil, nil): break
      }
    }
  }
}

extension Members: Hashable {
  static func == (left: Self, right: Self) -> Bool { left.pairs.elementsEqual(right.pairs, by: ==) }

  func hash(into hasher: inout Hasher) {
    for (key, value) in pairs {
      hasher.combine(key)
      hasher.combine(value)
    }
  }
}

extension StructuredField.Parameters: Sequence, ExpressibleByDictionaryLiteral {
  /// Makes parameters from a literal such as `["created": .integer(1)]`.
  public init(dictionaryLiteral elements: (String, StructuredField.BareItem)...) {
    for (key, value) in elements { members[key] = value }
  }

  /// The parameters in order.
  public func makeIterator() -> IndexingIterator<[(key: String, value: StructuredField.BareItem)]> {
    members.pairs.makeIterator()
  }

  /// The number of parameters.
  public var count: Int { members.pairs.count }

  /// Whether there are none.
  public var isEmpty: Bool { members.pairs.isEmpty }
}

extension StructuredField.Dictionary: Sequence, ExpressibleByDictionaryLiteral {
  /// Makes a dictionary from a literal such as `["u": .item(StructuredField.Item(.integer(1)))]`.
  public init(dictionaryLiteral elements: (String, StructuredField.Member)...) {
    for (key, member) in elements { members[key] = member }
  }

  /// The members in order.
  public func makeIterator() -> IndexingIterator<[(key: String, value: StructuredField.Member)]> {
    members.pairs.makeIterator()
  }

  /// The number of members.
  public var count: Int { members.pairs.count }

  /// Whether there are none.
  public var isEmpty: Bool { members.pairs.isEmpty }
}
