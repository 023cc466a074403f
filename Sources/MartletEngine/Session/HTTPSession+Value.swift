public import MartletSemantics

extension HTTPSession {
  /// Sends the request and reads the response's body as JSON.
  ///
  /// ```swift
  /// let (order, response) = try await session.value(of: Order.self, for: HTTPRequest(.get, url))
  /// ```
  ///
  /// A request that has no `Accept` gets `application/json`. What the body's `Content-Type` says does not matter, if it is JSON.
  /// Where there is no body, as with a 204, an optional value is nil.
  ///
  /// - Parameters:
  ///   - type: what the body stands for.
  ///   - request: the request.
  ///   - decoder: how dates, keys and the like are read; Foundation's defaults by default.
  /// - Throws: ``HTTPError``, of kind `.unexpectedResponse` where the status is no 2xx, or the body no such value: with the
  ///   response's head, the beginning of its body in ``HTTPError/body``, and the decoder's error beneath.
  public func value<Value: Decodable & Sendable>(
    of type: Value.Type = Value.self, for request: HTTPRequest, decoder: JSONDecoder = JSONDecoder()
  ) async throws(HTTPError) -> (Value, HTTPResponse) {
    var request = request
    if !request.fields.contains(.accept) { request.fields[.accept] = MediaType.json.description }
    let (data, response) = try await data(for: request)
    guard response.status.isSuccessful else {
      throw .unexpected("the status is \(response.status.code), so there is no \(type)", response, to: request, data)
    }
    do {
      return (try decoder.decode(type, body: data), response)
    } catch {
      let content = response.fields.mediaType.map { " (\($0.essence), \(data.count) bytes)" } ?? ""
      let failure = CodingFailure(error: error)
      throw .unexpected(
        "the body\(content) is no \(type): \(failure.reason)\(failure.place)", response, to: request, data,
        underlying: error)
    }
  }
}

extension JSONDecoder {
  /// Reads a body. One without bytes, a 204's for example, is nil where that is a value.
  package func decode<Value: Decodable>(_ type: Value.Type, body: Data) throws -> Value {
    try decode(type, from: body.isEmpty && type is any ExpressibleByNilLiteral.Type ? Data("null".utf8) : body)
  }
}

extension HTTPError {
  /// An error about what a response is, placed in its exchange.
  static func unexpected(
    _ message: String, _ response: HTTPResponse, to request: HTTPRequest, _ body: Data? = nil,
    underlying: (any Error)? = nil
  ) -> HTTPError {
    var error = HTTPError(.unexpectedResponse, message, phase: .receiving, underlying: underlying)
    error.body = body.map { Data($0.prefix(64 << 10)) }
    return error.placed(
      request: RequestHead(method: request.method, url: response.url, fields: request.fields), response: response.head,
      attempts: response.history)
  }
}
