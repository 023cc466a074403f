#if !canImport(Darwin)
extension Publishers {
  /// The publisher that ``Publisher/collect()`` returns.
  public struct Collect<Upstream: Publisher>: Publisher {
    /// The output type.
    public typealias Output = [Upstream.Output]
    /// The failure type.
    public typealias Failure = Upstream.Failure
    /// The upstream publisher.
    public let upstream: Upstream

    /// Makes the publisher, like the operator.
    public init(upstream: Upstream) { self.upstream = upstream }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      var values: Output = []
      upstream.subscribe(
        subscriber, through: "Collect", demand: .unlimited, onFinish: { $0.finish(with: values) },
        step: { value, link in
          values.append(value)
          return link.skip
        })
    }
  }

  /// The publisher that ``Publisher/collect(_:)`` returns.
  public struct CollectByCount<Upstream: Publisher>: Publisher {
    /// The output type.
    public typealias Output = [Upstream.Output]
    /// The failure type.
    public typealias Failure = Upstream.Failure
    /// The upstream publisher.
    public let upstream: Upstream
    /// The number of values in an array.
    public let count: Int

    /// Makes the publisher, like the operator.
    public init(upstream: Upstream, count: Int) {
      self.upstream = upstream
      self.count = count
    }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      precondition(count > 0, "collect(\(count)) is invalid: use 1 or more")
      var values: Output = []
      upstream.subscribe(
        subscriber, through: "CollectByCount", demand: .times(count),
        onFinish: { if values.isEmpty { $0.complete(.finished) } else { $0.finish(with: values) } },
        step: { [count] value, link in
          values.append(value)
          guard values.count == count else { return link.skip }
          let full = values
          values = []
          return link.emit(full)
        })
    }
  }

  /// The publisher that ``Publisher/reduce(_:_:)`` returns.
  public struct Reduce<Upstream: Publisher, Output>: Publisher {
    /// The failure type.
    public typealias Failure = Upstream.Failure
    /// The upstream publisher.
    public let upstream: Upstream
    /// The initial result.
    public let initial: Output
    /// Returns the next result.
    public let nextPartialResult: (Output, Upstream.Output) -> Output

    /// Makes the publisher, like the operator.
    public init(upstream: Upstream, initial: Output, nextPartialResult: @escaping (Output, Upstream.Output) -> Output) {
      self.upstream = upstream
      self.initial = initial
      self.nextPartialResult = nextPartialResult
    }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      var result = initial
      upstream.subscribe(
        subscriber, through: "Reduce", demand: .unlimited, onFinish: { $0.finish(with: result) },
        step: { [nextPartialResult] value, link in
          result = nextPartialResult(result, value)
          return link.skip
        })
    }
  }

  /// The publisher that ``Publisher/tryReduce(_:_:)`` returns.
  public struct TryReduce<Upstream: Publisher, Output>: Publisher {
    /// The failure type.
    public typealias Failure = any Error
    /// The upstream publisher.
    public let upstream: Upstream
    /// The initial result.
    public let initial: Output
    /// Returns the next result.
    public let nextPartialResult: (Output, Upstream.Output) throws -> Output

    /// Makes the publisher, like the operator.
    public init(
      upstream: Upstream, initial: Output, nextPartialResult: @escaping (Output, Upstream.Output) throws -> Output
    ) {
      self.upstream = upstream
      self.initial = initial
      self.nextPartialResult = nextPartialResult
    }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      var result = initial
      upstream.subscribe(
        subscriber, trying: "TryReduce", demand: .unlimited, onFinish: { $0.finish(with: result) },
        step: { [nextPartialResult] value, link in
          result = try nextPartialResult(result, value)
          return link.skip
        })
    }
  }

  /// The publisher that ``Publisher/count()`` returns.
  public struct Count<Upstream: Publisher>: Publisher {
    /// The output type.
    public typealias Output = Int
    /// The failure type.
    public typealias Failure = Upstream.Failure
    /// The upstream publisher.
    public let upstream: Upstream

    /// Makes the publisher, like the operator.
    public init(upstream: Upstream) { self.upstream = upstream }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      var count = 0
      upstream.subscribe(
        subscriber, through: "Count", demand: .unlimited, onFinish: { $0.finish(with: count) },
        step: { _, link in
          count += 1
          return link.skip
        })
    }
  }

  /// The publisher that ``Publisher/ignoreOutput()`` returns.
  public struct IgnoreOutput<Upstream: Publisher>: Publisher {
    /// The output type.
    public typealias Output = Never
    /// The failure type.
    public typealias Failure = Upstream.Failure
    /// The upstream publisher.
    public let upstream: Upstream

    /// Makes the publisher, like the operator.
    public init(upstream: Upstream) { self.upstream = upstream }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      upstream.subscribe(subscriber, converting: "IgnoreOutput", isUnlimited: true) { _, _ in .none }
    }
  }

  /// The publisher that ``Publisher/replaceEmpty(with:)`` returns.
  public struct ReplaceEmpty<Upstream: Publisher>: Publisher {
    /// The output type.
    public typealias Output = Upstream.Output
    /// The failure type.
    public typealias Failure = Upstream.Failure
    /// The upstream publisher.
    public let upstream: Upstream
    /// The value to deliver if there is none.
    public let output: Upstream.Output

    /// Makes the publisher, like the operator.
    public init(upstream: Upstream, output: Upstream.Output) {
      self.upstream = upstream
      self.output = output
    }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      var isEmpty = true
      upstream.subscribe(
        subscriber, through: "ReplaceEmpty",
        onFinish: { [output] in if isEmpty { $0.finish(with: output) } else { $0.complete(.finished) } },
        step: { value, link in
          isEmpty = false
          return link.emit(value)
        })
    }
  }
}

extension Publishers.Collect: Equatable where Upstream: Equatable {}
extension Publishers.CollectByCount: Equatable where Upstream: Equatable {}
extension Publishers.Count: Equatable where Upstream: Equatable {}
extension Publishers.IgnoreOutput: Equatable where Upstream: Equatable {}
extension Publishers.ReplaceEmpty: Equatable where Upstream: Equatable, Upstream.Output: Equatable {}

extension Publisher {
  /// Delivers all values in one array, once this publisher has finished.
  public func collect() -> Publishers.Collect<Self> { Publishers.Collect(upstream: self) }

  /// Delivers arrays of this many values. The last one has the rest; a failure drops it.
  public func collect(_ count: Int) -> Publishers.CollectByCount<Self> {
    Publishers.CollectByCount(upstream: self, count: count)
  }

  /// Delivers the result of combining all values, once this publisher has finished.
  public func reduce<T>(
    _ initialResult: T, _ nextPartialResult: @escaping (T, Output) -> T
  ) -> Publishers.Reduce<Self, T> {
    Publishers.Reduce(upstream: self, initial: initialResult, nextPartialResult: nextPartialResult)
  }

  /// Delivers the result of combining all values, once this publisher has finished; fails with the error that the
  /// closure throws.
  public func tryReduce<T>(
    _ initialResult: T, _ nextPartialResult: @escaping (T, Output) throws -> T
  ) -> Publishers.TryReduce<Self, T> {
    Publishers.TryReduce(upstream: self, initial: initialResult, nextPartialResult: nextPartialResult)
  }

  /// Delivers the number of values, once this publisher has finished.
  public func count() -> Publishers.Count<Self> { Publishers.Count(upstream: self) }

  /// Delivers only the completion.
  public func ignoreOutput() -> Publishers.IgnoreOutput<Self> { Publishers.IgnoreOutput(upstream: self) }

  /// Delivers the value if this publisher finishes without any.
  public func replaceEmpty(with output: Output) -> Publishers.ReplaceEmpty<Self> {
    Publishers.ReplaceEmpty(upstream: self, output: output)
  }
}
#endif
