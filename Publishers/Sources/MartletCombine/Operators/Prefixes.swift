#if !canImport(Darwin)
extension Publishers {
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
      precondition(count >= 0, "dropFirst(\(count)) is invalid: use 0 or more")
      var rest = count
      upstream.subscribe(subscriber, through: "Drop", demand: .plus(count)) { value, link in
        guard rest > 0 else { return link.emit(value) }
        rest -= 1
        return link.skip
      }
    }
  }

  /// The publisher that ``Publisher/drop(while:)`` returns.
  public struct DropWhile<Upstream: Publisher>: Publisher {
    /// The output type.
    public typealias Output = Upstream.Output
    /// The failure type.
    public typealias Failure = Upstream.Failure
    /// The upstream publisher.
    public let upstream: Upstream
    /// Whether to skip a value and go on.
    public let predicate: (Upstream.Output) -> Bool

    /// Makes the publisher, like the operator.
    public init(upstream: Upstream, predicate: @escaping (Upstream.Output) -> Bool) {
      self.upstream = upstream
      self.predicate = predicate
    }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      var isDropping = true
      upstream.subscribe(subscriber, through: "DropWhile") { [predicate] value, link in
        if isDropping { isDropping = predicate(value) }
        return isDropping ? link.skip : link.emit(value)
      }
    }
  }

  /// The publisher that ``Publisher/tryDrop(while:)`` returns.
  public struct TryDropWhile<Upstream: Publisher>: Publisher {
    /// The output type.
    public typealias Output = Upstream.Output
    /// The failure type.
    public typealias Failure = any Error
    /// The upstream publisher.
    public let upstream: Upstream
    /// Whether to skip a value and go on.
    public let predicate: (Upstream.Output) throws -> Bool

    /// Makes the publisher, like the operator.
    public init(upstream: Upstream, predicate: @escaping (Upstream.Output) throws -> Bool) {
      self.upstream = upstream
      self.predicate = predicate
    }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      var isDropping = true
      upstream.subscribe(subscriber, trying: "TryDropWhile") { [predicate] value, link in
        if isDropping { isDropping = try predicate(value) }
        return isDropping ? link.skip : link.emit(value)
      }
    }
  }

  /// The publisher that ``Publisher/prefix(while:)`` returns.
  public struct PrefixWhile<Upstream: Publisher>: Publisher {
    /// The output type.
    public typealias Output = Upstream.Output
    /// The failure type.
    public typealias Failure = Upstream.Failure
    /// The upstream publisher.
    public let upstream: Upstream
    /// Whether to deliver a value and go on.
    public let predicate: (Upstream.Output) -> Bool

    /// Makes the publisher, like the operator.
    public init(upstream: Upstream, predicate: @escaping (Upstream.Output) -> Bool) {
      self.upstream = upstream
      self.predicate = predicate
    }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      upstream.subscribe(subscriber, through: "PrefixWhile") { [predicate] in
        predicate($0) ? $1.emit($0) : $1.complete(.finished)
      }
    }
  }

  /// The publisher that ``Publisher/tryPrefix(while:)`` returns.
  public struct TryPrefixWhile<Upstream: Publisher>: Publisher {
    /// The output type.
    public typealias Output = Upstream.Output
    /// The failure type.
    public typealias Failure = any Error
    /// The upstream publisher.
    public let upstream: Upstream
    /// Whether to deliver a value and go on.
    public let predicate: (Upstream.Output) throws -> Bool

    /// Makes the publisher, like the operator.
    public init(upstream: Upstream, predicate: @escaping (Upstream.Output) throws -> Bool) {
      self.upstream = upstream
      self.predicate = predicate
    }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      upstream.subscribe(subscriber, trying: "TryPrefixWhile") { [predicate] in
        try predicate($0) ? $1.emit($0) : $1.complete(.finished)
      }
    }
  }

  /// The publisher that ``Publisher/prefix(_:)`` and ``Publisher/output(in:)`` returns.
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
      precondition(range.lowerBound >= 0, "the position \(range.lowerBound) is invalid: use 0 or more")
      self.upstream = upstream
      self.range = range
    }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      guard !range.isEmpty else { return Empty<Output, Failure>().receive(subscriber: subscriber) }
      var position = -1
      upstream.subscribe(subscriber, through: "Output") { [range] value, link in
        position += 1
        if position == range.upperBound - 1 { return link.emitLast(value) }
        return position >= range.lowerBound ? link.emit(value) : link.skip
      }
    }
  }
}

extension Publishers.Drop: Equatable where Upstream: Equatable {}
extension Publishers.Output: Equatable where Upstream: Equatable {}

extension Publisher {
  /// Skips the first values.
  public func dropFirst(_ count: Int = 1) -> Publishers.Drop<Self> { Publishers.Drop(upstream: self, count: count) }

  /// Skips values until one does not satisfy the condition.
  public func drop(while predicate: @escaping (Output) -> Bool) -> Publishers.DropWhile<Self> {
    Publishers.DropWhile(upstream: self, predicate: predicate)
  }

  /// Skips values until one does not satisfy the condition; fails with the error that it throws.
  public func tryDrop(while predicate: @escaping (Output) throws -> Bool) -> Publishers.TryDropWhile<Self> {
    Publishers.TryDropWhile(upstream: self, predicate: predicate)
  }

  /// Delivers at most this number of values, and finishes with the last one. If it is 0, it finishes immediately.
  public func prefix(_ maxLength: Int) -> Publishers.Output<Self> { output(in: ..<maxLength) }

  /// Delivers values until one does not satisfy the condition, and finishes.
  public func prefix(while predicate: @escaping (Output) -> Bool) -> Publishers.PrefixWhile<Self> {
    Publishers.PrefixWhile(upstream: self, predicate: predicate)
  }

  /// Delivers values until one does not satisfy the condition, and finishes; fails with the error that it throws.
  public func tryPrefix(while predicate: @escaping (Output) throws -> Bool) -> Publishers.TryPrefixWhile<Self> {
    Publishers.TryPrefixWhile(upstream: self, predicate: predicate)
  }

  /// Delivers the value at a position, and finishes. The first value is at 0.
  public func output(at index: Int) -> Publishers.Output<Self> {
    let start = Swift.min(index, .max - 1)  // A range cannot have the largest number, which no publisher reaches.
    return output(in: start..<start + 1)
  }

  /// Delivers the values at these positions, and finishes with the last one. The first value is at 0.
  public func output<R: RangeExpression>(in range: R) -> Publishers.Output<Self> where R.Bound == Int {
    Publishers.Output(upstream: self, range: range.relative(to: 0..<Int.max))
  }
}
#endif
