#if !canImport(Combine)
extension Publishers {
  /// The publisher that ``Publisher/map(_:)->Publishers.Map<Self,T>`` returns.
  public struct Map<Upstream: Publisher, Output>: Publisher {
    /// The failure type.
    public typealias Failure = Upstream.Failure
    /// The upstream publisher.
    public let upstream: Upstream
    /// Returns the value to deliver.
    public let transform: (Upstream.Output) -> Output

    /// Makes the publisher, like the operator.
    public init(upstream: Upstream, transform: @escaping (Upstream.Output) -> Output) {
      self.upstream = upstream
      self.transform = transform
    }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      upstream.relay(to: subscriber, through: Stage { [transform] in .emit(transform($0)) })
    }
  }

  /// The publisher that `map(\.property)` returns.
  public struct MapKeyPath<Upstream: Publisher, Output>: Publisher {
    /// The failure type.
    public typealias Failure = Upstream.Failure
    /// The upstream publisher.
    public let upstream: Upstream
    /// The property to deliver.
    public let keyPath: KeyPath<Upstream.Output, Output>

    /// Makes the publisher, like the operator.
    public init(upstream: Upstream, keyPath: KeyPath<Upstream.Output, Output>) {
      self.upstream = upstream
      self.keyPath = keyPath
    }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      upstream.relay(to: subscriber, through: Stage { [keyPath] in .emit($0[keyPath: keyPath]) })
    }
  }

  /// The publisher that ``Publisher/tryMap(_:)`` returns.
  public struct TryMap<Upstream: Publisher, Output>: Publisher {
    /// The failure type.
    public typealias Failure = any Error
    /// The upstream publisher.
    public let upstream: Upstream
    /// Returns the value to deliver.
    public let transform: (Upstream.Output) throws -> Output

    /// Makes the publisher, like the operator.
    public init(upstream: Upstream, transform: @escaping (Upstream.Output) throws -> Output) {
      self.upstream = upstream
      self.transform = transform
    }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      upstream.relay(to: subscriber, through: Stage(trying: { [transform] in .emit(try transform($0)) }))
    }
  }

  /// The publisher that ``Publisher/compactMap(_:)`` returns.
  public struct CompactMap<Upstream: Publisher, Output>: Publisher {
    /// The failure type.
    public typealias Failure = Upstream.Failure
    /// The upstream publisher.
    public let upstream: Upstream
    /// Returns the value to deliver, or nil.
    public let transform: (Upstream.Output) -> Output?

    /// Makes the publisher, like the operator.
    public init(upstream: Upstream, transform: @escaping (Upstream.Output) -> Output?) {
      self.upstream = upstream
      self.transform = transform
    }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      upstream.relay(to: subscriber, through: Stage { [transform] in transform($0).map { .emit($0) } ?? .skip })
    }
  }

  /// The publisher that ``Publisher/tryCompactMap(_:)`` returns.
  public struct TryCompactMap<Upstream: Publisher, Output>: Publisher {
    /// The failure type.
    public typealias Failure = any Error
    /// The upstream publisher.
    public let upstream: Upstream
    /// Returns the value to deliver, or nil.
    public let transform: (Upstream.Output) throws -> Output?

    /// Makes the publisher, like the operator.
    public init(upstream: Upstream, transform: @escaping (Upstream.Output) throws -> Output?) {
      self.upstream = upstream
      self.transform = transform
    }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      upstream.relay(
        to: subscriber, through: Stage(trying: { [transform] in try transform($0).map { .emit($0) } ?? .skip }))
    }
  }

  /// The publisher that ``Publisher/scan(_:_:)`` returns.
  public struct Scan<Upstream: Publisher, Output>: Publisher {
    /// The failure type.
    public typealias Failure = Upstream.Failure
    /// The upstream publisher.
    public let upstream: Upstream
    /// The initial result.
    public let initialResult: Output
    /// Returns the next result.
    public let nextPartialResult: (Output, Upstream.Output) -> Output

    /// Makes the publisher, like the operator.
    public init(
      upstream: Upstream, initialResult: Output, nextPartialResult: @escaping (Output, Upstream.Output) -> Output
    ) {
      self.upstream = upstream
      self.initialResult = initialResult
      self.nextPartialResult = nextPartialResult
    }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      var result = initialResult
      upstream.relay(
        to: subscriber,
        through: Stage { [nextPartialResult] value in
          result = nextPartialResult(result, value)
          return .emit(result)
        })
    }
  }

  /// The publisher that ``Publisher/mapError(_:)`` returns.
  public struct MapError<Upstream: Publisher, Failure: Error>: Publisher {
    /// The output type.
    public typealias Output = Upstream.Output
    /// The upstream publisher.
    public let upstream: Upstream
    /// Converts an error.
    public let transform: (Upstream.Failure) -> Failure

    /// Makes the publisher, like the operator.
    public init(upstream: Upstream, transform: @escaping (Upstream.Failure) -> Failure) {
      self.upstream = upstream
      self.transform = transform
    }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      upstream.relay(
        to: subscriber,
        through: Stage(
          onValue: { .emit($0) },
          onCompletion: { [transform] completion in
            switch completion {
            case .finished: .finish(.finished)
            case .failure(let error): .finish(.failure(transform(error)))
            }
          }))
    }
  }

  /// The publisher that ``Publisher/replaceError(with:)`` returns.
  public struct ReplaceError<Upstream: Publisher>: Publisher {
    /// The output type.
    public typealias Output = Upstream.Output
    /// The failure type.
    public typealias Failure = Never
    /// The upstream publisher.
    public let upstream: Upstream
    /// The value to deliver instead of an error.
    public let output: Upstream.Output

    /// Makes the publisher, like the operator.
    public init(upstream: Upstream, output: Upstream.Output) {
      self.upstream = upstream
      self.output = output
    }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      upstream.relay(
        to: subscriber,
        through: Stage(
          onValue: { .emit($0) },
          onCompletion: { [output] completion in
            if case .failure = completion { .emitLast(output) } else { .finish(.finished) }
          }))
    }
  }

  /// The publisher that ``Publisher/setFailureType(to:)`` returns.
  public struct SetFailureType<Upstream: Publisher, Failure: Error>: Publisher where Upstream.Failure == Never {
    /// The output type.
    public typealias Output = Upstream.Output
    /// The upstream publisher.
    public let upstream: Upstream

    /// Makes the publisher, like the operator.
    public init(upstream: Upstream) { self.upstream = upstream }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      upstream.relay(
        to: subscriber, through: Stage(onValue: { .emit($0) }, onCompletion: { _ in .finish(.finished) }))
    }
  }
}

extension Publisher {
  /// Delivers the transformed values.
  public func map<T>(_ transform: @escaping (Output) -> T) -> Publishers.Map<Self, T> {
    Publishers.Map(upstream: self, transform: transform)
  }

  /// Delivers a property of each value.
  public func map<T>(_ keyPath: KeyPath<Output, T>) -> Publishers.MapKeyPath<Self, T> {
    Publishers.MapKeyPath(upstream: self, keyPath: keyPath)
  }

  /// Delivers the transformed values; fails with the error that the closure throws.
  public func tryMap<T>(_ transform: @escaping (Output) throws -> T) -> Publishers.TryMap<Self, T> {
    Publishers.TryMap(upstream: self, transform: transform)
  }

  /// Delivers the transformed values that are not nil.
  public func compactMap<T>(_ transform: @escaping (Output) -> T?) -> Publishers.CompactMap<Self, T> {
    Publishers.CompactMap(upstream: self, transform: transform)
  }

  /// Delivers the transformed values that are not nil; fails with the error that the closure throws.
  public func tryCompactMap<T>(_ transform: @escaping (Output) throws -> T?) -> Publishers.TryCompactMap<Self, T> {
    Publishers.TryCompactMap(upstream: self, transform: transform)
  }

  /// Delivers the value instead of nil.
  public func replaceNil<T>(with value: T) -> Publishers.Map<Self, T> where Output == T? { map { $0 ?? value } }

  /// Delivers the result of combining each value with the previous result.
  public func scan<T>(_ initial: T, _ next: @escaping (T, Output) -> T) -> Publishers.Scan<Self, T> {
    Publishers.Scan(upstream: self, initialResult: initial, nextPartialResult: next)
  }

  /// Converts the error of a failure.
  public func mapError<E: Error>(_ transform: @escaping (Failure) -> E) -> Publishers.MapError<Self, E> {
    Publishers.MapError(upstream: self, transform: transform)
  }

  /// Delivers the value and completes instead of failing.
  public func replaceError(with value: Output) -> Publishers.ReplaceError<Self> {
    Publishers.ReplaceError(upstream: self, output: value)
  }
}

extension Publisher where Failure == Never {
  /// Sets the failure type of a publisher that cannot fail, to match that of others.
  public func setFailureType<E: Error>(to type: E.Type) -> Publishers.SetFailureType<Self, E> {
    Publishers.SetFailureType(upstream: self)
  }
}
#endif
