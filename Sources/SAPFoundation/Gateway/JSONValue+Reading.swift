import MartletSemantics

// What is left to work with when a server's structure is not to be relied on.
extension JSONValue {
  /// The member of an object; nil for anything else, and for null.
  subscript(name: String) -> JSONValue? {
    guard case .object(let members) = self, let value = members[name], value != .null else { return nil }
    return value
  }

  /// The first of these members that is there.
  func first(_ names: String...) -> JSONValue? {
    for name in names { if let value = self[name] { return value } }
    return nil
  }

  /// The member whose name ends so: the alias before a vocabulary's term varies (`@Common.`, `@SAP__common.`).
  func term(_ suffix: String) -> JSONValue? {
    guard case .object(let members) = self else { return nil }
    let name = members.keys.sorted().first { $0.hasPrefix("@") && $0.lowercased().hasSuffix("." + suffix.lowercased()) }
    return name.flatMap { self[$0] }
  }

  /// The text of a scalar: numbers and truth values as they are written. Nil for structures, null and empty text.
  var text: String? {
    switch self {
    case .string(let text): text.isEmpty ? nil : text
    case .integer(let number): "\(number)"
    case .number(let number): "\(number)"
    case .bool(let value): "\(value)"
    case .null, .array, .object: nil
    }
  }

  /// The truth that is written as a truth value or as text.
  var truth: Bool? {
    switch self {
    case .bool(let value): value
    case .string(let text): Bool(text.lowercased())
    default: nil
    }
  }

  /// The elements of an array; anything else is an array of itself.
  var elements: [JSONValue] {
    switch self {
    case .array(let elements): elements
    case .null: []
    default: [self]
    }
  }
}
