#if !canImport(Darwin)
extension Publishers {
  /// The publisher that ``Publisher/contains(_:)`` returns.
  public struct Contains<Upstream: Publisher>: Publisher where Upstream.Output: Equatable {
    /// The output type.
    public typealias Output = Bool
    /// The failure type.
    public typealias Failure = Upstream.Failure
    /// The upstream publisher.
    public let upstream: Upstream
    /// The value to find.
    public let output: Upstream.Output

    /// Makes the publisher, like the operator.
    public init(upstream: Upstream, output: Upstream.Output) {
      self.upstream = upstream
      self.output = output
    }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      upstream.subscribe(
        subscriber, through: "Contains", demand: .unlimited, onFinish: { $0.finish(with: false) },
        step: { [output] in $0 == output ? $1.emitLast(true) : $1.skip })
    }
  }

  /// The publisher that ``Publisher/contains(where:)`` returns.
  public struct ContainsWhere<Upstream: Publisher>: Publisher {
    /// The output type.
    public typealias Output = Bool
    /// The failure type.
    public typealias Failure = Upstream.Failure
    /// The upstream publisher.
    public let upstream: Upstream
    /// The condition.
    public let predicate: (Upstream.Output) -> Bool

    /// Makes the publisher, like the operator.
    public init(upstream: Upstream, predicate: @escaping (Upstream.Output) -> Bool) {
      self.upstream = upstream
      self.predicate = predicate
    }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      upstream.subscribe(
        subscriber, through: "ContainsWhere", demand: .unlimited, onFinish: { $0.finish(with: false) },
        step: { [predicate] in predicate($0) ? $1.emitLast(true) : $1.skip })
    }
  }

  /// The publisher that ``Publisher/tryContains(where:)`` returns.
  public struct TryContainsWhere<Upstream: Publisher>: Publisher {
    /// The output type.
    public typealias Output = Bool
    /// The failure type.
    public typealias Failure = any Error
    /// The upstream publisher.
    public let upstream: Upstream
    /// The condition.
    public let predicate: (Upstream.Output) throws -> Bool

    /// Makes the publisher, like the operator.
    public init(upstream: Upstream, predicate: @escaping (Upstream.Output) throws -> Bool) {
      self.upstream = upstream
      self.predicate = predicate
    }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      upstream.subscribe(
        subscriber, trying: "TryContainsWhere", demand: .unlimited, onFinish: { $0.finish(with: false) },
        step: { [predicate] in try predicate($0) ? $1.emitLast(true) : $1.skip })
    }
  }

  /// The publisher that ``Publisher/allSatisfy(_:)`` returns.
  public struct AllSatisfy<Upstream: Publisher>: Publisher {
    /// The output type.
    public typealias Output = Bool
    /// The failure type.
    public typealias Failure = Upstream.Failure
    /// The upstream publisher.
    public let upstream: Upstream
    /// The condition.
    public let predicate: (Upstream.Output) -> Bool

    /// Makes the publisher, like the operator.
    public init(upstream: Upstream, predicate: @escaping (Upstream.Output) -> Bool) {
      self.upstream = upstream
      self.predicate = predicate
    }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      upstream.subscribe(
        subscriber, through: "AllSatisfy", demand: .unlimited, onFinish: { $0.finish(with: true) },
        step: { [predicate] in !predicate($0) ? $1.emitLast(false) : $1.skip })
    }
  }

  /// The publisher that ``Publisher/tryAllSatisfy(_:)`` returns.
  public struct TryAllSatisfy<Upstream: Publisher>: Publisher {
    /// The output type.
    public typealias Output = Bool
    /// The failure type.
    public typealias Failure = any Error
    /// The upstream publisher.
    public let upstream: Upstream
    /// The condition.
    public let predicate: (Upstream.Output) throws -> Bool

    /// Makes the publisher, like the operator.
    public init(upstream: Upstream, predicate: @escaping (Upstream.Output) throws -> Bool) {
      self.upstream = upstream
      self.predicate = predicate
    }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      upstream.subscribe(
        subscriber, trying: "TryAllSatisfy", demand: .unlimited, onFinish: { $0.finish(with: true) },
        step: { [predicate] in try !predicate($0) ? $1.emitLast(false) : $1.skip })
    }
  }
}

extension Publishers.Contains: Equatable where Upstream: Equatable {}

extension Publisher where Output: Equatable {
  /// Delivers whether this value comes: true at once, false when this publisher has finished.
  public func contains(_ output: Output) -> Publishers.Contains<Self> {
    Publishers.Contains(upstream: self, output: output)
  }
}

extension Publisher {
  /// Delivers whether a value satisfies the condition: true at once, false when this publisher has finished.
  public func contains(where predicate: @escaping (Output) -> Bool) -> Publishers.ContainsWhere<Self> {
    Publishers.ContainsWhere(upstream: self, predicate: predicate)
  }

  /// Delivers whether a value satisfies the condition: true at once, false when this publisher has finished; fails with
  /// the error that it throws.
  public func tryContains(where predicate: @escaping (Output) throws -> Bool) -> Publishers.TryContainsWhere<Self> {
    Publishers.TryContainsWhere(upstream: self, predicate: predicate)
  }

  /// Delivers whether all values satisfy the condition: false at once, true when this publisher has finished.
  public func allSatisfy(_ predicate: @escaping (Output) -> Bool) -> Publishers.AllSatisfy<Self> {
    Publishers.AllSatisfy(upstream: self, predicate: predicate)
  }

  /// Delivers whether all values satisfy the condition: false at once, true when this publisher has finished; fails
  /// with the error that it throws.
  public func tryAllSatisfy(_ predicate: @escaping (Output) throws -> Bool) -> Publishers.TryAllSatisfy<Self> {
    Publishers.TryAllSatisfy(upstream: self, predicate: predicate)
  }
}
#endif
