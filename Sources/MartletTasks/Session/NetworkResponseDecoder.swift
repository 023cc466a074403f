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

/// Reads 2xx bodies as JSON, and all others as a ``ServiceMessage``, which is thrown as ``NetworkError/service(_:)``.
public struct JSONResponseDecoder: NetworkResponseDecoder {
  private let decoder: JSONDecoder

  /// Makes a decoder that reads dates, keys and the like in this way; Foundation's defaults by default.
  public init(decoder: JSONDecoder = JSONDecoder()) { self.decoder = decoder }

  public func decode<Value: Decodable & Sendable>(
    _ type: Value.Type, from response: HTTPResponse, data: Data
  ) throws -> Value {
    guard response.status.isSuccessful else { throw NetworkError.service(ServiceMessage(response, data: data)) }
    if data.isEmpty, let empty = (type as? any HasEmptyValue.Type)?.empty as? Value { return empty }
    return try decoder.decode(type, from: data)
  }
}

/// A type of which an empty body is a value.
private protocol HasEmptyValue {
  static var empty: Self { get }
}

extension Optional: HasEmptyValue {
  fileprivate static var empty: Self { nil }
}

/// No value: what `NetworkTask<Void>` reads any successful body as.
struct Nothing: Decodable, Sendable, HasEmptyValue {
  static let empty = Nothing()

  init() {}
  init(from decoder: any Decoder) {}
}

extension NetworkResponse<Data> {
  func decoded<Value: Decodable & Sendable>(
    as type: Value.Type, by decoder: any NetworkResponseDecoder
  ) -> NetworkResponse<Value> {
    reading { data in
      guard let response else { throw NetworkError.unknown }
      return try decoder.decode(type, from: response, data: data)
    }
  }
}
