public import Martlet

/// Runs requests for tasks.
public protocol NetworkSession: Sendable {
  /// How responses are read where a request does not say otherwise.
  var decoder: any NetworkResponseDecoder { get }

  /// Sends a request. A failure is part of the response: this never throws.
  func response(to request: NetworkRequest) async -> NetworkResponse<Data>
}

extension NetworkRequest {
  /// A task of the value that the response holds. The type is usually inferred.
  ///
  /// - Parameters:
  ///   - type: what the body stands for.
  ///   - session: who sends it; nil, the default, for the container's when the task runs.
  ///   - decoder: how the body is read; nil, the default, for the session's.
  public func task<Value: Decodable & Sendable>(
    expecting type: Value.Type = Value.self, session: (any NetworkSession)? = nil,
    decoder: (any NetworkResponseDecoder)? = nil
  ) -> NetworkTask<Value> {
    let reader = decoder ?? SessionsDecoder(session: session)
    let fetch = fetch(by: session)
    return NetworkTask(decoder: reader, fetch: fetch) { await fetch().decoded(as: type, by: reader) }
  }

  /// A task of what the closure makes of the value that the response holds.
  public func task<Body: Decodable & Sendable, Value: Sendable>(
    expecting type: Body.Type, session: (any NetworkSession)? = nil, decoder: (any NetworkResponseDecoder)? = nil,
    _ map: @escaping @Sendable (Body) throws -> Value
  ) -> NetworkTask<Value> { task(expecting: type, session: session, decoder: decoder).map(map) }

  /// A task of which only the success matters.
  public func task(
    session: (any NetworkSession)? = nil, decoder: (any NetworkResponseDecoder)? = nil
  ) -> NetworkTask<Void> {
    let reader = decoder ?? SessionsDecoder(session: session)
    let fetch = fetch(by: session)
    return NetworkTask(decoder: reader, fetch: fetch) {
      await fetch().decoded(as: NoContent.self, by: reader).reading { _ in }
    }
  }

  private func fetch(by session: (any NetworkSession)?) -> @Sendable () async -> NetworkResponse<Data> {
    { await (session ?? Container.shared.networkSession()).response(to: self) }
  }
}

/// The decoder of a session that may be known only when the task runs.
private struct SessionsDecoder: NetworkResponseDecoder {
  let session: (any NetworkSession)?

  func decode<Value: Decodable & Sendable>(
    _ type: Value.Type, from response: HTTPResponse, data: Data
  ) throws -> Value {
    try (session ?? Container.shared.networkSession()).decoder.decode(type, from: response, data: data)
  }
}
