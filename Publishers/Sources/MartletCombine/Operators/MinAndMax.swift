#if !canImport(Darwin)
extension Publishers {
  /// The publisher that ``Publisher/min(by:)`` and ``Publisher/max(by:)`` returns.
  public struct Comparison<Upstream: Publisher>: Publisher {
    /// The output type.
    public typealias Output = Upstream.Output
    /// The failure type.
    public typealias Failure = Upstream.Failure
    /// The upstream publisher.
    public let upstream: Upstream
    /// Whether the second value replaces the first one.
    public let areInIncreasingOrder: (Upstream.Output, Upstream.Output) -> Bool

    /// Makes the publisher, like the operator.
    public init(upstream: Upstream, areInIncreasingOrder: @escaping (Upstream.Output, Upstream.Output) -> Bool) {
      self.upstream = upstream
      self.areInIncreasingOrder = areInIncreasingOrder
    }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      var result: Output?
      upstream.subscribe(
        subscriber, through: "Comparison", demand: .unlimited,
        onFinish: { $0.finish(with: result) },
        step: { [areInIncreasingOrder] value, link in
          if let old = result, !areInIncreasingOrder(old, value) { return link.skip }
          result = value
          return link.skip
        })
    }
  }

  /// The publisher that ``Publisher/tryMin(by:)`` and ``Publisher/tryMax(by:)`` returns.
  public struct TryComparison<Upstream: Publisher>: Publisher {
    /// The output type.
    public typealias Output = Upstream.Output
    /// The failure type.
    public typealias Failure = any Error
    /// The upstream publisher.
    public let upstream: Upstream
    /// Whether the second value replaces the first one.
    public let areInIncreasingOrder: (Upstream.Output, Upstream.Output) throws -> Bool

    /// Makes the publisher, like the operator.
    public init(upstream: Upstream, areInIncreasingOrder: @escaping (Upstream.Output, Upstream.Output) throws -> Bool) {
      self.upstream = upstream
      self.areInIncreasingOrder = areInIncreasingOrder
    }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      var result: Output?
      upstream.subscribe(
        subscriber, trying: "TryComparison", demand: .unlimited,
        onFinish: { $0.finish(with: result) },
        step: { [areInIncreasingOrder] value, link in
          if let old = result, try !areInIncreasingOrder(old, value) { return link.skip }
          result = value
          return link.skip
        })
    }
  }
}

extension Publisher where Output: Comparable {
  /// Delivers the smallest value, once this publisher has finished.
  public func min() -> Publishers.Comparison<Self> { min(by: <) }

  /// Delivers the largest value, once this publisher has finished.
  public func max() -> Publishers.Comparison<Self> { max(by: <) }
}

extension Publisher {
  /// Delivers the smallest value in this order, once this publisher has finished.
  public func min(by areInIncreasingOrder: @escaping (Output, Output) -> Bool) -> Publishers.Comparison<Self> {
    Publishers.Comparison(upstream: self) { areInIncreasingOrder($1, $0) }
  }

  /// Delivers the smallest value in this order, once this publisher has finished; fails with the error that the closure
  /// throws.
  public func tryMin(
    by areInIncreasingOrder: @escaping (Output, Output) throws -> Bool
  ) -> Publishers.TryComparison<Self> {
    Publishers.TryComparison(upstream: self) { try areInIncreasingOrder($1, $0) }
  }

  /// Delivers the largest value in this order, once this publisher has finished.
  public func max(by areInIncreasingOrder: @escaping (Output, Output) -> Bool) -> Publishers.Comparison<Self> {
    Publishers.Comparison(upstream: self, areInIncreasingOrder: areInIncreasingOrder)
  }

  /// Delivers the largest value in this order, once this publisher has finished; fails with the error that the closure
  /// throws.
  public func tryMax(
    by areInIncreasingOrder: @escaping (Output, Output) throws -> Bool
  ) -> Publishers.TryComparison<Self> {
    Publishers.TryComparison(upstream: self, areInIncreasingOrder: areInIncreasingOrder)
  }
}
#endif
