#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Any JSON: what is left to work with when a server's structure is not to be relied on.
enum JSONValue: Sendable, Hashable, Decodable {
  case null
  case bool(Bool)
  case number(Double)
  case integer(Int64)
  case string(String)
  case array([JSONValue])
  case object([String: JSONValue])

  init(from decoder: any Decoder) throws {
    if let members = try? decoder.container(keyedBy: AnyKey.self) {
      var object: [String: JSONValue] = [:]
      for key in members.allKeys { object[key.stringValue] = try members.decode(JSONValue.self, forKey: key) }
      self = .object(object)
    } else if var elements = try? decoder.unkeyedContainer() {
      var array: [JSONValue] = []
      while !elements.isAtEnd { array.append(try elements.decode(JSONValue.self)) }
      self = .array(array)
    } else {
      self = try Self.scalar(decoder.singleValueContainer())
    }
  }

  private static func scalar(_ container: any SingleValueDecodingContainer) throws -> JSONValue {
    if container.decodeNil() { return .null }
    if let value = try? container.decode(Bool.self) { return .bool(value) }
    if let value = try? container.decode(Int64.self) { return .integer(value) }
    if let value = try? container.decode(Double.self) { return .number(value) }
    return .string(try container.decode(String.self))
  }

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

/// A member of an object whose name is not known beforehand.
private struct AnyKey: CodingKey {
  let stringValue: String
  var intValue: Int? { nil }

  init?(stringValue: String) { self.stringValue = stringValue }
  init?(intValue: Int) { nil }
}
