#if HTTPTypes
public import HTTPTypes
public import MartletEngine
public import MartletSemantics

extension MartletSemantics.HTTPFields {
  /// Makes fields from those of swift-http-types. Order, repeated lines and the case of names are kept.
  ///
  /// Bytes of a value that are not UTF-8 are read as Latin-1, as in a received message (RFC 9110 §5.5).
  /// swift-http-types allows control characters in a value, but a message does not. They become a
  /// ``Martlet/HTTPFields/refusal``. An indexing strategy is dropped.
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
  /// Makes fields from Martlet's. Order, repeated lines and the case of names are kept; values are UTF-8.
  ///
  /// - Throws: ``Martlet/HTTPError`` of kind `.invalidRequest` if a field was refused, and of kind
  ///   `.unexpectedResponse` if there are more than 65,534 lines, which swift-http-types cannot hold. A server may send
  ///   that many.
  public init(_ fields: MartletSemantics.HTTPFields) throws(HTTPError) {
    do { try fields.validate() } catch { throw HTTPError(wrapping: error) }
    // One more would end the process.
    guard fields.count < UInt16.max else {
      throw HTTPError(
        .unexpectedResponse,
        "\(fields.count) field lines are more than swift-http-types holds: at most \(UInt16.max - 1)")
    }
    self.init()
    reserveCapacity(fields.count)
    for (name, value) in fields {
      guard let name = HTTPField.Name(name.rawName) else {
        throw HTTPError(wrapping: HTTPFields.Refusal.invalidName(name.rawName))
      }
      // A received Set-Cookie keeps its control characters, so that a cookie with any of them is ignored.
      append(HTTPField(name: name, lenientValue: value.utf8))
    }
  }
}
#endif
