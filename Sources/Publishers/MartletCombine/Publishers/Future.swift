#if !canImport(Combine)
/// Makes a new publisher for every subscriber.
public struct Deferred<DeferredPublisher: Publisher>: Publisher {
  /// The output type.
  public typealias Output = DeferredPublisher.Output
  /// The failure type.
  public typealias Failure = DeferredPublisher.Failure
  /// Makes the publisher.
  public let createPublisher: () -> DeferredPublisher

  /// Makes a publisher that calls the closure for each subscriber.
  public init(createPublisher: @escaping () -> DeferredPublisher) { self.createPublisher = createPublisher }

  public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
    createPublisher().receive(subscriber: subscriber)
  }
}

/// Delivers one result to all subscribers, including later ones. The work begins at once. If it should begin on demand,
/// use ``TaskPublisher``.
public final class Future<Output, Failure: Error>: Publisher, Sendable {
  /// Fulfils the promise with a result.
  public typealias Promise = (Result<Output, Failure>) -> Void

  private struct State {
    var result: Result<Output, Failure>?
    var downstreams: [DownstreamSubscription<Output, Failure>] = []
  }

  private let state = Locked(State())

  /// Makes a future. The closure is called at once, and fulfils the promise now or later. A second result is ignored.
  public init(_ attemptToFulfill: @escaping (@escaping Promise) -> Void) {
    attemptToFulfill { [self] in fulfill($0) }
  }

  public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
    let downstream = DownstreamSubscription<Output, Failure>(to: subscriber)
    downstream.connect(onCancel: { [weak self, weak downstream] in self?.remove(downstream) })
    subscriber.receive(subscription: downstream)
    let result = state.withLock { state in
      if state.result == nil { state.downstreams.append(downstream) }
      return state.result
    }
    if let result { Self.answer(downstream, result) }
  }

  private func fulfill(_ result: Result<Output, Failure>) {
    let subscribers = state.withLock { state -> [DownstreamSubscription<Output, Failure>] in
      guard state.result == nil else { return [] }
      state.result = result
      defer { state.downstreams = [] }
      return state.downstreams
    }
    for downstream in subscribers { Self.answer(downstream, result) }
  }

  private func remove(_ downstream: DownstreamSubscription<Output, Failure>?) {
    state.withLock { state in state.downstreams.removeAll { $0 === downstream } }
  }

  private static func answer(_ downstream: DownstreamSubscription<Output, Failure>, _ result: Result<Output, Failure>) {
    switch result {
    case .success(let value):
      downstream.send(value)
      downstream.finish(.finished)
    case .failure(let error): downstream.finish(.failure(error))
    }
  }
}
#endif
