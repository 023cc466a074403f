/// A property in a filter, with its path: `Price`, `Customer/City`.
///
/// ```swift
/// extension ODataProperty { static let price = ODataProperty("Price") }
/// let cheap = ODataQuery().filter(.price <= 20 && !ODataProperty("Name").contains("decaf"))
/// ```
public struct ODataProperty: Sendable {
  /// The name, preceded by the navigation properties that lead to it, each with a slash.
  public let path: String

  /// Makes a property.
  public init(_ path: String) { self.path = path }

  /// The number of `any` and `all` around the condition that is being made: each has a variable of its own.
  @TaskLocal private static var lambdaDepth: Int = 0
}

/// A condition for entities, made of properties and typed values, so that no text has to be quoted or concatenated.
///
/// `==`, `!=`, `<`, `<=`, `>` and `>=` compare a property with a value; `&&`, `||` and `!` combine conditions.
public struct ODataFilter: Sendable {
  /// The text in V2; nil if it has no such condition.
  fileprivate let v2: String?
  fileprivate let v4: String

  /// A condition as text, for what the other forms do not have; never with a user's input in it. It is written in
  /// parentheses.
  public static func raw(_ text: String) -> ODataFilter { plain("(\(text))") }

  /// A condition that needs no parentheses and has the same text in both versions.
  fileprivate static func plain(_ text: String) -> ODataFilter { ODataFilter(v2: text, v4: text) }

  func text(_ version: ODataVersion) throws(ODataError) -> String {
    guard version == .v2 else { return v4 }
    guard let v2 else {
      throw ODataError(.invalidRequest, "OData V2 has neither 'any' nor 'all': filter by another property")
    }
    return v2
  }

  private static func join(_ left: ODataFilter, _ name: String, _ right: ODataFilter) -> ODataFilter {
    let v2 = left.v2.flatMap { left in right.v2.map { "(\(left) \(name) \($0))" } }
    return ODataFilter(v2: v2, v4: "(\(left.v4) \(name) \(right.v4))")
  }

  /// Both conditions.
  public static func && (left: ODataFilter, right: ODataFilter) -> ODataFilter { join(left, "and", right) }

  /// At least one of the conditions.
  public static func || (left: ODataFilter, right: ODataFilter) -> ODataFilter { join(left, "or", right) }

  /// Not the condition.
  public static prefix func ! (condition: ODataFilter) -> ODataFilter {
    ODataFilter(v2: condition.v2.map { "not (\($0))" }, v4: "not (\(condition.v4))")
  }
}

extension ODataProperty {
  private func compare(_ name: String, _ value: ODataLiteral) -> ODataFilter {
    ODataFilter(v2: "\(path) \(name) \(value.text(.v2))", v4: "\(path) \(name) \(value.text(.v4))")
  }

  private func lambda(_ name: String, _ condition: (ODataProperty) -> ODataFilter) -> ODataFilter {
    let depth = Self.lambdaDepth
    let variable = depth == 0 ? "x" : "x\(depth)"
    let inner = Self.$lambdaDepth.withValue(depth + 1) { condition(ODataProperty(variable)) }
    return ODataFilter(v2: nil, v4: "\(path)/\(name)(\(variable):\(inner.v4))")
  }

  /// Equal to the value.
  public static func == (left: Self, right: ODataLiteral) -> ODataFilter { left.compare("eq", right) }
  /// Different from the value.
  public static func != (left: Self, right: ODataLiteral) -> ODataFilter { left.compare("ne", right) }
  /// Less than the value.
  public static func < (left: Self, right: ODataLiteral) -> ODataFilter { left.compare("lt", right) }
  /// Less than the value, or equal to it.
  public static func <= (left: Self, right: ODataLiteral) -> ODataFilter { left.compare("le", right) }
  /// Greater than the value.
  public static func > (left: Self, right: ODataLiteral) -> ODataFilter { left.compare("gt", right) }
  /// Greater than the value, or equal to it.
  public static func >= (left: Self, right: ODataLiteral) -> ODataFilter { left.compare("ge", right) }

  /// The text contains this one: `contains` in V4, `substringof` in V2.
  public func contains(_ text: String) -> ODataFilter {
    let literal = ODataLiteral.string(text).text(.v4)
    return ODataFilter(v2: "substringof(\(literal),\(path))", v4: "contains(\(path),\(literal))")
  }
  /// The text begins with this one.
  public func hasPrefix(_ text: String) -> ODataFilter {
    .plain("startswith(\(path),\(ODataLiteral.string(text).text(.v4)))")
  }
  /// The text ends with this one.
  public func hasSuffix(_ text: String) -> ODataFilter {
    .plain("endswith(\(path),\(ODataLiteral.string(text).text(.v4)))")
  }

  /// The value is one of these. Of none, the condition is never true.
  public func isIn(_ values: [ODataLiteral]) -> ODataFilter {
    guard let first = values.first else { return .plain("1 eq 0") }
    return values.dropFirst().reduce(self == first) { $0 || self == $1 }
  }

  /// At least one element of a collection fulfils the condition (V4).
  public func any(_ condition: (ODataProperty) -> ODataFilter) -> ODataFilter { lambda("any", condition) }
  /// All elements of a collection fulfil the condition (V4).
  public func all(_ condition: (ODataProperty) -> ODataFilter) -> ODataFilter { lambda("all", condition) }

  /// A property of this one: `x["Price"]` within ``any(_:)``, `ODataProperty("Customer")["City"]`.
  public subscript(name: String) -> ODataProperty { ODataProperty("\(path)/\(name)") }
}
