public import Martlet

/// Makes a value of a response, or an error. It alone decides which: it may turn a success into a failure, and back.
///
/// A request's decoder wins over its session's.
public protocol NetworkResponseDecoder: Sendable {
  /// Reads the value.
  ///
  /// - Throws: why there is none: the service's message, a decoding error.
  func decode<Value: Decodable & Sendable>(_ type: Value.Type, from response: HTTPResponse, data: Data) throws -> Value
}

/// Reads 2xx bodies as JSON, `Data` as it comes and an empty body as nil where that is a value, and all others as a ``ServiceMessage``, which is thrown as ``NetworkError/service(_:)``.
public struct JSONResponseDecoder: NetworkResponseDecoder {
  private let decoder: JSONDecoder

  /// Makes a decoder that reads dates, keys and the like in this way; Foundation's defaults by default.
  public init(decoder: JSONDecoder = JSONDecoder()) { self.decoder = decoder }

  public func decode<Value: Decodable & Sendable>(
    _ type: Value.Type, from response: HTTPResponse, data: Data
  ) throws -> Value {
    guard response.status.isSuccessful else { throw NetworkError.service(ServiceMessage(response, data: data)) }
    if let raw = data as? Value { return raw }
    if let nothing = NoContent() as? Value { return nothing }
    guard !data.isEmpty || type is any ExpressibleByNilLiteral.Type else {
      throw HTTPError(
        .unexpectedResponse,
        "the response (\(response.status)) has no body, so there is no \(type): expect an optional, or nothing")
    }
    return try decoder.decode(type, body: data)
  }
}

/// What a task without a value reads every body as. A decoder of your own that meets it can return `NoContent()`.
public struct NoContent: Decodable, Sendable, Hashable {
  /// Makes one.
  public init() {}

  /// Makes one, whatever is there.
  public init(from decoder: any Decoder) {}
}

extension NetworkResponse<Data> {
  func decoded<Other: Decodable & Sendable>(
    as type: Other.Type, by decoder: any NetworkResponseDecoder
  ) -> NetworkResponse<Other> {
    reading { data in
      guard let response else { throw NetworkError.unknown }
      return try decoder.decode(type, from: response, data: data)
    }
  }
}
