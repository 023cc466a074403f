#if !canImport(Darwin)
/// The place of an operator with one upstream in a chain: the subscriber of its upstream, and the subscription of its
/// downstream. The rules of Combine are here, so that an operator is a step without any: it says with ``emit(_:)``,
/// ``skip``, ``emitLast(_:)`` or ``complete(_:)`` what becomes of a value. It may keep variables, because a link is
/// made for each subscription, and its upstream calls it with one value after another.
///
/// At its end it releases the operator's closures, its upstream and its downstream.
final class Link<Input, Failure: Error, Downstream: Subscriber>: Subscriber, Subscription, CustomStringConvertible {
  // A step calls the link, and does not return an enum of what to do: the type of a generic enum is looked up at run
  // time for every value, which takes ten times as long as all else.
  typealias Step = (Input, Link) throws -> Subscribers.Demand

  /// The demand that goes upstream.
  enum Request {
    /// What downstream requests. A value that is skipped is replaced.
    case same
    /// What downstream requests, this many times.
    case times(Int)
    /// This many values, which are skipped, and what downstream requests.
    case plus(Int)
    /// Everything, at once: the operator delivers a single value.
    case unlimited
  }

  /// Everything that the end releases.
  fileprivate final class Contents {
    let downstream: Downstream
    let step: Step
    let convert: (Failure) -> Downstream.Failure
    let onFinish: (Link) -> Void

    init(
      downstream: Downstream, step: @escaping Step, convert: @escaping (Failure) -> Downstream.Failure,
      onFinish: @escaping (Link) -> Void
    ) {
      self.downstream = downstream
      self.step = step
      self.convert = convert
      self.onFinish = onFinish
    }
  }

  let description: String
  /// What a step returns for a value of which it delivers nothing.
  let skip: Subscribers.Demand
  private let demand: Request
  private let state = LinkState()
  private var contents: Contents?
  private var upstream: (any Subscription)?
  /// The last value, until it is requested.
  private var last: Downstream.Input?

  fileprivate init(_ name: String, _ demand: Request, _ contents: Contents) {
    description = name
    self.demand = demand
    if case .same = demand { skip = .max(1) } else { skip = .none }
    self.contents = contents
  }

  // MARK: - What steps call

  /// Delivers a value.
  func emit(_ value: Downstream.Input) -> Subscribers.Demand {
    guard let contents, !state.flags.contains(.closed) else { return .none }
    let more = contents.downstream.receive(value)
    if case .times(let count) = demand { return more * count }
    return more
  }

  /// Delivers the last value and finishes. Upstream is cancelled.
  func emitLast(_ value: Downstream.Input) -> Subscribers.Demand {
    guard let contents, !state.flags.contains(.closed), !state.set(.drained).contains(.drained) else { return .none }
    if case .unlimited = demand {
      upstream?.cancel()
      finish(with: value)
      return .none
    }
    let more = contents.downstream.receive(value)
    upstream?.cancel()
    close()?.receive(completion: .finished)
    return more
  }

  /// Finishes, after a last value if there is one. Both wait until downstream has requested something.
  func finish(with value: Downstream.Input?) {
    last = value
    if state.set(.pending).contains(.requested) { deliverLast() }
  }

  /// Completes at once. Upstream is cancelled if it has not completed.
  @discardableResult
  func complete(_ completion: Subscribers.Completion<Downstream.Failure>) -> Subscribers.Demand {
    if !state.set(.drained).contains(.drained) { upstream?.cancel() }
    close()?.receive(completion: completion)
    return .none
  }

  // MARK: - Upstream's calls

  func receive(subscription: any Subscription) {
    guard let contents, !state.set(.claimed).contains(.claimed) else { return subscription.cancel() }
    upstream = subscription
    state.set(.open)
    contents.downstream.receive(subscription: self)
    switch demand {
    case .unlimited: subscription.request(.unlimited)
    case .plus(let count):
      if count > 0, !state.set(.requested).contains(.requested) { subscription.request(.max(count)) }
    case .same, .times: break
    }
  }

  func receive(_ input: Input) -> Subscribers.Demand {
    guard state.enter(unless: [.drained, .closed]), let contents else { return .none }
    defer { leave() }
    do { return try contents.step(input, self) } catch { return fail(error) }
  }

  private func fail(_ error: any Error) -> Subscribers.Demand {
    guard let failure = error as? Downstream.Failure else {
      assertionFailure("\(self): its step threw \(type(of: error)), but it fails with \(Downstream.Failure.self)")
      return .none
    }
    return complete(.failure(failure))
  }

  func receive(completion: Subscribers.Completion<Failure>) {
    guard state.enter(unless: [.drained, .closed]), let contents else { return }
    defer { leave() }
    state.set(.drained)
    switch completion {
    case .finished: contents.onFinish(self)
    case .failure(let error): complete(.failure(contents.convert(error)))
    }
  }

  // MARK: - Downstream's calls

  func request(_ demand: Subscribers.Demand) {
    guard demand > .none, state.enter(unless: .closed) else { return }
    defer { leave() }
    let before = state.set(.requested)
    let isFirst = !before.contains(.requested)
    if before.contains(.pending), isFirst { return deliverLast() }
    guard !before.contains(.drained) else { return }
    switch self.demand {
    case .same: upstream?.request(demand)
    case .times(let count): upstream?.request(demand * count)
    case .plus(let count): upstream?.request(isFirst ? demand + count : demand)
    case .unlimited: break
    }
  }

  func cancel() {
    guard state.enter(unless: .closed) else { return }
    defer { leave() }
    state.set(.closed)
    if !state.set(.drained).contains(.drained) { upstream?.cancel() }
  }

  // MARK: - The end

  private func deliverLast() {
    if let last { _ = contents?.downstream.receive(last) }
    close()?.receive(completion: .finished)
  }

  /// Ends the link, and returns the subscriber for its completion, unless it has ended before.
  private func close() -> Downstream? {
    state.set(.closed).contains(.closed) ? nil : contents?.downstream
  }

  private func leave() {
    if state.leave() { release() }
  }

  private func release() { (contents, upstream, last) = (nil, nil, nil) }
}

extension Publisher {
  /// Attaches a subscriber through an operator.
  ///
  /// - Parameters:
  ///   - name: the name of the operator, which `print()` shows.
  ///   - demand: the demand that goes to this publisher.
  ///   - onFinish: what happens when this publisher has finished; by default, the operator finishes, too.
  ///   - step: what happens to a value.
  func subscribe<S: Subscriber>(
    _ subscriber: S, through name: String, demand: Link<Output, Failure, S>.Request = .same,
    onFinish: @escaping (Link<Output, Failure, S>) -> Void = { $0.complete(.finished) },
    step: @escaping (Output, Link<Output, Failure, S>) -> Subscribers.Demand
  ) where S.Failure == Failure {
    subscribe(
      Link(name, demand, .init(downstream: subscriber, step: step, convert: { $0 }, onFinish: onFinish)))
  }

  /// Attaches a subscriber through an operator that fails with what its step throws.
  func subscribe<S: Subscriber>(
    _ subscriber: S, trying name: String, demand: Link<Output, Failure, S>.Request = .same,
    onFinish: @escaping (Link<Output, Failure, S>) -> Void = { $0.complete(.finished) },
    step: @escaping Link<Output, Failure, S>.Step
  ) where S.Failure == any Error {
    subscribe(
      Link(name, demand, .init(downstream: subscriber, step: step, convert: { $0 }, onFinish: onFinish)))
  }
}
#endif
