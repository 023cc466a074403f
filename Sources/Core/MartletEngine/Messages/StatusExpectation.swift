public import MartletSemantics

/// The statuses of a response that a caller expects. Another one is an error of kind
/// ``HTTPError/Kind/unexpectedResponse`` that has the head, and the first 64 KiB of the body in ``HTTPError/body``.
///
/// ```swift
/// let (data, _) = try await session.data(for: request, expecting: .successful)
/// let response = try await session.download(for: request, to: file, expecting: .only([.ok, .notModified]))
/// ```
///
/// It is given with the verb, or in ``RequestOptions/expecting`` for a request or all requests of a session. The status
/// is that of the final response, after redirects and retries.
public struct StatusExpectation: Sendable, Hashable {
  private enum Rule: Sendable, Hashable {
    case any
    case successful
    case only(Set<HTTPStatus>)
  }

  private let rule: Rule

  /// Any status: the caller checks it.
  public static let any = StatusExpectation(rule: .any)
  /// Any 2xx.
  public static let successful = StatusExpectation(rule: .successful)
  /// One of these.
  public static func only(_ statuses: Set<HTTPStatus>) -> StatusExpectation {
    StatusExpectation(rule: .only(statuses))
  }

  /// Whether the status is expected.
  public func accepts(_ status: HTTPStatus) -> Bool {
    switch rule {
    case .any: true
    case .successful: status.isSuccessful
    case .only(let statuses): statuses.contains(status)
    }
  }
}

extension RequestOptions {
  /// Whether the caller expects the status; without an expectation any is.
  func accepts(_ status: HTTPStatus) -> Bool { expecting?.accepts(status) ?? true }
}

extension HTTPSession {
  /// Sends the request and collects the response's body like ``data(for:)``, if the status is expected.
  ///
  /// - Throws: ``HTTPError``, of kind `.unexpectedResponse` if the status is not expected.
  public func data(
    for request: HTTPRequest, expecting: StatusExpectation
  ) async throws(HTTPError) -> (Data, HTTPResponse) {
    try await data(for: request.expecting(expecting))
  }

  /// Sends the request like ``bytes(for:)``, and returns the response if its status is expected.
  ///
  /// - Throws: ``HTTPError``, of kind `.unexpectedResponse` if the status is not expected.
  public func bytes(
    for request: HTTPRequest, expecting: StatusExpectation
  ) async throws(HTTPError) -> (ResponseBody, HTTPResponse) {
    try await bytes(for: request.expecting(expecting))
  }

  /// Sends the request with this body like ``upload(for:from:)``, and returns the response if its status is expected.
  ///
  /// - Throws: ``HTTPError``, of kind `.unexpectedResponse` if the status is not expected.
  public func upload(
    for request: HTTPRequest, from body: RequestBody, expecting: StatusExpectation
  ) async throws(HTTPError) -> (Data, HTTPResponse) {
    try await upload(for: request.expecting(expecting), from: body)
  }

  /// Downloads like ``download(for:to:)``, but with other statuses than 2xx that are expected. Their responses are
  /// returned with the body unread, and the destination is not changed.
  ///
  /// - Throws: ``HTTPError``, of kind `.unexpectedResponse` if the status is not expected, and of kind `.file` if the
  ///   destination cannot be written.
  public func download(
    for request: HTTPRequest, to destination: URL, expecting: StatusExpectation
  ) async throws(HTTPError) -> HTTPResponse {
    try await download(for: request.expecting(expecting), to: destination)
  }
}

extension HTTPRequest {
  func expecting(_ expectation: StatusExpectation) -> HTTPRequest {
    var request = self
    request.options.expecting = expectation
    return request
  }
}

extension HTTPSession {
  /// Ends the call of a response whose status is not expected.
  ///
  /// - Returns: the error, with the beginning of the body if it arrives within ten seconds.
  @inline(never)  // its variables would have room in the frames of the verbs
  func unexpectedStatus(of response: HTTPResponse, to request: HTTPRequest) async -> HTTPError {
    let error = HTTPError.unexpected("unexpected status \(response.status)", response, to: request)
    guard let body = response.body.source as? SessionBody else { return error }
    return await body.end(
      with: error, readingUpTo: HTTPError.bodyPrefix, within: .seconds(10), on: configuration.clock)
  }
}
