#if !canImport(Darwin)
#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// Decodes values from one type of input, such as `Data`.
public protocol TopLevelDecoder<Input> {
  /// The input type.
  associatedtype Input

  /// Decodes a value.
  func decode<T: Decodable>(_ type: T.Type, from: Input) throws -> T
}

/// Encodes values to one type of output, such as `Data`.
public protocol TopLevelEncoder<Output> {
  /// The output type.
  associatedtype Output

  /// Encodes a value.
  func encode<T: Encodable>(_ value: T) throws -> Output
}

extension JSONDecoder: TopLevelDecoder {}
extension JSONEncoder: TopLevelEncoder {}
extension PropertyListDecoder: TopLevelDecoder {}
extension PropertyListEncoder: TopLevelEncoder {}

extension Publishers {
  /// The publisher that ``Publisher/decode(type:decoder:)`` returns.
  public struct Decode<Upstream: Publisher, Output: Decodable, Coder: TopLevelDecoder>: Publisher
  where Coder.Input == Upstream.Output {
    /// The failure type.
    public typealias Failure = any Error
    /// The upstream publisher.
    public let upstream: Upstream
    private let decoder: Coder

    /// Makes the publisher, like the operator.
    public init(upstream: Upstream, decoder: Coder) {
      self.upstream = upstream
      self.decoder = decoder
    }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      upstream.subscribe(subscriber, trying: "Decode") { [decoder] in
        $1.emit(try decoder.decode(Output.self, from: $0))
      }
    }
  }

  /// The publisher that ``Publisher/encode(encoder:)`` returns.
  public struct Encode<Upstream: Publisher, Coder: TopLevelEncoder>: Publisher where Upstream.Output: Encodable {
    /// The output type.
    public typealias Output = Coder.Output
    /// The failure type.
    public typealias Failure = any Error
    /// The upstream publisher.
    public let upstream: Upstream
    private let encoder: Coder

    /// Makes the publisher, like the operator.
    public init(upstream: Upstream, encoder: Coder) {
      self.upstream = upstream
      self.encoder = encoder
    }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      upstream.subscribe(subscriber, trying: "Encode") { [encoder] in $1.emit(try encoder.encode($0)) }
    }
  }
}

extension Publisher {
  /// Delivers the decoded values; fails with the error of the decoder.
  public func decode<Item: Decodable, Coder: TopLevelDecoder>(
    type: Item.Type, decoder: Coder
  ) -> Publishers.Decode<Self, Item, Coder> where Coder.Input == Output {
    Publishers.Decode(upstream: self, decoder: decoder)
  }

  /// Delivers the encoded values; fails with the error of the encoder.
  public func encode<Coder: TopLevelEncoder>(encoder: Coder) -> Publishers.Encode<Self, Coder>
  where Output: Encodable { Publishers.Encode(upstream: self, encoder: encoder) }
}
#endif
