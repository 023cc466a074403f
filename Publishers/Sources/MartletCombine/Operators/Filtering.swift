#if !canImport(Darwin)
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
      upstream.subscribe(subscriber, converting: "Filter") { [isIncluded] in isIncluded($0) ? $1.receive($0) : .max(1) }
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
      upstream.subscribe(subscriber, trying: "TryFilter") { [isIncluded] in try isIncluded($0) ? $1.emit($0) : $1.skip }
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
      upstream.subscribe(subscriber, converting: "CompactMap") { [transform] in
        if let value = transform($0) { $1.receive(value) } else { .max(1) }
      }
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
      upstream.subscribe(subscriber, trying: "TryCompactMap") { [transform] in
        if let value = try transform($0) { $1.emit(value) } else { $1.skip }
      }
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
    /// Whether two values are equal.
    public let predicate: (Upstream.Output, Upstream.Output) -> Bool

    /// Makes the publisher, like the operator.
    public init(upstream: Upstream, predicate: @escaping (Upstream.Output, Upstream.Output) -> Bool) {
      self.upstream = upstream
      self.predicate = predicate
    }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      var last: Output?
      upstream.subscribe(subscriber, through: "RemoveDuplicates") { [predicate] value, link in
        if let last, predicate(last, value) { return link.skip }
        last = value
        return link.emit(value)
      }
    }
  }

  /// The publisher that ``Publisher/tryRemoveDuplicates(by:)`` returns.
  public struct TryRemoveDuplicates<Upstream: Publisher>: Publisher {
    /// The output type.
    public typealias Output = Upstream.Output
    /// The failure type.
    public typealias Failure = any Error
    /// The upstream publisher.
    public let upstream: Upstream
    /// Whether two values are equal.
    public let predicate: (Upstream.Output, Upstream.Output) throws -> Bool

    /// Makes the publisher, like the operator.
    public init(upstream: Upstream, predicate: @escaping (Upstream.Output, Upstream.Output) throws -> Bool) {
      self.upstream = upstream
      self.predicate = predicate
    }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      var last: Output?
      upstream.subscribe(subscriber, trying: "TryRemoveDuplicates") { [predicate] value, link in
        if let last, try predicate(last, value) { return link.skip }
        last = value
        return link.emit(value)
      }
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

  /// Delivers the transformed values that are not nil.
  public func compactMap<T>(_ transform: @escaping (Output) -> T?) -> Publishers.CompactMap<Self, T> {
    Publishers.CompactMap(upstream: self, transform: transform)
  }

  /// Delivers the transformed values that are not nil; fails with the error that the closure throws.
  public func tryCompactMap<T>(_ transform: @escaping (Output) throws -> T?) -> Publishers.TryCompactMap<Self, T> {
    Publishers.TryCompactMap(upstream: self, transform: transform)
  }

  /// Skips values that the closure considers equal to the last delivered one.
  public func removeDuplicates(by predicate: @escaping (Output, Output) -> Bool) -> Publishers.RemoveDuplicates<Self> {
    Publishers.RemoveDuplicates(upstream: self, predicate: predicate)
  }

  /// Skips values that the closure considers equal to the last delivered one; fails with the error that it throws.
  public func tryRemoveDuplicates(
    by predicate: @escaping (Output, Output) throws -> Bool
  ) -> Publishers.TryRemoveDuplicates<Self> {
    Publishers.TryRemoveDuplicates(upstream: self, predicate: predicate)
  }
}

extension Publisher where Output: Equatable {
  /// Skips values that are equal to the last delivered one.
  public func removeDuplicates() -> Publishers.RemoveDuplicates<Self> { removeDuplicates(by: ==) }
}

// MARK: - Operators on operators

extension Publishers.Filter {
  /// Delivers the values that satisfy both conditions.
  public func filter(_ isIncluded: @escaping (Output) -> Bool) -> Publishers.Filter<Upstream> {
    Publishers.Filter(upstream: upstream) { [first = self.isIncluded] in first($0) && isIncluded($0) }
  }

  /// Delivers the values that satisfy both conditions; fails with the error that the closure throws.
  public func tryFilter(_ isIncluded: @escaping (Output) throws -> Bool) -> Publishers.TryFilter<Upstream> {
    Publishers.TryFilter(upstream: upstream) { [first = self.isIncluded] in try first($0) && isIncluded($0) }
  }
}

extension Publishers.TryFilter {
  /// Delivers the values that satisfy both conditions.
  public func filter(_ isIncluded: @escaping (Output) -> Bool) -> Publishers.TryFilter<Upstream> {
    tryFilter(isIncluded)
  }

  /// Delivers the values that satisfy both conditions; fails with the error that a closure throws.
  public func tryFilter(_ isIncluded: @escaping (Output) throws -> Bool) -> Publishers.TryFilter<Upstream> {
    Publishers.TryFilter(upstream: upstream) { [first = self.isIncluded] in try first($0) && isIncluded($0) }
  }
}

extension Publishers.CompactMap {
  /// Delivers values that are transformed twice, without nil.
  public func compactMap<T>(_ transform: @escaping (Output) -> T?) -> Publishers.CompactMap<Upstream, T> {
    Publishers.CompactMap(upstream: upstream) { [first = self.transform] in first($0).flatMap(transform) }
  }

  /// Delivers values that are transformed twice, without nil.
  public func map<T>(_ transform: @escaping (Output) -> T) -> Publishers.CompactMap<Upstream, T> {
    Publishers.CompactMap(upstream: upstream) { [first = self.transform] in first($0).map(transform) }
  }
}

extension Publishers.TryCompactMap {
  /// Delivers values that are transformed twice, without nil; fails with the error that a closure throws.
  public func compactMap<T>(_ transform: @escaping (Output) throws -> T?) -> Publishers.TryCompactMap<Upstream, T> {
    Publishers.TryCompactMap(upstream: upstream) { [first = self.transform] in try first($0).flatMap(transform) }
  }
}
#endif
