#if !canImport(Combine)
extension Publishers {
  /// The publisher that ``Publisher/last()`` returns.
  public struct Last<Upstream: Publisher>: Publisher {
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
      upstream.relay(to: subscriber, through: .atEnd(Output?.none, { $0 = $1 }, result: { $0 }))
    }
  }

  /// The publisher that ``Publisher/collect()`` returns.
  public struct Collect<Upstream: Publisher>: Publisher {
    /// The output type.
    public typealias Output = [Upstream.Output]
    /// The failure type.
    public typealias Failure = Upstream.Failure
    /// The upstream publisher.
    public let upstream: Upstream

    /// Makes the publisher, like the operator.
    public init(upstream: Upstream) {
      self.upstream = upstream
    }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      upstream.relay(to: subscriber, through: .atEnd([], { $0.append($1) }, result: { $0 }))
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
      upstream.relay(
        to: subscriber,
        through: .atEnd(initial, { [nextPartialResult] in $0 = nextPartialResult($0, $1) }, result: { $0 }))
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
    public init(upstream: Upstream) {
      self.upstream = upstream
    }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      upstream.relay(to: subscriber, through: .atEnd(0, { count, _ in count += 1 }, result: { $0 }))
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
    public init(upstream: Upstream) {
      self.upstream = upstream
    }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      upstream.relay(to: subscriber, through: Stage { _ in .skip })
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
      upstream.relay(
        to: subscriber,
        through: Stage(
          onValue: { input in
            isEmpty = false
            return .emit(input)
          },
          onCompletion: { [output] completion in
            if case .finished = completion, isEmpty { .emitLast(output) } else { .finish(completion) }
          }))
    }
  }
}

extension Publisher {
  /// Delivers the last value after the upstream publisher has completed.
  public func last() -> Publishers.Last<Self> { Publishers.Last(upstream: self) }

  /// Delivers all values in one array, at the end.
  public func collect() -> Publishers.Collect<Self> { Publishers.Collect(upstream: self) }

  /// Delivers the result of combining all values, at the end.
  public func reduce<T>(_ initial: T, _ next: @escaping (T, Output) -> T) -> Publishers.Reduce<Self, T> {
    Publishers.Reduce(upstream: self, initial: initial, nextPartialResult: next)
  }

  /// Delivers the number of values, at the end.
  public func count() -> Publishers.Count<Self> { Publishers.Count(upstream: self) }

  /// Delivers only the completion.
  public func ignoreOutput() -> Publishers.IgnoreOutput<Self> { Publishers.IgnoreOutput(upstream: self) }

  /// Delivers the value if there is none.
  public func replaceEmpty(with value: Output) -> Publishers.ReplaceEmpty<Self> {
    Publishers.ReplaceEmpty(upstream: self, output: value)
  }
}
#endif
