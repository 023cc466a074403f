import MartletSemantics
@_spi(Toolkit) import SAPFoundation

/// A body's value, whose numbers keep their digits: an `Int64` or `Decimal` never becomes a `Double` on its way.
typealias ODataJSON = ExactJSON

extension ExactJSON {
  /// Reads a body.
  ///
  /// - Throws: `ODataError` with the line and the column of the first fault.
  init(body: Data) throws(ODataError) {
    do { self = try ExactJSON(body) } catch { throw ODataError(.invalidResponse, "the body is \(error)") }
  }

  /// The member of an object; nil for anything else, and for null.
  subscript(name: String) -> ODataJSON? {
    guard case .object(let members) = self, let value = members[name], value != .null else { return nil }
    return value
  }

  /// Returns the first of these members that exists.
  func first(_ names: String...) -> ODataJSON? {
    for name in names { if let value = self[name] { return value } }
    return nil
  }

  /// The text of a string or number.
  var text: String? {
    switch self {
    case .string(let text), .number(let text): text
    default: nil
    }
  }

  /// The elements of a collection: an array, or V2's object with `results`.
  var elements: [ODataJSON]? {
    if case .array(let elements) = self { return elements }
    if case .array(let elements)? = self["results"] { return elements }
    return nil
  }

  /// Whether V2 sent only a link in place of an entity that was not expanded.
  var isDeferred: Bool { self["__deferred"] != nil }
}
