public import MartletSemantics

extension HTTPSession {
  /// Sends the request and reads the response's body as JSON.
  ///
  /// ```swift
  /// let (order, response) = try await session.value(of: Order.self, for: HTTPRequest(.get, url))
  /// ```
  ///
  /// A request without an `Accept` field gets the one from ``SessionConfiguration/fields``, or `application/json` if
  /// there is none. The response's `Content-Type` is not checked. If the type is optional, an empty body decodes as
  /// nil, for example after a 204.
  ///
  /// The body is decoded where the caller runs. The value need not be `Sendable`: code on an actor may decode a class
  /// that is isolated to the actor, or a type whose conformance to `Decodable` is.
  ///
  /// - Parameters:
  ///   - type: the type to decode.
  ///   - request: the request.
  ///   - expecting: the statuses whose body is the value; by default the ones in the request's or the session's
  ///     options, or any 2xx if neither sets them.
  ///   - decoder: decodes the body; ``SessionConfiguration/decoder`` by default.
  /// - Throws: ``HTTPError``, of kind `.unexpectedResponse` if the status is not expected or the body cannot be
  ///   decoded. It has the response's head, the first 64 KiB of the body in ``HTTPError/body``, and the decoder's error
  ///   in ``HTTPError/underlying``.
  public func value<Value: Decodable>(
    of type: Value.Type = Value.self, for request: HTTPRequest, expecting: StatusExpectation? = nil,
    decoder: JSONDecoder? = nil
  ) async throws(HTTPError) -> (Value, HTTPResponse) {
    let (data, response) = try await data(for: askingForJSON(request, expecting))
    return (try decode(type, from: data, of: response, by: decoder), response)
  }

  /// Returns the request for a value, with an `Accept` field and the expected statuses.
  func askingForJSON(_ request: HTTPRequest, _ expecting: StatusExpectation?) -> HTTPRequest {
    var request = request.expecting(expecting ?? sharedOptions(of: request).value.expecting ?? .successful)
    if !request.fields.contains(.accept), !configuration.fields.contains(.accept) {
      request.fields[.accept] = MediaType.json.description
    }
    return request
  }

  /// Decodes a response's body; by the session's decoder if none is given.
  func decode<Value: Decodable>(
    _ type: Value.Type, from data: Data, of response: HTTPResponse, by decoder: JSONDecoder?
  ) throws(HTTPError) -> Value {
    do {
      return try (decoder ?? configuration.decoder).decode(type, body: data)
    } catch {
      let content = response.fields.mediaType.map { " (\($0.essence), \(data.count) bytes)" } ?? ""
      throw .unexpected(
        "the body\(content) cannot be decoded as \(type): \(CodingFailure(error: error, body: data).reason)", response,
        data, underlying: error)
    }
  }
}

extension JSONDecoder {
  /// Decodes a body. If the type is optional, an empty body is nil.
  func decode<Value: Decodable>(_ type: Value.Type, body: Data) throws -> Value {
    try decode(type, from: body.isEmpty && type is any ExpressibleByNilLiteral.Type ? Data("null".utf8) : body)
  }
}
