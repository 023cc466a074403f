public import Martlet

/// The result of a task: the value or the failure, and the response.
public struct NetworkResponse<Value: Sendable>: Sendable {
  /// The value or the failure.
  public var result: Result<Value, any Error>
  /// The bytes of the body; empty if there was none.
  public var data: Data
  /// The response; nil if there was none. Its body has been read, or was discarded if the call failed later.
  public var response: HTTPResponse?

  /// Makes a response.
  public init(result: Result<Value, any Error>, data: Data = Data(), response: HTTPResponse? = nil) {
    self.result = result
    self.data = data
    self.response = response
  }

  /// Makes the result of a failed call, with the head of the last response, if any.
  init(failure: HTTPError) {
    let response = failure.response.flatMap { head in
      failure.request.map { request in
        var response = HTTPResponse(url: request.url)
        response.head = head
        return response
      }
    }
    self.init(result: .failure(failure), response: response)
  }

  /// The status code; nil without a response.
  public var statusCode: Int? { response?.status.code }

  /// The response's fields; none without a response.
  public var fields: HTTPFields { response?.fields ?? [:] }

  /// The value.
  ///
  /// - Throws: the failure.
  public var value: Value { get throws { try result.get() } }

  /// The failure; nil if there is a value.
  public var error: (any Error)? { if case .failure(let error) = result { error } else { nil } }

  /// Returns the response with a transformed value; an error of the closure becomes the failure.
  func map<Other: Sendable>(_ transform: (Value) throws -> Other) -> NetworkResponse<Other> {
    NetworkResponse<Other>(result: Result { try transform(value) }, data: data, response: response)
  }
}

extension NetworkResponse: CustomReflectable {
  /// A mirror without the bytes of the body.
  public var customMirror: Mirror {
    Mirror(self, children: ["result": "\(result)", "data": "\(data)", "response": response as Any])
  }
}
