#if HTTPTypes
public import HTTPTypes
public import MartletSemantics

extension MartletSemantics.HTTPFields {
  /// Makes fields of those of swift-http-types. Order, repeated lines and the case of names are kept.
  ///
  /// Bytes of a value that are not UTF-8 are Latin-1, as in a message that is received (RFC 9110 §5.5). What swift-http-types
  /// allows and a message does not becomes ``Martlet/HTTPFields/refusal``: the name of a pseudo-header field, such as
  /// `:path`, and control characters in a value. An indexing strategy is not taken over.
  public init(_ fields: HTTPTypes.HTTPFields) {
    self.init()
    for field in fields {
      let value = field.withUnsafeBytesOfValue { bytes in
        String(validating: bytes, as: UTF8.self) ?? String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
      }
      append(value, forName: field.name.rawName)
    }
  }
}

extension HTTPTypes.HTTPFields {
  /// Makes fields of Martlet's. Order, repeated lines and the case of names are kept; values are UTF-8.
  ///
  /// - Throws: ``Martlet/HTTPFields/refusal`` if a field was refused.
  public init(_ fields: MartletSemantics.HTTPFields) throws(FieldError) {
    try fields.validate()
    self.init()
    reserveCapacity(fields.count)
    for (name, value) in fields {
      guard let name = HTTPField.Name(name.rawName) else { throw .invalidName(name.rawName) }
      // a received Set-Cookie keeps its control characters, so that a cookie with any is ignored
      append(HTTPField(name: name, lenientValue: value.utf8))
    }
  }
}
#endif
