extension HTTPFields {
  /// The elements of a field that is a list (RFC 9110 §5.6.1), over all its lines, in order.
  ///
  /// ```swift
  /// let fields: HTTPFields = [.vary: "Accept, Origin", .vary: "Cookie"]
  /// fields.list(.vary)   // ["Accept", "Origin", "Cookie"]
  /// ```
  ///
  /// Commas in quoted strings separate nothing; quotes stay, because they belong to the element. Empty elements are
  /// ignored. Not for `Set-Cookie`, nor for fields that hold one date: their commas are no separators.
  public func list(_ name: FieldName) -> [String] {
    self[values: name].flatMap { FieldList.elements(of: $0[...]).map(String.init) }
  }
}
