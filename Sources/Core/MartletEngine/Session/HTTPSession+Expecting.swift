public import MartletSemantics

extension HTTPSession {
  /// Sends the request and, if the status is expected, collects the response's body like ``data(for:)``. Runs off the
  /// caller's actor.
  ///
  /// - Throws: ``HTTPError``, of kind `.unexpectedResponse` if the status is not expected.
  @concurrent public func data(
    for request: HTTPRequest, expecting: StatusExpectation
  ) async throws(HTTPError) -> (Data, HTTPResponse) {
    try await data(for: request.expecting(expecting))
  }

  /// Sends the request and, if the status is expected, collects the response's body as text like ``text(for:)``. Runs
  /// off the caller's actor.
  ///
  /// - Throws: ``HTTPError``, of kind `.unexpectedResponse` if the status is not expected.
  @concurrent public func text(
    for request: HTTPRequest, expecting: StatusExpectation
  ) async throws(HTTPError) -> (String, HTTPResponse) {
    try await text(for: request.expecting(expecting))
  }

  /// Sends the request like ``bytes(for:)``, and returns the response if its status is expected. Runs off the caller's
  /// actor.
  ///
  /// - Throws: ``HTTPError``, of kind `.unexpectedResponse` if the status is not expected.
  @concurrent public func bytes(
    for request: HTTPRequest, expecting: StatusExpectation
  ) async throws(HTTPError) -> (ResponseBody, HTTPResponse) {
    try await bytes(for: request.expecting(expecting))
  }

  /// Sends the request with this body like ``upload(for:from:)``, and returns the response if its status is expected.
  /// Runs off the caller's actor.
  ///
  /// - Throws: ``HTTPError``, of kind `.unexpectedResponse` if the status is not expected.
  @concurrent public func upload(
    for request: HTTPRequest, from body: RequestBody, expecting: StatusExpectation
  ) async throws(HTTPError) -> (Data, HTTPResponse) {
    try await upload(for: request.expecting(expecting), from: body)
  }
}

extension HTTPSession {
  /// Ends the call of an unexpected response.
  ///
  /// - Parameter message: the mismatch; the status by default.
  /// - Returns: the error, with the beginning of the body if it arrives within ten seconds.
  package func unexpected(_ response: HTTPResponse, _ message: String? = nil) async -> HTTPError {
    let error = HTTPError.unexpected(message ?? "unexpected status \(response.status)", response)
    guard let body = response.body.ofSession else { return error }
    return await body.end(
      with: error, readingUpTo: HTTPError.bodyPrefix, within: .seconds(10), on: configuration.clock)
  }
}
