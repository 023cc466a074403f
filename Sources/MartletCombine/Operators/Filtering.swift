#if !canImport(Combine)
extension Publishers {
  /// What ``Publisher/filter(_:)`` returns.
  public struct Filter<Upstream: Publisher>: Publisher {
    /// What is delivered.
    public typealias Output = Upstream.Output
    /// How it fails.
    public typealias Failure = Upstream.Failure
    /// Where the values come from.
    public let upstream: Upstream
    /// Whether a value is delivered.
    public let isIncluded: (Upstream.Output) -> Bool

    /// Makes one of its parts; an operator is the usual way.
    public init(upstream: Upstream, isIncluded: @escaping (Upstream.Output) -> Bool) {
      self.upstream = upstream
      self.isIncluded = isIncluded
    }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      upstream.relay(to: subscriber, through: Stage { [isIncluded] in isIncluded($0) ? .emit($0) : .skip })
    }
  }

  /// What ``Publisher/tryFilter(_:)`` returns.
  public struct TryFilter<Upstream: Publisher>: Publisher {
    /// What is delivered.
    public typealias Output = Upstream.Output
    /// How it fails.
    public typealias Failure = any Error
    /// Where the values come from.
    public let upstream: Upstream
    /// Whether a value is delivered.
    public let isIncluded: (Upstream.Output) throws -> Bool

    /// Makes one of its parts; an operator is the usual way.
    public init(upstream: Upstream, isIncluded: @escaping (Upstream.Output) throws -> Bool) {
      self.upstream = upstream
      self.isIncluded = isIncluded
    }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      upstream.relay(to: subscriber, through: Stage(trying: { [isIncluded] in try isIncluded($0) ? .emit($0) : .skip }))
    }
  }

  /// What ``Publisher/removeDuplicates()`` returns.
  public struct RemoveDuplicates<Upstream: Publisher>: Publisher {
    /// What is delivered.
    public typealias Output = Upstream.Output
    /// How it fails.
    public typealias Failure = Upstream.Failure
    /// Where the values come from.
    public let upstream: Upstream
    /// Whether a value equals the one before it.
    public let predicate: (Upstream.Output, Upstream.Output) -> Bool

    /// Makes one of its parts; an operator is the usual way.
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

  /// What ``Publisher/first()`` returns.
  public struct First<Upstream: Publisher>: Publisher {
    /// What is delivered.
    public typealias Output = Upstream.Output
    /// How it fails.
    public typealias Failure = Upstream.Failure
    /// Where the values come from.
    public let upstream: Upstream

    /// Makes one of its parts; an operator is the usual way.
    public init(upstream: Upstream) {
      self.upstream = upstream
    }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      upstream.relay(to: subscriber, through: Stage { .emitLast($0) })
    }
  }

  /// What ``Publisher/first(where:)`` returns.
  public struct FirstWhere<Upstream: Publisher>: Publisher {
    /// What is delivered.
    public typealias Output = Upstream.Output
    /// How it fails.
    public typealias Failure = Upstream.Failure
    /// Where the values come from.
    public let upstream: Upstream
    /// Whether a value is the one.
    public let predicate: (Upstream.Output) -> Bool

    /// Makes one of its parts; an operator is the usual way.
    public init(upstream: Upstream, predicate: @escaping (Upstream.Output) -> Bool) {
      self.upstream = upstream
      self.predicate = predicate
    }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      upstream.relay(to: subscriber, through: Stage { [predicate] in predicate($0) ? .emitLast($0) : .skip })
    }
  }

  /// What ``Publisher/prefix(_:)`` returns: the values at some positions.
  public struct Output<Upstream: Publisher>: Publisher {
    /// What is delivered.
    public typealias Output = Upstream.Output
    /// How it fails.
    public typealias Failure = Upstream.Failure
    /// Where the values come from.
    public let upstream: Upstream
    /// The positions of the values that are delivered; the first value is at 0.
    public let range: CountableRange<Int>

    /// Makes one of its parts; an operator is the usual way.
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

  /// What ``Publisher/dropFirst(_:)`` returns.
  public struct Drop<Upstream: Publisher>: Publisher {
    /// What is delivered.
    public typealias Output = Upstream.Output
    /// How it fails.
    public typealias Failure = Upstream.Failure
    /// Where the values come from.
    public let upstream: Upstream
    /// How many values are left out.
    public let count: Int

    /// Makes one of its parts; an operator is the usual way.
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
  /// Delivers the values that fulfil the condition.
  public func filter(_ isIncluded: @escaping (Output) -> Bool) -> Publishers.Filter<Self> {
    Publishers.Filter(upstream: self, isIncluded: isIncluded)
  }

  /// Delivers the values that fulfil the condition; fails with what it throws.
  public func tryFilter(_ isIncluded: @escaping (Output) throws -> Bool) -> Publishers.TryFilter<Self> {
    Publishers.TryFilter(upstream: self, isIncluded: isIncluded)
  }

  /// Leaves out a value that equals the one before it.
  public func removeDuplicates() -> Publishers.RemoveDuplicates<Self> where Output: Equatable {
    removeDuplicates(by: ==)
  }

  /// Leaves out a value that the closure calls equal to the one before it.
  public func removeDuplicates(by isEqual: @escaping (Output, Output) -> Bool) -> Publishers.RemoveDuplicates<Self> {
    Publishers.RemoveDuplicates(upstream: self, predicate: isEqual)
  }

  /// Delivers the first value and completes.
  public func first() -> Publishers.First<Self> { Publishers.First(upstream: self) }

  /// Delivers the first value that fulfils the condition and completes.
  public func first(where condition: @escaping (Output) -> Bool) -> Publishers.FirstWhere<Self> {
    Publishers.FirstWhere(upstream: self, predicate: condition)
  }

  /// Delivers the first values, at most so many, and completes; with none, it completes at once.
  public func prefix(_ count: Int) -> Publishers.Output<Self> {
    Publishers.Output(upstream: self, range: 0..<Swift.max(0, count))
  }

  /// Delivers what comes after the first values.
  public func dropFirst(_ count: Int = 1) -> Publishers.Drop<Self> { Publishers.Drop(upstream: self, count: count) }
}
#endif
