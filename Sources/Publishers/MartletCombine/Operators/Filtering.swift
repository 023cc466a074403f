#if !canImport(Combine)
extension Publishers {
  /// The publisher that ``Publisher/filter(_:)`` returns.
  public struct Filter<Upstream: Publisher>: Publisher {
    /// The output type.
    public typealias Output = Upstream.Output
    /// The failure type.
    public typealias Failure = Upstream.Failure
    /// The upstream publisher.
    public let upstream: Upstream
    /// Whether to deliver a value.
    public let isIncluded: (Upstream.Output) -> Bool

    /// Makes the publisher, like the operator.
    public init(upstream: Upstream, isIncluded: @escaping (Upstream.Output) -> Bool) {
      self.upstream = upstream
      self.isIncluded = isIncluded
    }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      upstream.relay(to: subscriber, through: Stage { [isIncluded] in isIncluded($0) ? .emit($0) : .skip })
    }
  }

  /// The publisher that ``Publisher/tryFilter(_:)`` returns.
  public struct TryFilter<Upstream: Publisher>: Publisher {
    /// The output type.
    public typealias Output = Upstream.Output
    /// The failure type.
    public typealias Failure = any Error
    /// The upstream publisher.
    public let upstream: Upstream
    /// Whether to deliver a value.
    public let isIncluded: (Upstream.Output) throws -> Bool

    /// Makes the publisher, like the operator.
    public init(upstream: Upstream, isIncluded: @escaping (Upstream.Output) throws -> Bool) {
      self.upstream = upstream
      self.isIncluded = isIncluded
    }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      upstream.relay(to: subscriber, through: Stage(trying: { [isIncluded] in try isIncluded($0) ? .emit($0) : .skip }))
    }
  }

  /// The publisher that ``Publisher/removeDuplicates()`` returns.
  public struct RemoveDuplicates<Upstream: Publisher>: Publisher {
    /// The output type.
    public typealias Output = Upstream.Output
    /// The failure type.
    public typealias Failure = Upstream.Failure
    /// The upstream publisher.
    public let upstream: Upstream
    /// Whether a value is equal to the previous one.
    public let predicate: (Upstream.Output, Upstream.Output) -> Bool

    /// Makes the publisher, like the operator.
    public init(upstream: Upstream, predicate: @escaping (Upstream.Output, Upstream.Output) -> Bool) {
      self.upstream = upstream
      self.predicate = predicate
    }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      var last: Output?
      upstream.relay(
        to: subscriber,
        through: Stage { [predicate] value in
          if let last, predicate(last, value) { return .skip }
          last = value
          return .emit(value)
        })
    }
  }

  /// The publisher that ``Publisher/first()`` returns.
  public struct First<Upstream: Publisher>: Publisher {
    /// The output type.
    public typealias Output = Upstream.Output
    /// The failure type.
    public typealias Failure = Upstream.Failure
    /// The upstream publisher.
    public let upstream: Upstream

    /// Makes the publisher, like the operator.
    public init(upstream: Upstream) {
      self.upstream = upstream
    }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      upstream.relay(to: subscriber, through: Stage { .emitLast($0) })
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
    /// Whether to deliver a value and complete.
    public let predicate: (Upstream.Output) -> Bool

    /// Makes the publisher, like the operator.
    public init(upstream: Upstream, predicate: @escaping (Upstream.Output) -> Bool) {
      self.upstream = upstream
      self.predicate = predicate
    }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      upstream.relay(to: subscriber, through: Stage { [predicate] in predicate($0) ? .emitLast($0) : .skip })
    }
  }

  /// The publisher that ``Publisher/prefix(_:)`` returns, which delivers the values at certain positions.
  public struct Output<Upstream: Publisher>: Publisher {
    /// The output type.
    public typealias Output = Upstream.Output
    /// The failure type.
    public typealias Failure = Upstream.Failure
    /// The upstream publisher.
    public let upstream: Upstream
    /// The positions of the values to deliver; the first value is at 0.
    public let range: CountableRange<Int>

    /// Makes the publisher, like the operator.
    public init(upstream: Upstream, range: CountableRange<Int>) {
      self.upstream = upstream
      self.range = range
    }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      guard !range.isEmpty else { return Empty<Output, Failure>().receive(subscriber: subscriber) }
      var position = -1
      upstream.relay(
        to: subscriber,
        through: Stage { [range] value in
          position += 1
          if position == range.upperBound - 1 { return .emitLast(value) }
          return range.contains(position) ? .emit(value) : .skip
        })
    }
  }

  /// The publisher that ``Publisher/dropFirst(_:)`` returns.
  public struct Drop<Upstream: Publisher>: Publisher {
    /// The output type.
    public typealias Output = Upstream.Output
    /// The failure type.
    public typealias Failure = Upstream.Failure
    /// The upstream publisher.
    public let upstream: Upstream
    /// The number of values to skip.
    public let count: Int

    /// Makes the publisher, like the operator.
    public init(upstream: Upstream, count: Int) {
      self.upstream = upstream
      self.count = count
    }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      var rest = count
      upstream.relay(
        to: subscriber,
        through: Stage { value in
          rest -= 1
          return rest < 0 ? .emit(value) : .skip
        })
    }
  }
}

extension Publisher {
  /// Delivers the values that satisfy the condition.
  public func filter(_ isIncluded: @escaping (Output) -> Bool) -> Publishers.Filter<Self> {
    Publishers.Filter(upstream: self, isIncluded: isIncluded)
  }

  /// Delivers the values that satisfy the condition; fails with the error that it throws.
  public func tryFilter(_ isIncluded: @escaping (Output) throws -> Bool) -> Publishers.TryFilter<Self> {
    Publishers.TryFilter(upstream: self, isIncluded: isIncluded)
  }

  /// Skips values that are equal to the previous one.
  public func removeDuplicates() -> Publishers.RemoveDuplicates<Self> where Output: Equatable {
    removeDuplicates(by: ==)
  }

  /// Skips values that the closure considers equal to the previous one.
  public func removeDuplicates(by isEqual: @escaping (Output, Output) -> Bool) -> Publishers.RemoveDuplicates<Self> {
    Publishers.RemoveDuplicates(upstream: self, predicate: isEqual)
  }

  /// Delivers the first value and completes.
  public func first() -> Publishers.First<Self> { Publishers.First(upstream: self) }

  /// Delivers the first value that satisfies the condition and completes.
  public func first(where condition: @escaping (Output) -> Bool) -> Publishers.FirstWhere<Self> {
    Publishers.FirstWhere(upstream: self, predicate: condition)
  }

  /// Delivers at most this number of values and completes. If it is 0, it completes immediately.
  public func prefix(_ count: Int) -> Publishers.Output<Self> {
    Publishers.Output(upstream: self, range: 0..<Swift.max(0, count))
  }

  /// Skips the first values.
  public func dropFirst(_ count: Int = 1) -> Publishers.Drop<Self> { Publishers.Drop(upstream: self, count: count) }
}
#endif
