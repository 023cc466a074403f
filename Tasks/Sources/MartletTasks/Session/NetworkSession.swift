public import Martlet

/// Sends the requests of tasks.
public protocol NetworkSession: Sendable {
  /// Decodes responses to requests without their own decoder.
  var decoder: any NetworkResponseDecoder { get }

  /// Sends a request. A failure is part of the response.
  func response(to request: NetworkRequest) async -> NetworkResponse<Data>
}

extension NetworkRequest {
  /// Returns a task whose value is decoded from the response. The type is usually inferred.
  ///
  /// - Parameters:
  ///   - type: the type to decode.
  ///   - session: sends the request; nil, the default, means the container's session when the task runs.
  ///   - decoder: decodes the body; nil, the default, means the session's decoder.
  public func task<Value: Decodable & Sendable>(
    expecting type: Value.Type = Value.self, session: (any NetworkSession)? = nil,
    decoder: (any NetworkResponseDecoder)? = nil
  ) -> NetworkTask<Value> {
    let reader = decoder ?? SessionDecoder(session: session)
    let fetch = fetch(by: session)
    return NetworkTask(decoder: reader, fetch: fetch) { await fetch().decoded(as: type, by: reader) }
  }

  /// Returns a task whose value is decoded from the response and then mapped.
  public func task<Body: Decodable & Sendable, Value: Sendable>(
    expecting type: Body.Type, session: (any NetworkSession)? = nil, decoder: (any NetworkResponseDecoder)? = nil,
    _ map: @escaping @Sendable (Body) throws -> Value
  ) -> NetworkTask<Value> { task(expecting: type, session: session, decoder: decoder).map(map) }

  /// Returns a task without a value: it succeeds or fails.
  public func task(
    session: (any NetworkSession)? = nil, decoder: (any NetworkResponseDecoder)? = nil
  ) -> NetworkTask<Void> {
    let reader = decoder ?? SessionDecoder(session: session)
    let fetch = fetch(by: session)
    return NetworkTask(decoder: reader, fetch: fetch) {
      await fetch().decoded(as: NoContent.self, by: reader).map { _ in }
    }
  }

  private func fetch(by session: (any NetworkSession)?) -> @Sendable () async -> NetworkResponse<Data> {
    { await (session ?? Container.shared.networkSession()).response(to: self) }
  }
}

/// Uses the decoder of a session that may only be known when the task runs.
private struct SessionDecoder: NetworkResponseDecoder {
  let session: (any NetworkSession)?

  func decode<Value: Decodable & Sendable>(
    _ type: Value.Type, from response: HTTPResponse, data: Data
  ) throws -> Value {
    try (session ?? Container.shared.networkSession()).decoder.decode(type, from: response, data: data)
  }
}

/// Decodes the value of a response. It also decides what counts as a failure: it may throw for a 200 and return a value
/// for a 404.
///
/// A request's decoder takes precedence over its session's.
public protocol NetworkResponseDecoder: Sendable {
  /// Decodes the value.
  ///
  /// - Throws: the reason why there is no value: an error with the service's message, or a decoding error.
  func decode<Value: Decodable & Sendable>(_ type: Value.Type, from response: HTTPResponse, data: Data) throws -> Value
}

/// Decodes the bodies of 2xx responses as JSON. `Data` gets the bytes, and an empty body is nil for an optional. For
/// all other statuses it throws ``NetworkError/service(_:)``.
public struct JSONResponseDecoder: NetworkResponseDecoder {
  private let decoder: JSONDecoder

  /// Makes a decoder with a JSON decoder; with Foundation's defaults by default.
  public init(decoder: JSONDecoder = JSONDecoder()) { self.decoder = decoder }

  public func decode<Value: Decodable & Sendable>(
    _ type: Value.Type, from response: HTTPResponse, data: Data
  ) throws -> Value {
    guard response.status.isSuccessful else { throw NetworkError.service(ServiceMessage(response, data: data)) }
    if data.isEmpty, type is any ExpressibleByNilLiteral.Type {
      return try decoder.decode(type, from: Data("null".utf8))
    }
    // Only after that: the casts succeed for optionals, too.
    if let raw = data as? Value { return raw }
    if let nothing = NoContent() as? Value { return nothing }
    guard !data.isEmpty else {
      throw HTTPError(
        .unexpectedResponse,
        "the response (\(response.head.statusText)) has no body to decode \(type) from: expect an optional, or use task() without a type"
      )
    }
    return try decoder.decode(type, from: data)
  }
}

/// The type that a task without a value decodes. A custom decoder can return `NoContent()` for it.
public struct NoContent: Decodable, Sendable, Hashable {
  /// Makes the value.
  public init() {}

  /// Makes the value; nothing is read.
  public init(from decoder: any Decoder) {}
}

extension NetworkResponse<Data> {
  func decoded<Other: Decodable & Sendable>(
    as type: Other.Type, by decoder: any NetworkResponseDecoder
  ) -> NetworkResponse<Other> {
    map { data in
      guard let response else { throw NetworkError.unknown }
      return try decoder.decode(type, from: response, data: data)
    }
  }
}
