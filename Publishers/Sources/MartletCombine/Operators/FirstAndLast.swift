#if !canImport(Darwin)
extension Publishers {
  /// The publisher that ``Publisher/first()`` returns.
  public struct First<Upstream: Publisher>: Publisher {
    /// The output type.
    public typealias Output = Upstream.Output
    /// The failure type.
    public typealias Failure = Upstream.Failure
    /// The upstream publisher.
    public let upstream: Upstream

    /// Makes the publisher, like the operator.
    public init(upstream: Upstream) { self.upstream = upstream }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      upstream.subscribe(
        subscriber, through: "First", demand: .unlimited, onFinish: { $0.finish(with: nil) }, step: { $1.emitLast($0) })
    }
  }

  /// The publisher that ``Publisher/first(where:)`` returns.
  public struct FirstWhere<Upstream: Publisher>: Publisher {
    /// The output type.
    public typealias Output = Upstream.Output
    /// The failure type.
    public typealias Failure = Upstream.Failure
    /// The upstream publisher.
    public let upstream: Upstream
    /// Whether to deliver a value.
    public let predicate: (Upstream.Output) -> Bool

    /// Makes the publisher, like the operator.
    public init(upstream: Upstream, predicate: @escaping (Upstream.Output) -> Bool) {
      self.upstream = upstream
      self.predicate = predicate
    }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      // The name is Combine's.
      upstream.subscribe(
        subscriber, through: "TryFirst", demand: .unlimited, onFinish: { $0.finish(with: nil) },
        step: { [predicate] in predicate($0) ? $1.emitLast($0) : $1.skip })
    }
  }

  /// The publisher that ``Publisher/tryFirst(where:)`` returns.
  public struct TryFirstWhere<Upstream: Publisher>: Publisher {
    /// The output type.
    public typealias Output = Upstream.Output
    /// The failure type.
    public typealias Failure = any Error
    /// The upstream publisher.
    public let upstream: Upstream
    /// Whether to deliver a value.
    public let predicate: (Upstream.Output) throws -> Bool

    /// Makes the publisher, like the operator.
    public init(upstream: Upstream, predicate: @escaping (Upstream.Output) throws -> Bool) {
      self.upstream = upstream
      self.predicate = predicate
    }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      upstream.subscribe(
        subscriber, trying: "TryFirstWhere", demand: .unlimited, onFinish: { $0.finish(with: nil) },
        step: { [predicate] in try predicate($0) ? $1.emitLast($0) : $1.skip })
    }
  }

  /// The publisher that ``Publisher/last()`` returns.
  public struct Last<Upstream: Publisher>: Publisher {
    /// The output type.
    public typealias Output = Upstream.Output
    /// The failure type.
    public typealias Failure = Upstream.Failure
    /// The upstream publisher.
    public let upstream: Upstream

    /// Makes the publisher, like the operator.
    public init(upstream: Upstream) { self.upstream = upstream }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      var last: Output?
      upstream.subscribe(
        subscriber, through: "Last", demand: .unlimited,
        onFinish: { $0.finish(with: last) },
        step: { value, link in
          last = value
          return link.skip
        })
    }
  }

  /// The publisher that ``Publisher/last(where:)`` returns.
  public struct LastWhere<Upstream: Publisher>: Publisher {
    /// The output type.
    public typealias Output = Upstream.Output
    /// The failure type.
    public typealias Failure = Upstream.Failure
    /// The upstream publisher.
    public let upstream: Upstream
    /// Whether to deliver a value.
    public let predicate: (Upstream.Output) -> Bool

    /// Makes the publisher, like the operator.
    public init(upstream: Upstream, predicate: @escaping (Upstream.Output) -> Bool) {
      self.upstream = upstream
      self.predicate = predicate
    }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      var last: Output?
      upstream.subscribe(
        subscriber, through: "LastWhere", demand: .unlimited,
        onFinish: { $0.finish(with: last) },
        step: { [predicate] value, link in
          if predicate(value) { last = value }
          return link.skip
        })
    }
  }

  /// The publisher that ``Publisher/tryLast(where:)`` returns.
  public struct TryLastWhere<Upstream: Publisher>: Publisher {
    /// The output type.
    public typealias Output = Upstream.Output
    /// The failure type.
    public typealias Failure = any Error
    /// The upstream publisher.
    public let upstream: Upstream
    /// Whether to deliver a value.
    public let predicate: (Upstream.Output) throws -> Bool

    /// Makes the publisher, like the operator.
    public init(upstream: Upstream, predicate: @escaping (Upstream.Output) throws -> Bool) {
      self.upstream = upstream
      self.predicate = predicate
    }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      var last: Output?
      upstream.subscribe(
        subscriber, trying: "TryLastWhere", demand: .unlimited,
        onFinish: { $0.finish(with: last) },
        step: { [predicate] value, link in
          if try predicate(value) { last = value }
          return link.skip
        })
    }
  }
}

extension Publishers.First: Equatable where Upstream: Equatable {}
extension Publishers.Last: Equatable where Upstream: Equatable {}

extension Publisher {
  /// Delivers the first value and finishes.
  public func first() -> Publishers.First<Self> { Publishers.First(upstream: self) }

  /// Delivers the first value that satisfies the condition, and finishes.
  public func first(where predicate: @escaping (Output) -> Bool) -> Publishers.FirstWhere<Self> {
    Publishers.FirstWhere(upstream: self, predicate: predicate)
  }

  /// Delivers the first value that satisfies the condition, and finishes; fails with the error that it throws.
  public func tryFirst(where predicate: @escaping (Output) throws -> Bool) -> Publishers.TryFirstWhere<Self> {
    Publishers.TryFirstWhere(upstream: self, predicate: predicate)
  }

  /// Delivers the last value, once this publisher has finished.
  public func last() -> Publishers.Last<Self> { Publishers.Last(upstream: self) }

  /// Delivers the last value that satisfies the condition, once this publisher has finished.
  public func last(where predicate: @escaping (Output) -> Bool) -> Publishers.LastWhere<Self> {
    Publishers.LastWhere(upstream: self, predicate: predicate)
  }

  /// Delivers the last value that satisfies the condition, once this publisher has finished; fails with the error that
  /// it throws.
  public func tryLast(where predicate: @escaping (Output) throws -> Bool) -> Publishers.TryLastWhere<Self> {
    Publishers.TryLastWhere(upstream: self, predicate: predicate)
  }
}
#endif
