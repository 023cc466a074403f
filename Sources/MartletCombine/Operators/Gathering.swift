#if !canImport(Combine)
extension Publishers {
  /// What ``Publisher/last()`` returns.
  public struct Last<Upstream: Publisher>: Publisher {
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
      upstream.relay(to: subscriber, through: .atEnd(Output?.none, { $0 = $1 }, result: { $0 }))
    }
  }

  /// What ``Publisher/collect()`` returns.
  public struct Collect<Upstream: Publisher>: Publisher {
    /// What is delivered.
    public typealias Output = [Upstream.Output]
    /// How it fails.
    public typealias Failure = Upstream.Failure
    /// Where the values come from.
    public let upstream: Upstream

    /// Makes one of its parts; an operator is the usual way.
    public init(upstream: Upstream) {
      self.upstream = upstream
    }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      upstream.relay(to: subscriber, through: .atEnd([], { $0.append($1) }, result: { $0 }))
    }
  }

  /// What ``Publisher/reduce(_:_:)`` returns.
  public struct Reduce<Upstream: Publisher, Output>: Publisher {
    /// How it fails.
    public typealias Failure = Upstream.Failure
    /// Where the values come from.
    public let upstream: Upstream
    /// What the first value is combined with.
    public let initial: Output
    /// Combines a result with a value.
    public let nextPartialResult: (Output, Upstream.Output) -> Output

    /// Makes one of its parts; an operator is the usual way.
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

  /// What ``Publisher/count()`` returns.
  public struct Count<Upstream: Publisher>: Publisher {
    /// What is delivered.
    public typealias Output = Int
    /// How it fails.
    public typealias Failure = Upstream.Failure
    /// Where the values come from.
    public let upstream: Upstream

    /// Makes one of its parts; an operator is the usual way.
    public init(upstream: Upstream) {
      self.upstream = upstream
    }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      upstream.relay(to: subscriber, through: .atEnd(0, { count, _ in count += 1 }, result: { $0 }))
    }
  }

  /// What ``Publisher/ignoreOutput()`` returns.
  public struct IgnoreOutput<Upstream: Publisher>: Publisher {
    /// What is delivered.
    public typealias Output = Never
    /// How it fails.
    public typealias Failure = Upstream.Failure
    /// Where the values come from.
    public let upstream: Upstream

    /// Makes one of its parts; an operator is the usual way.
    public init(upstream: Upstream) {
      self.upstream = upstream
    }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      upstream.relay(to: subscriber, through: Stage { _ in .skip })
    }
  }

  /// What ``Publisher/replaceEmpty(with:)`` returns.
  public struct ReplaceEmpty<Upstream: Publisher>: Publisher {
    /// What is delivered.
    public typealias Output = Upstream.Output
    /// How it fails.
    public typealias Failure = Upstream.Failure
    /// Where the values come from.
    public let upstream: Upstream
    /// What is delivered where there is no value.
    public let output: Upstream.Output

    /// Makes one of its parts; an operator is the usual way.
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
  /// Delivers the last value when it is known to be that.
  public func last() -> Publishers.Last<Self> { Publishers.Last(upstream: self) }

  /// Delivers all values at the end, in one array.
  public func collect() -> Publishers.Collect<Self> { Publishers.Collect(upstream: self) }

  /// Delivers at the end what the closure made of all values.
  public func reduce<T>(_ initial: T, _ next: @escaping (T, Output) -> T) -> Publishers.Reduce<Self, T> {
    Publishers.Reduce(upstream: self, initial: initial, nextPartialResult: next)
  }

  /// Delivers the number of values at the end.
  public func count() -> Publishers.Count<Self> { Publishers.Count(upstream: self) }

  /// Delivers no value, only the completion.
  public func ignoreOutput() -> Publishers.IgnoreOutput<Self> { Publishers.IgnoreOutput(upstream: self) }

  /// Delivers the value if it would complete without one.
  public func replaceEmpty(with value: Output) -> Publishers.ReplaceEmpty<Self> {
    Publishers.ReplaceEmpty(upstream: self, output: value)
  }
}
#endif
