@_spi(Toolkit) import MartletSemantics
public import MartletTasks

/// The response of a ``MockSession`` to the requests of a key.
public struct MockResponder: Sendable {
  /// Answers one request; `earlier` is the number of requests that this responder answered before.
  let respond: @Sendable (SentRequest, _ earlier: Int) async throws -> HTTPResponse
  /// Identifies the responder: while it stays in the dictionary, it keeps its count.
  let identity = Identity()

  final class Identity: Sendable {}

  init(_ respond: @escaping @Sendable (SentRequest, _ earlier: Int) async throws -> HTTPResponse) {
    self.respond = respond
  }

  /// Answers with the responder that the closure returns. The task fails with the error that it throws.
  public static func closure(
    _ respond: @escaping @Sendable (SentRequest) async throws -> MockResponder
  ) -> MockResponder {
    MockResponder { request, earlier in try await respond(request).respond(request, earlier) }
  }

  /// A response with these bytes; by default an empty one with status 200.
  public static func response(
    status: HTTPStatus = .ok, headers: HTTPFields = [:], data: Data = Data()
  ) -> MockResponder {
    MockResponder { request, _ in
      HTTPResponse(
        url: request.request.url, networkHead: ResponseHead(status: status, fields: headers), body: ResponseBody(data))
    }
  }

  /// A response with this JSON text.
  public static func response(
    json text: String, status: HTTPStatus = .ok, headers: HTTPFields = [:]
  ) -> MockResponder {
    response(status: status, headers: headers.describing(.json), data: Data(text.utf8))
  }

  /// A response with a value, encoded as JSON. If it cannot be encoded, the task fails.
  public static func response(
    encoding value: some Encodable, status: HTTPStatus = .ok, headers: HTTPFields = [:],
    encoder: JSONEncoder = JSONEncoder()
  ) -> MockResponder {
    do throws(HTTPError) {
      let body = try RequestBody.json(value, encoder: encoder)
      return response(status: status, headers: headers.describing(.json), data: body.bytes ?? Data())
    } catch { return .error(error) }
  }

  /// No response: the request fails with this error.
  public static func error(_ error: any Error) -> MockResponder { MockResponder { _, _ in throw error } }

  /// One responder after another; the last one repeats.
  public static func sequence(_ responders: MockResponder...) -> MockResponder { sequence(responders) }

  /// One responder after another; the last one repeats. With an empty list, every request fails.
  public static func sequence(_ responders: [MockResponder]) -> MockResponder {
    MockResponder { request, earlier in
      guard let last = responders.last else {
        throw HTTPError(.other, "the mock's sequence is empty")
      }
      return try await (earlier < responders.count ? responders[earlier] : last).respond(request, earlier)
    }
  }

  /// Delays the response. Cancelling the task ends the delay.
  public func delayed(by delay: Duration) -> MockResponder {
    MockResponder { request, earlier in
      try await Task.sleep(for: delay.bounded)
      return try await respond(request, earlier)
    }
  }
}

/// A request as a ``MockSession`` received it, with headers, signature and authorization.
@dynamicMemberLookup
public struct SentRequest: Sendable {
  /// The request.
  public let request: HTTPRequest
  /// Its body.
  public let body: Data

  /// A property of ``request``.
  public subscript<Value>(dynamicMember path: KeyPath<HTTPRequest, Value>) -> Value { request[keyPath: path] }

  /// Decodes the body as JSON.
  public func body<Value: Decodable>(as type: Value.Type, decoder: JSONDecoder = JSONDecoder()) throws -> Value {
    try decoder.decode(type, from: body)
  }

  /// `POST /cart?gift=true`.
  var summary: String {
    let query = request.url.query(percentEncoded: true).map { "?" + $0 } ?? ""
    return "\(request.method) \(request.url.path(percentEncoded: true))\(query)"
  }
}

extension SentRequest: CustomReflectable {
  /// A mirror without the bytes of the body.
  public var customMirror: Mirror { Mirror(self, children: ["request": request, "body": "\(body)"]) }
}

extension HTTPFields {
  fileprivate func describing(_ type: MediaType) -> HTTPFields {
    var fields = self
    if fields.mediaType == nil { fields[.contentType] = type.description }
    return fields
  }
}
