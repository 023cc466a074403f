@_spi(Toolkit) public import MartletSemantics

extension HTTPSession {
  /// Sends the request, and collects the response's body as text, up to ``RequestOptions/collectLimit`` bytes. Runs off
  /// the caller's actor.
  ///
  /// ```swift
  /// let (text, response) = try await session.text(for: HTTPRequest(.get, url))
  /// ```
  ///
  /// - Throws: ``HTTPError``, as ``data(for:expecting:)`` and ``HTTPResponse/text(of:)``.
  @concurrent public func text(
    for request: HTTPRequest, expecting: StatusExpectation? = nil
  ) async throws(HTTPError) -> (String, HTTPResponse) {
    let (data, response) = try await data(for: request, expecting: expecting)
    do { return (try response.text(of: data), response) } catch { throw error.addingContext(of: response) }
  }
}

extension HTTPResponse {
  /// Decodes the response's body as text, in the charset that its `Content-Type` names; UTF-8 by default. UTF-8, UTF-16
  /// and windows-1252 are supported; `us-ascii` and `iso-8859-1` are other names for windows-1252 (WHATWG Encoding
  /// §4.2). A byte order mark takes precedence and is omitted.
  ///
  /// - Parameter data: the body.
  /// - Throws: ``HTTPError`` of kind `.undecodableBody` if the charset is not supported, or the bytes are not valid in
  ///   it. ``HTTPError/body`` has the beginning of the body.
  public func text(of data: Data) throws(HTTPError) -> String {
    let label = fields.mediaType?.charset
    guard let coding = label.map({ TextCoding(label: $0) }) ?? .utf8 else {
      throw .undecodable(
        "the body has the charset '\(label ?? "")', which is not supported: decode the data by other means", data)
    }
    guard let text = coding.text(data) else {
      let origin = label == nil ? "the default" : "the charset of its Content-Type"
      throw .undecodable("the body is not valid in \(label ?? coding.rawValue), \(origin)", data)
    }
    return text
  }
}

extension HTTPError {
  fileprivate static func undecodable(_ message: String, _ data: Data) -> HTTPError {
    var error = HTTPError(.undecodableBody, message, phase: .receiving)
    error.body = data.prefix(bodyPrefix)
    return error
  }
}
