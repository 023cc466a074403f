#if !canImport(Darwin)
extension Publishers {
  /// What a buffer requests from upstream.
  public enum PrefetchStrategy: Hashable, Sendable {
    /// As many values as it has room for, and another one for each that it delivers.
    case keepFull
    /// Any number of values, at once.
    case byRequest
  }

  /// What a full buffer does with another value.
  public enum BufferingStrategy<Failure: Error> {
    /// Drops it.
    case dropNewest
    /// Drops the oldest value in the buffer instead.
    case dropOldest
    /// Cancels upstream and fails with the error that the closure makes.
    case customError(() -> Failure)
  }

  /// The publisher that ``Publisher/buffer(size:prefetch:whenFull:)`` returns.
  public struct Buffer<Upstream: Publisher>: Publisher {
    /// The output type.
    public typealias Output = Upstream.Output
    /// The failure type.
    public typealias Failure = Upstream.Failure
    /// The upstream publisher.
    public let upstream: Upstream
    /// The number of values that the buffer has room for.
    public let size: Int
    /// The demand that goes upstream.
    public let prefetch: PrefetchStrategy
    /// What happens with a value for which there is no room.
    public let whenFull: BufferingStrategy<Failure>

    /// Makes the publisher, like the operator.
    public init(
      upstream: Upstream, size: Int, prefetch: PrefetchStrategy, whenFull: BufferingStrategy<Failure>
    ) {
      self.upstream = upstream
      self.size = size
      self.prefetch = prefetch
      self.whenFull = whenFull
    }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      upstream.subscribe(BufferRelay(to: subscriber, size: size, prefetch: prefetch, whenFull: whenFull))
    }
  }
}

/// Keeps values until they are requested.
private final class BufferRelay<Downstream: Subscriber>: Relay<Downstream.Input, Downstream> {
  private let size: Int
  private let refill: Subscribers.Demand
  private var whenFull: Publishers.BufferingStrategy<Downstream.Failure>?
  private var values = FIFO<Downstream.Input>()
  /// The completion to deliver. The end of upstream follows all stored values. The failure of a full buffer follows
  /// only the stored values that the next request asks for.
  private var ending: Subscribers.Completion<Downstream.Failure>?

  init(
    to downstream: Downstream, size: Int, prefetch: Publishers.PrefetchStrategy,
    whenFull: Publishers.BufferingStrategy<Downstream.Failure>
  ) {
    self.size = size
    self.whenFull = whenFull
    refill = prefetch == .keepFull ? .max(1) : .none
    super.init(
      to: downstream, name: "Buffer", counting: true, asking: prefetch == .keepFull ? .max(size) : .unlimited)
  }

  override func receive(_ input: Downstream.Input) -> Subscribers.Demand {
    var dropped: Downstream.Input?
    var makeError: (() -> Downstream.Failure)?
    var isDelivered = false
    let permit = lock.withLock { () -> DeliveryPermit? in
      guard !isClosed, ending == nil else { return nil }
      if isOpen, demand > .none, values.isEmpty {
        isDelivered = true
        return offer(input)
      }
      if values.count < size {
        values.append(input)
      } else if case .customError(let make) = whenFull {
        makeError = make
      } else if case .dropOldest = whenFull, let oldest = values.popFirst() {
        dropped = oldest
        values.append(input)
      }
      return nil
    }
    withExtendedLifetime(dropped) {}
    if let permit { deliver(input, by: permit, receivingDemand: request) }
    if let makeError { overflow(makeError()) }
    return isDelivered ? refill : .none
  }

  /// Stores the failure before it cancels upstream, because the cancellation may cause a request, which must find the
  /// failure. A request that came while the error was made is served afterwards.
  private func overflow(_ error: Downstream.Failure) {
    lock.withLock { ending = .failure(error) }
    upstream.cancel()
    if lock.withLock({ demand > .none }) { _ = deliverStored() }
  }

  override func end(_ completion: Subscribers.Completion<Downstream.Failure>) {
    lock.withLock {
      if case .finished = completion, !values.isEmpty { ending = completion } else { enqueue(completion) }
    }
    deliver()
  }

  override func request(_ demand: Subscribers.Demand) {
    guard demand > .none else { return }
    super.request(demand)
    let count = deliverStored()
    if count > 0, refill > .none { upstream.request(.max(count)) }
  }

  /// Delivers the stored values that are requested, and the completion when its turn has come.
  ///
  /// - Returns: the number of values.
  private func deliverStored() -> Int {
    var count = 0
    drain {
      if self.demand > .none, let value = values.popFirst() {
        count += 1
        return value
      }
      switch ending {
      case .finished? where values.isEmpty: enqueue(.finished)
      case .failure(let error)?: enqueue(.failure(error))
      default: break
      }
      return nil
    }
    return count
  }

  override func didClose() {
    super.didClose()
    let released = lock.withLock {
      defer { (values, whenFull) = (FIFO(), nil) }
      return (values, whenFull)
    }
    withExtendedLifetime(released) {}
  }
}

extension Publisher {
  /// Keeps values until they are requested.
  ///
  /// It finishes when its values have been delivered. A failure of upstream drops them.
  ///
  /// - Parameters:
  ///   - size: the number of values that the buffer has room for.
  ///   - prefetch: the demand that goes upstream: as many values as there is room for, or any number.
  ///   - whenFull: what happens with a value for which there is no room. A custom error is delivered with the next
  ///     request, after the values that are requested with it.
  public func buffer(
    size: Int, prefetch: Publishers.PrefetchStrategy, whenFull: Publishers.BufferingStrategy<Failure>
  ) -> Publishers.Buffer<Self> {
    Publishers.Buffer(upstream: self, size: size, prefetch: prefetch, whenFull: whenFull)
  }
}
#endif
