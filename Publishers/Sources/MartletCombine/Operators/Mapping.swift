#if !canImport(Darwin)
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
      upstream.subscribe(subscriber, converting: "Map") { [transform] in $1.receive(transform($0)) }
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
      upstream.subscribe(subscriber, trying: "TryMap") { [transform] in $1.emit(try transform($0)) }
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
      upstream.subscribe(subscriber, converting: "Scan") { [nextPartialResult] value, downstream in
        result = nextPartialResult(result, value)
        return downstream.receive(result)
      }
    }
  }

  /// The publisher that ``Publisher/tryScan(_:_:)`` returns.
  public struct TryScan<Upstream: Publisher, Output>: Publisher {
    /// The failure type.
    public typealias Failure = any Error
    /// The upstream publisher.
    public let upstream: Upstream
    /// The initial result.
    public let initialResult: Output
    /// Returns the next result.
    public let nextPartialResult: (Output, Upstream.Output) throws -> Output

    /// Makes the publisher, like the operator.
    public init(
      upstream: Upstream, initialResult: Output, nextPartialResult: @escaping (Output, Upstream.Output) throws -> Output
    ) {
      self.upstream = upstream
      self.initialResult = initialResult
      self.nextPartialResult = nextPartialResult
    }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      var result = initialResult
      upstream.subscribe(subscriber, trying: "TryScan") { [nextPartialResult] value, link in
        result = try nextPartialResult(result, value)
        return link.emit(result)
      }
    }
  }
}

extension Publisher {
  /// Delivers the transformed values.
  public func map<T>(_ transform: @escaping (Output) -> T) -> Publishers.Map<Self, T> {
    Publishers.Map(upstream: self, transform: transform)
  }

  /// Delivers the transformed values; fails with the error that the closure throws.
  public func tryMap<T>(_ transform: @escaping (Output) throws -> T) -> Publishers.TryMap<Self, T> {
    Publishers.TryMap(upstream: self, transform: transform)
  }

  /// Delivers the value instead of nil.
  public func replaceNil<T>(with output: T) -> Publishers.Map<Self, T> where Output == T? { map { $0 ?? output } }

  /// Delivers the result of combining each value with the previous result.
  public func scan<T>(_ initialResult: T, _ nextPartialResult: @escaping (T, Output) -> T) -> Publishers.Scan<Self, T> {
    Publishers.Scan(upstream: self, initialResult: initialResult, nextPartialResult: nextPartialResult)
  }

  /// Delivers the result of combining each value with the previous result; fails with the error that the closure
  /// throws.
  public func tryScan<T>(
    _ initialResult: T, _ nextPartialResult: @escaping (T, Output) throws -> T
  ) -> Publishers.TryScan<Self, T> {
    Publishers.TryScan(upstream: self, initialResult: initialResult, nextPartialResult: nextPartialResult)
  }
}

// MARK: - Operators on operators

extension Publishers.Map {
  /// Delivers values that are transformed twice.
  public func map<T>(_ transform: @escaping (Output) -> T) -> Publishers.Map<Upstream, T> {
    Publishers.Map(upstream: upstream) { [first = self.transform] in transform(first($0)) }
  }

  /// Delivers values that are transformed twice; fails with the error that the closure throws.
  public func tryMap<T>(_ transform: @escaping (Output) throws -> T) -> Publishers.TryMap<Upstream, T> {
    Publishers.TryMap(upstream: upstream) { [first = self.transform] in try transform(first($0)) }
  }
}

extension Publishers.TryMap {
  /// Delivers values that are transformed twice.
  public func map<T>(_ transform: @escaping (Output) -> T) -> Publishers.TryMap<Upstream, T> { tryMap(transform) }

  /// Delivers values that are transformed twice; fails with the error that a closure throws.
  public func tryMap<T>(_ transform: @escaping (Output) throws -> T) -> Publishers.TryMap<Upstream, T> {
    Publishers.TryMap(upstream: upstream) { [first = self.transform] in try transform(first($0)) }
  }
}
#endif
