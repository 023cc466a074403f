public import MartletSemantics

extension RequestBody {
  /// A value as JSON (RFC 8259), with its `Content-Type`, `application/json`.
  ///
  /// ```swift
  /// let request = HTTPRequest(.post, url, body: try .json(order))
  /// ```
  ///
  /// - Parameters:
  ///   - value: what is encoded, now.
  ///   - encoder: how dates, keys and the like are written; Foundation's defaults by default.
  /// - Throws: ``HTTPError`` of kind `.invalidRequest` that names the place; the encoder's error lies beneath.
  public static func json(
    _ value: some Encodable, encoder: JSONEncoder = JSONEncoder()
  ) throws(HTTPError) -> RequestBody {
    do {
      var body = RequestBody.data(try encoder.encode(value))
      body.fields[.contentType] = MediaType.json.description
      return body
    } catch {
      throw HTTPError(
        .invalidRequest, "the \(type(of: value)) cannot be written as JSON\(CodingFailure(error: error).place)",
        phase: .preparing,
        underlying: error)
    }
  }
}
