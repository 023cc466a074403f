public import MartletTasks

/// What a ``MockSession`` answers to the requests of a key.
public struct MockResponder: Sendable {
  /// Answers one request; the number says how many this responder has had before.
  let respond: @Sendable (AskedRequest, _ earlier: Int) async throws -> HTTPResponse
  /// Tells a responder from all others, so that one that stays in a dictionary goes on counting.
  let identity = Identity()

  final class Identity: Sendable {}

  init(_ respond: @escaping @Sendable (AskedRequest, _ earlier: Int) async throws -> HTTPResponse) {
    self.respond = respond
  }

  /// Answers with what the closure makes of the request. What it throws is the task's failure.
  public static func closure(
    _ respond: @escaping @Sendable (AskedRequest) async throws -> MockResponder
  ) -> MockResponder {
    MockResponder { request, earlier in try await respond(request).respond(request, earlier) }
  }

  /// A response with these bytes; by default 200 and none.
  public static func response(
    status: HTTPStatus = .ok, headers: HTTPFields = [:], data: Data = Data()
  ) -> MockResponder {
    MockResponder { request, _ in
      HTTPResponse(
        url: request.request.url, wire: ResponseHead(status: status, fields: headers), body: ResponseBody(data))
    }
  }

  /// A response with this JSON.
  public static func response(
    json text: String, status: HTTPStatus = .ok, headers: HTTPFields = [:]
  ) -> MockResponder {
    response(status: status, headers: headers.describing(.json), data: Data(text.utf8))
  }

  /// A response with a value as JSON. One that cannot be encoded is the task's failure.
  public static func response(
    encoding value: some Encodable, status: HTTPStatus = .ok, headers: HTTPFields = [:],
    encoder: JSONEncoder = JSONEncoder()
  ) -> MockResponder {
    do throws(HTTPError) {
      let body = try RequestBody.json(value, encoder: encoder)
      return response(status: status, headers: headers.describing(.json), data: body.bytes ?? Data())
    } catch { return .error(error) }
  }

  /// No response: the exchange fails with this error.
  public static func error(_ error: any Error) -> MockResponder { MockResponder { _, _ in throw error } }

  /// One after another; the last one stays.
  public static func sequence(_ responders: MockResponder...) -> MockResponder { sequence(responders) }

  /// One after another; the last one stays. Of none, each request fails.
  public static func sequence(_ responders: [MockResponder]) -> MockResponder {
    MockResponder { request, earlier in
      guard let last = responders.last else {
        throw HTTPError(.other, "the mock's sequence has no answers")
      }
      return try await (earlier < responders.count ? responders[earlier] : last).respond(request, earlier)
    }
  }

  /// The same answer, that much later. A cancelled task does not wait.
  public func delayed(by delay: Duration) -> MockResponder {
    MockResponder { request, earlier in
      try await Task.sleep(for: delay.bounded)
      return try await respond(request, earlier)
    }
  }
}

/// A request as it reached a ``MockSession``: with headers, signature and authorization.
@dynamicMemberLookup
public struct AskedRequest: Sendable {
  /// The request.
  public let request: HTTPRequest
  /// Its body.
  public let body: Data

  /// A property of ``request``.
  public subscript<Value>(dynamicMember path: KeyPath<HTTPRequest, Value>) -> Value { request[keyPath: path] }

  /// Reads the body as JSON, for an expectation.
  public func body<Value: Decodable>(as type: Value.Type, decoder: JSONDecoder = JSONDecoder()) throws -> Value {
    try decoder.decode(type, from: body)
  }

  /// `POST /cart?gift=true`.
  var summary: String {
    let query = request.url.query(percentEncoded: true).map { "?" + $0 } ?? ""
    return "\(request.method) \(request.url.path(percentEncoded: true))\(query)"
  }
}

extension HTTPFields {
  fileprivate func describing(_ type: MediaType) -> HTTPFields {
    var fields = self
    if fields.mediaType == nil { fields[.contentType] = type.description }
    return fields
  }
}
