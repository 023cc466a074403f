#if !canImport(Combine)
extension Publishers {
  /// What ``Publisher/map(_:)->Publishers.Map<Self,T>`` returns.
  public struct Map<Upstream: Publisher, Output>: Publisher {
    /// How it fails.
    public typealias Failure = Upstream.Failure
    /// Where the values come from.
    public let upstream: Upstream
    /// Makes what is delivered.
    public let transform: (Upstream.Output) -> Output

    /// Makes one of its parts; an operator is the usual way.
    public init(upstream: Upstream, transform: @escaping (Upstream.Output) -> Output) {
      self.upstream = upstream
      self.transform = transform
    }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      upstream.relay(to: subscriber, through: Stage { [transform] in .emit(transform($0)) })
    }
  }

  /// What `map(\.property)` returns.
  public struct MapKeyPath<Upstream: Publisher, Output>: Publisher {
    /// How it fails.
    public typealias Failure = Upstream.Failure
    /// Where the values come from.
    public let upstream: Upstream
    /// The property that is delivered.
    public let keyPath: KeyPath<Upstream.Output, Output>

    /// Makes one of its parts; an operator is the usual way.
    public init(upstream: Upstream, keyPath: KeyPath<Upstream.Output, Output>) {
      self.upstream = upstream
      self.keyPath = keyPath
    }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      upstream.relay(to: subscriber, through: Stage { [keyPath] in .emit($0[keyPath: keyPath]) })
    }
  }

  /// What ``Publisher/tryMap(_:)`` returns.
  public struct TryMap<Upstream: Publisher, Output>: Publisher {
    /// How it fails.
    public typealias Failure = any Error
    /// Where the values come from.
    public let upstream: Upstream
    /// Makes what is delivered.
    public let transform: (Upstream.Output) throws -> Output

    /// Makes one of its parts; an operator is the usual way.
    public init(upstream: Upstream, transform: @escaping (Upstream.Output) throws -> Output) {
      self.upstream = upstream
      self.transform = transform
    }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      upstream.relay(to: subscriber, through: Stage(trying: { [transform] in .emit(try transform($0)) }))
    }
  }

  /// What ``Publisher/compactMap(_:)`` returns.
  public struct CompactMap<Upstream: Publisher, Output>: Publisher {
    /// How it fails.
    public typealias Failure = Upstream.Failure
    /// Where the values come from.
    public let upstream: Upstream
    /// Makes what is delivered, or nil.
    public let transform: (Upstream.Output) -> Output?

    /// Makes one of its parts; an operator is the usual way.
    public init(upstream: Upstream, transform: @escaping (Upstream.Output) -> Output?) {
      self.upstream = upstream
      self.transform = transform
    }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      upstream.relay(to: subscriber, through: Stage { [transform] in transform($0).map { .emit($0) } ?? .skip })
    }
  }

  /// What ``Publisher/tryCompactMap(_:)`` returns.
  public struct TryCompactMap<Upstream: Publisher, Output>: Publisher {
    /// How it fails.
    public typealias Failure = any Error
    /// Where the values come from.
    public let upstream: Upstream
    /// Makes what is delivered, or nil.
    public let transform: (Upstream.Output) throws -> Output?

    /// Makes one of its parts; an operator is the usual way.
    public init(upstream: Upstream, transform: @escaping (Upstream.Output) throws -> Output?) {
      self.upstream = upstream
      self.transform = transform
    }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      upstream.relay(
        to: subscriber, through: Stage(trying: { [transform] in try transform($0).map { .emit($0) } ?? .skip }))
    }
  }

  /// What ``Publisher/scan(_:_:)`` returns.
  public struct Scan<Upstream: Publisher, Output>: Publisher {
    /// How it fails.
    public typealias Failure = Upstream.Failure
    /// Where the values come from.
    public let upstream: Upstream
    /// What the first value is combined with.
    public let initialResult: Output
    /// Combines a result with a value.
    public let nextPartialResult: (Output, Upstream.Output) -> Output

    /// Makes one of its parts; an operator is the usual way.
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

  /// What ``Publisher/mapError(_:)`` returns.
  public struct MapError<Upstream: Publisher, Failure: Error>: Publisher {
    /// What is delivered.
    public typealias Output = Upstream.Output
    /// Where the values come from.
    public let upstream: Upstream
    /// Makes the error of another.
    public let transform: (Upstream.Failure) -> Failure

    /// Makes one of its parts; an operator is the usual way.
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

  /// What ``Publisher/replaceError(with:)`` returns.
  public struct ReplaceError<Upstream: Publisher>: Publisher {
    /// What is delivered.
    public typealias Output = Upstream.Output
    /// How it fails.
    public typealias Failure = Never
    /// Where the values come from.
    public let upstream: Upstream
    /// What is delivered in place of an error.
    public let output: Upstream.Output

    /// Makes one of its parts; an operator is the usual way.
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

  /// What ``Publisher/setFailureType(to:)`` returns.
  public struct SetFailureType<Upstream: Publisher, Failure: Error>: Publisher where Upstream.Failure == Never {
    /// What is delivered.
    public typealias Output = Upstream.Output
    /// Where the values come from.
    public let upstream: Upstream

    /// Makes one of its parts; an operator is the usual way.
    public init(upstream: Upstream) { self.upstream = upstream }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      upstream.relay(
        to: subscriber, through: Stage(onValue: { .emit($0) }, onCompletion: { _ in .finish(.finished) }))
    }
  }
}

extension Publisher {
  /// Delivers what the closure makes of each value.
  public func map<T>(_ transform: @escaping (Output) -> T) -> Publishers.Map<Self, T> {
    Publishers.Map(upstream: self, transform: transform)
  }

  /// Delivers a property of each value.
  public func map<T>(_ keyPath: KeyPath<Output, T>) -> Publishers.MapKeyPath<Self, T> {
    Publishers.MapKeyPath(upstream: self, keyPath: keyPath)
  }

  /// Delivers what the closure makes of each value; fails with what it throws.
  public func tryMap<T>(_ transform: @escaping (Output) throws -> T) -> Publishers.TryMap<Self, T> {
    Publishers.TryMap(upstream: self, transform: transform)
  }

  /// Delivers what the closure makes of each value, where it makes something.
  public func compactMap<T>(_ transform: @escaping (Output) -> T?) -> Publishers.CompactMap<Self, T> {
    Publishers.CompactMap(upstream: self, transform: transform)
  }

  /// Delivers what the closure makes of each value, where it makes something; fails with what it throws.
  public func tryCompactMap<T>(_ transform: @escaping (Output) throws -> T?) -> Publishers.TryCompactMap<Self, T> {
    Publishers.TryCompactMap(upstream: self, transform: transform)
  }

  /// Delivers the value instead of nil.
  public func replaceNil<T>(with value: T) -> Publishers.Map<Self, T> where Output == T? { map { $0 ?? value } }

  /// Delivers what the closure makes of each value and of what it made before.
  public func scan<T>(_ initial: T, _ next: @escaping (T, Output) -> T) -> Publishers.Scan<Self, T> {
    Publishers.Scan(upstream: self, initialResult: initial, nextPartialResult: next)
  }

  /// Fails, where it fails, with what the closure makes of the error.
  public func mapError<E: Error>(_ transform: @escaping (Failure) -> E) -> Publishers.MapError<Self, E> {
    Publishers.MapError(upstream: self, transform: transform)
  }

  /// Delivers the value and completes where it would fail.
  public func replaceError(with value: Output) -> Publishers.ReplaceError<Self> {
    Publishers.ReplaceError(upstream: self, output: value)
  }
}

extension Publisher where Failure == Never {
  /// Gives a publisher that cannot fail a type of failure, to fit others.
  public func setFailureType<E: Error>(to type: E.Type) -> Publishers.SetFailureType<Self, E> {
    Publishers.SetFailureType(upstream: self)
  }
}
#endif
