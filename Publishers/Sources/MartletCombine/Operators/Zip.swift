#if !canImport(Darwin)
extension Publishers {
  /// The publisher that `zip` with one other returns.
  public struct Zip<A: Publisher, B: Publisher>: Publisher
  where B.Failure == A.Failure {
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
      let subscription = TupleSubscription(to: subscriber, name: "Zip", usingOnce: true)
      let (a, b) = (subscription.column(a), subscription.column(b))
      subscription.run { (a.next(), b.next()) }
    }
  }

  /// The publisher that `zip` with two others returns.
  public struct Zip3<A: Publisher, B: Publisher, C: Publisher>: Publisher
  where B.Failure == A.Failure, C.Failure == A.Failure {
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
      let subscription = TupleSubscription(to: subscriber, name: "Zip", usingOnce: true)
      let (a, b, c) = (subscription.column(a), subscription.column(b), subscription.column(c))
      subscription.run { (a.next(), b.next(), c.next()) }
    }
  }

  /// The publisher that `zip` with three others returns.
  public struct Zip4<A: Publisher, B: Publisher, C: Publisher, D: Publisher>: Publisher
  where B.Failure == A.Failure, C.Failure == A.Failure, D.Failure == A.Failure {
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
      let subscription = TupleSubscription(to: subscriber, name: "Zip", usingOnce: true)
      let (a, b, c) = (subscription.column(a), subscription.column(b), subscription.column(c))
      let d = subscription.column(d)
      subscription.run { (a.next(), b.next(), c.next(), d.next()) }
    }
  }
}

extension Publisher {
  /// Pairs the first values of both, then the second ones, and so on.
  ///
  /// It finishes when one of them has finished and all its values are used. The first failure ends both.
  public func zip<P: Publisher>(_ other: P) -> Publishers.Zip<Self, P>
  where P.Failure == Failure { Publishers.Zip(self, other) }

  /// Delivers the transformed pairs.
  public func zip<P: Publisher, T>(
    _ other: P, _ transform: @escaping (Output, P.Output) -> T
  ) -> Publishers.Map<Publishers.Zip<Self, P>, T>
  where P.Failure == Failure { zip(other).map { transform($0, $1) } }

  /// Combines the first values of all, then the second ones, and so on.
  public func zip<P: Publisher, Q: Publisher>(_ publisher1: P, _ publisher2: Q) -> Publishers.Zip3<Self, P, Q>
  where P.Failure == Failure, Q.Failure == Failure { Publishers.Zip3(self, publisher1, publisher2) }

  /// Delivers the transformed tuples.
  public func zip<P: Publisher, Q: Publisher, T>(
    _ publisher1: P, _ publisher2: Q, _ transform: @escaping (Output, P.Output, Q.Output) -> T
  ) -> Publishers.Map<Publishers.Zip3<Self, P, Q>, T>
  where P.Failure == Failure, Q.Failure == Failure { zip(publisher1, publisher2).map { transform($0, $1, $2) } }

  /// Combines the first values of all, then the second ones, and so on.
  public func zip<P: Publisher, Q: Publisher, R: Publisher>(_ publisher1: P, _ publisher2: Q, _ publisher3: R)
    -> Publishers.Zip4<Self, P, Q, R>
  where P.Failure == Failure, Q.Failure == Failure, R.Failure == Failure {
    Publishers.Zip4(self, publisher1, publisher2, publisher3)
  }

  /// Delivers the transformed tuples.
  public func zip<P: Publisher, Q: Publisher, R: Publisher, T>(
    _ publisher1: P, _ publisher2: Q, _ publisher3: R,
    _ transform: @escaping (Output, P.Output, Q.Output, R.Output) -> T
  ) -> Publishers.Map<Publishers.Zip4<Self, P, Q, R>, T>
  where P.Failure == Failure, Q.Failure == Failure, R.Failure == Failure {
    zip(publisher1, publisher2, publisher3).map { transform($0, $1, $2, $3) }
  }
}

extension Publishers.Zip: Equatable where A: Equatable, B: Equatable {}
extension Publishers.Zip3: Equatable where A: Equatable, B: Equatable, C: Equatable {}
extension Publishers.Zip4: Equatable where A: Equatable, B: Equatable, C: Equatable, D: Equatable {}
#endif
