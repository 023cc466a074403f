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

extension Publishers {
  /// What ``Publisher/decode(type:decoder:)`` returns.
  public struct Decode<Upstream: Publisher, Output: Decodable, Coder: TopLevelDecoder>: Publisher
  where Coder.Input == Upstream.Output {
    /// How it fails.
    public typealias Failure = any Error
    /// Where the values come from.
    public let upstream: Upstream
    private let decoder: Coder

    /// Makes one of its parts; an operator is the usual way.
    public init(upstream: Upstream, decoder: Coder) {
      self.upstream = upstream
      self.decoder = decoder
    }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      upstream.relay(
        to: subscriber, through: Stage(trying: { [decoder] in .emit(try decoder.decode(Output.self, from: $0)) }))
    }
  }

  /// What ``Publisher/encode(encoder:)`` returns.
  public struct Encode<Upstream: Publisher, Coder: TopLevelEncoder>: Publisher where Upstream.Output: Encodable {
    /// What is delivered.
    public typealias Output = Coder.Output
    /// How it fails.
    public typealias Failure = any Error
    /// Where the values come from.
    public let upstream: Upstream
    private let encoder: Coder

    /// Makes one of its parts; an operator is the usual way.
    public init(upstream: Upstream, encoder: Coder) {
      self.upstream = upstream
      self.encoder = encoder
    }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      upstream.relay(to: subscriber, through: Stage(trying: { [encoder] in .emit(try encoder.encode($0)) }))
    }
  }
}

extension Publisher {
  /// Delivers what the decoder makes of each value; fails with its error.
  public func decode<Item: Decodable, Coder: TopLevelDecoder>(
    type: Item.Type, decoder: Coder
  ) -> Publishers.Decode<Self, Item, Coder> where Coder.Input == Output {
    Publishers.Decode(upstream: self, decoder: decoder)
  }

  /// Delivers what the encoder makes of each value; fails with its error.
  public func encode<Coder: TopLevelEncoder>(encoder: Coder) -> Publishers.Encode<Self, Coder>
  where Output: Encodable { Publishers.Encode(upstream: self, encoder: encoder) }
}
#endif
