public import MartletSemantics

extension HTTPSession {
  /// Sends the request and reads the response's body as JSON.
  ///
  /// ```swift
  /// let (order, response) = try await session.value(of: Order.self, for: HTTPRequest(.get, url))
  /// ```
  ///
  /// A request without an `Accept` field is sent with `application/json`. The response's `Content-Type` is not checked.
  /// An empty body, of a 204 for example, is nil if the type is an optional.
  ///
  /// - Parameters:
  ///   - type: the type to decode.
  ///   - request: the request.
  ///   - decoder: decodes the body; a `JSONDecoder` with its default strategies by default.
  /// - Throws: ``HTTPError``, of kind `.unexpectedResponse` if the status is not 2xx or the body cannot be decoded. It
  ///   has the response's head, the first 64 KiB of the body in ``HTTPError/body``, and the decoder's error in
  ///   ``HTTPError/underlying``.
  public func value<Value: Decodable & Sendable>(
    of type: Value.Type = Value.self, for request: HTTPRequest, decoder: JSONDecoder = JSONDecoder()
  ) async throws(HTTPError) -> (Value, HTTPResponse) {
    var request = request
    if !request.fields.contains(.accept) { request.fields[.accept] = MediaType.json.description }
    let (data, response) = try await data(for: request)
    guard response.status.isSuccessful else {
      throw .unexpected("unexpected status \(response.status)", response, to: request, data)
    }
    do {
      return (try decoder.decode(type, body: data), response)
    } catch {
      let content = response.fields.mediaType.map { " (\($0.essence), \(data.count) bytes)" } ?? ""
      throw .unexpected(
        "the body\(content) cannot be decoded as \(type): \(CodingFailure(error: error, body: data).reason)", response,
        to: request, data, underlying: error)
    }
  }
}

extension JSONDecoder {
  /// Decodes a body. An empty one is nil if the type is an optional.
  package func decode<Value: Decodable>(_ type: Value.Type, body: Data) throws -> Value {
    try decode(type, from: body.isEmpty && type is any ExpressibleByNilLiteral.Type ? Data("null".utf8) : body)
  }
}

extension HTTPError {
  /// Makes an error about a response that was received.
  static func unexpected(
    _ message: String, _ response: HTTPResponse, to request: HTTPRequest, _ body: Data? = nil,
    underlying: (any Error)? = nil
  ) -> HTTPError {
    var error = HTTPError(.unexpectedResponse, message, phase: .receiving, underlying: underlying)
    error.body = body.map { Data($0.prefix(64 << 10)) }
    return error.addingContext(
      request: RequestHead(method: request.method, url: response.url, fields: request.fields), response: response.head,
      attempts: response.history)
  }
}
