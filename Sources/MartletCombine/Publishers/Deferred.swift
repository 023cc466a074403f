#if !canImport(Combine)
/// Makes its publisher anew for every subscriber.
public struct Deferred<DeferredPublisher: Publisher>: Publisher {
  /// What the publisher delivers.
  public typealias Output = DeferredPublisher.Output
  /// How the publisher fails.
  public typealias Failure = DeferredPublisher.Failure
  /// Makes the publisher.
  public let createPublisher: () -> DeferredPublisher

  /// Makes a publisher that asks the closure when a subscriber comes.
  public init(createPublisher: @escaping () -> DeferredPublisher) { self.createPublisher = createPublisher }

  public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
    createPublisher().receive(subscriber: subscriber)
  }
}

/// One result, kept for everybody who comes later. The work begins at once, not on demand: see ``TaskPublisher`` for that.
public final class Future<Output, Failure: Error>: Publisher, Sendable {
  /// Keeps the promise.
  public typealias Promise = (Result<Output, Failure>) -> Void

  private struct State {
    var result: Result<Output, Failure>?
    var outlets: [Outlet<Output, Failure>] = []
  }

  private let state = Guarded(State())

  /// Makes a future; the closure is called at once and keeps the promise now or later. A second answer is ignored.
  public init(_ attemptToFulfill: @escaping (@escaping Promise) -> Void) {
    attemptToFulfill { [self] in fulfill($0) }
  }

  public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
    let outlet = Outlet<Output, Failure>(to: subscriber)
    outlet.connect(onCancel: { [weak self, weak outlet] in self?.remove(outlet) })
    subscriber.receive(subscription: outlet)
    let result = state.withLock { state in
      if state.result == nil { state.outlets.append(outlet) }
      return state.result
    }
    if let result { Self.answer(outlet, result) }
  }

  private func fulfill(_ result: Result<Output, Failure>) {
    let waiting = state.withLock { state -> [Outlet<Output, Failure>] in
      guard state.result == nil else { return [] }
      state.result = result
      defer { state.outlets = [] }
      return state.outlets
    }
    for outlet in waiting { Self.answer(outlet, result) }
  }

  private func remove(_ outlet: Outlet<Output, Failure>?) {
    state.withLock { state in state.outlets.removeAll { $0 === outlet } }
  }

  private static func answer(_ outlet: Outlet<Output, Failure>, _ result: Result<Output, Failure>) {
    switch result {
    case .success(let value):
      outlet.send(value)
      outlet.finish(.finished)
    case .failure(let error): outlet.finish(.failure(error))
    }
  }
}
#endif
