public import Martlet

/// What came of a task: the value or the failure, and the response that it was read from.
public struct NetworkResponse<Value: Sendable>: Sendable {
  /// The value, or why there is none.
  public var result: Result<Value, any Error>
  /// The body as it came; empty if nothing did.
  public var data: Data
  /// The response, nil where none came. Its body has been read, or was given up where the exchange failed later.
  public var response: HTTPResponse?

  /// Makes a response.
  public init(result: Result<Value, any Error>, data: Data = Data(), response: HTTPResponse? = nil) {
    self.result = result
    self.data = data
    self.response = response
  }

  /// What came of an exchange that failed: the head of the last response, if there was one.
  init(failure: HTTPError) {
    let response = failure.response.flatMap { head in
      failure.request.map { HTTPResponse(status: head.status, fields: head.fields, url: $0.url) }
    }
    self.init(result: .failure(failure), response: response)
  }

  /// The status code, nil where no response came.
  public var statusCode: Int? { response?.status.code }

  /// The response's fields; none where no response came.
  public var fields: HTTPFields { response?.fields ?? [:] }

  /// The value.
  ///
  /// - Throws: the failure.
  public var value: Value { get throws { try result.get() } }

  /// The failure, nil if there is a value.
  public var error: (any Error)? { if case .failure(let error) = result { error } else { nil } }

  /// The same response with what the closure makes of the value; what it throws becomes the failure.
  func reading<Other: Sendable>(_ read: (Value) throws -> Other) -> NetworkResponse<Other> {
    NetworkResponse<Other>(result: Result { try read(value) }, data: data, response: response)
  }
}
