#if !canImport(Combine)
#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// Decodes values from one kind of input, such as `Data`.
public protocol TopLevelDecoder<Input> {
  /// What is decoded from.
  associatedtype Input

  /// Decodes a value.
  func decode<T: Decodable>(_ type: T.Type, from: Input) throws -> T
}

/// Encodes values to one kind of output, such as `Data`.
public protocol TopLevelEncoder<Output> {
  /// What is encoded to.
  associatedtype Output

  /// Encodes a value.
  func encode<T: Encodable>(_ value: T) throws -> Output
}

extension JSONDecoder: TopLevelDecoder {}
extension JSONEncoder: TopLevelEncoder {}

extension Publisher {
  /// Delivers what the decoder makes of each value; fails with its error.
  public func decode<Item: Decodable, Coder: TopLevelDecoder>(
    type: Item.Type, decoder: Coder
  ) -> Publishers.Relay<Self, Item, any Error> where Coder.Input == Output {
    tryMap { try decoder.decode(type, from: $0) }
  }

  /// Delivers what the encoder makes of each value; fails with its error.
  public func encode<Coder: TopLevelEncoder>(
    encoder: Coder
  ) -> Publishers.Relay<Self, Coder.Output, any Error> where Output: Encodable {
    tryMap { try encoder.encode($0) }
  }
}
#endif
