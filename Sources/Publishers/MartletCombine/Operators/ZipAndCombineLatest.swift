#if !canImport(Combine)
extension Publishers {
  /// The publisher that `zip` with one other returns.
  public struct Zip<A: Publisher, B: Publisher>: Publisher
  where A.Failure == B.Failure {
    /// The output type: a value of each publisher.
    public typealias Output = (A.Output, B.Output)
    /// The failure type.
    public typealias Failure = A.Failure
    /// The first publisher.
    public let a: A
    /// The second publisher.
    public let b: B

    /// Makes the publisher, like the operator.
    public init(_ a: A, _ b: B) {
      self.a = a
      self.b = b
    }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      pair(a, b, usingEachOnce: true, for: subscriber)
    }
  }

  /// The publisher that `zip` with two others returns.
  public struct Zip3<A: Publisher, B: Publisher, C: Publisher>: Publisher
  where A.Failure == B.Failure, A.Failure == C.Failure {
    /// The output type: a value of each publisher.
    public typealias Output = (A.Output, B.Output, C.Output)
    /// The failure type.
    public typealias Failure = A.Failure
    /// The first publisher.
    public let a: A
    /// The second publisher.
    public let b: B
    /// The third publisher.
    public let c: C

    /// Makes the publisher, like the operator.
    public init(_ a: A, _ b: B, _ c: C) {
      self.a = a
      self.b = b
      self.c = c
    }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      a.zip(b).zip(c).map { ($0.0, $0.1, $1) }.receive(subscriber: subscriber)
    }
  }

  /// The publisher that `zip` with three others returns.
  public struct Zip4<A: Publisher, B: Publisher, C: Publisher, D: Publisher>: Publisher
  where A.Failure == B.Failure, A.Failure == C.Failure, A.Failure == D.Failure {
    /// The output type: a value of each publisher.
    public typealias Output = (A.Output, B.Output, C.Output, D.Output)
    /// The failure type.
    public typealias Failure = A.Failure
    /// The first publisher.
    public let a: A
    /// The second publisher.
    public let b: B
    /// The third publisher.
    public let c: C
    /// The fourth publisher.
    public let d: D

    /// Makes the publisher, like the operator.
    public init(_ a: A, _ b: B, _ c: C, _ d: D) {
      self.a = a
      self.b = b
      self.c = c
      self.d = d
    }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      a.zip(b).zip(c.zip(d)).map { ($0.0, $0.1, $1.0, $1.1) }.receive(subscriber: subscriber)
    }
  }

  /// The publisher that `combineLatest` with one other returns.
  public struct CombineLatest<A: Publisher, B: Publisher>: Publisher
  where A.Failure == B.Failure {
    /// The output type: a value of each publisher.
    public typealias Output = (A.Output, B.Output)
    /// The failure type.
    public typealias Failure = A.Failure
    /// The first publisher.
    public let a: A
    /// The second publisher.
    public let b: B

    /// Makes the publisher, like the operator.
    public init(_ a: A, _ b: B) {
      self.a = a
      self.b = b
    }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      pair(a, b, usingEachOnce: false, for: subscriber)
    }
  }

  /// The publisher that `combineLatest` with two others returns.
  public struct CombineLatest3<A: Publisher, B: Publisher, C: Publisher>: Publisher
  where A.Failure == B.Failure, A.Failure == C.Failure {
    /// The output type: a value of each publisher.
    public typealias Output = (A.Output, B.Output, C.Output)
    /// The failure type.
    public typealias Failure = A.Failure
    /// The first publisher.
    public let a: A
    /// The second publisher.
    public let b: B
    /// The third publisher.
    public let c: C

    /// Makes the publisher, like the operator.
    public init(_ a: A, _ b: B, _ c: C) {
      self.a = a
      self.b = b
      self.c = c
    }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      a.combineLatest(b).combineLatest(c).map { ($0.0, $0.1, $1) }.receive(subscriber: subscriber)
    }
  }

  /// The publisher that `combineLatest` with three others returns.
  public struct CombineLatest4<A: Publisher, B: Publisher, C: Publisher, D: Publisher>: Publisher
  where A.Failure == B.Failure, A.Failure == C.Failure, A.Failure == D.Failure {
    /// The output type: a value of each publisher.
    public typealias Output = (A.Output, B.Output, C.Output, D.Output)
    /// The failure type.
    public typealias Failure = A.Failure
    /// The first publisher.
    public let a: A
    /// The second publisher.
    public let b: B
    /// The third publisher.
    public let c: C
    /// The fourth publisher.
    public let d: D

    /// Makes the publisher, like the operator.
    public init(_ a: A, _ b: B, _ c: C, _ d: D) {
      self.a = a
      self.b = b
      self.c = c
      self.d = d
    }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      a.combineLatest(b).combineLatest(c.combineLatest(d)).map { ($0.0, $0.1, $1.0, $1.1) }.receive(
        subscriber: subscriber)
    }
  }
}

extension Publisher {
  /// Pairs the first values of both, then the second ones, and so on.
  public func zip<P: Publisher>(_ other: P) -> Publishers.Zip<Self, P>
  where P.Failure == Failure { Publishers.Zip(self, other) }

  /// Delivers the transformed pairs.
  public func zip<P: Publisher, T>(_ other: P, _ transform: @escaping (Output, P.Output) -> T)
    -> Publishers.Map<Publishers.Zip<Self, P>, T>
  where P.Failure == Failure { zip(other).map { transform($0, $1) } }

  /// Combines the first values of all, then the second ones, and so on.
  public func zip<P: Publisher, Q: Publisher>(_ first: P, _ second: Q) -> Publishers.Zip3<Self, P, Q>
  where P.Failure == Failure, Q.Failure == Failure { Publishers.Zip3(self, first, second) }

  /// Combines the first values of all, then the second ones, and so on.
  public func zip<P: Publisher, Q: Publisher, R: Publisher>(_ first: P, _ second: Q, _ third: R)
    -> Publishers.Zip4<Self, P, Q, R>
  where P.Failure == Failure, Q.Failure == Failure, R.Failure == Failure { Publishers.Zip4(self, first, second, third) }

  /// Pairs each new value with the latest one of the other publisher.
  public func combineLatest<P: Publisher>(_ other: P) -> Publishers.CombineLatest<Self, P>
  where P.Failure == Failure { Publishers.CombineLatest(self, other) }

  /// Delivers the transformed pairs.
  public func combineLatest<P: Publisher, T>(_ other: P, _ transform: @escaping (Output, P.Output) -> T)
    -> Publishers.Map<Publishers.CombineLatest<Self, P>, T>
  where P.Failure == Failure { combineLatest(other).map { transform($0, $1) } }

  /// Delivers each new value together with the latest values of the others.
  public func combineLatest<P: Publisher, Q: Publisher>(_ first: P, _ second: Q)
    -> Publishers.CombineLatest3<Self, P, Q>
  where P.Failure == Failure, Q.Failure == Failure { Publishers.CombineLatest3(self, first, second) }

  /// Delivers each new value together with the latest values of the others.
  public func combineLatest<P: Publisher, Q: Publisher, R: Publisher>(_ first: P, _ second: Q, _ third: R)
    -> Publishers.CombineLatest4<Self, P, Q, R>
  where P.Failure == Failure, Q.Failure == Failure, R.Failure == Failure {
    Publishers.CombineLatest4(self, first, second, third)
  }
}
#endif
