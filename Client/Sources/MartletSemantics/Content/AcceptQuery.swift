extension HTTPFields {
  /// The media ranges in which a resource accepts queries (`Accept-Query`, RFC 10008 §3); nil if the field is absent
  /// or invalid: the resource may still support QUERY. The order means nothing.
  ///
  /// ```swift
  /// let form: MediaType = "application/x-www-form-urlencoded"
  /// let acceptsForms = response.fields.acceptQuery?.contains { form.matches($0) } ?? false
  /// ```
  ///
  /// It holds for all URLs of the server with the same path, whatever their query.
  public var acceptQuery: [MediaType]? {
    guard contains("Accept-Query"),
      let list = (try? structured("Accept-Query", as: StructuredField.List.self)).flatMap(\.self)
    else { return nil }
    return list.members.compactMap { member -> MediaType? in
      guard let item = member.item, let text = item.value.text, !text.contains(";"), var type = MediaType(text) else {
        return nil
      }
      // The only wildcards are `*/*` and `type/*`.
      guard type.type != "*" || type.subtype == "*" else { return nil }
      for (key, value) in item.parameters {
        guard let value = value.text else { return nil }
        type.parameters[FieldName(unchecked: key)] = value  // Keys are tokens (RFC 9651 §3.1.2).
      }
      return type
    }
  }
}
