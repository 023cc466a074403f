#if !canImport(Combine)
extension Publishers {
  /// One subscription upstream for any number downstream: it begins with the first of them and is cancelled with the last.
  public final class Share<Upstream: Publisher>: Publisher {
    /// What the upstream delivers.
    public typealias Output = Upstream.Output
    /// How the upstream fails.
    public typealias Failure = Upstream.Failure

    private let upstream: Upstream
    private let state = Guarded(State())

    private struct State {
      var subject = PassthroughSubject<Output, Failure>()
      var running: Inlet<Output, Failure>?
      var subscribers = 0
    }

    init(upstream: Upstream) { self.upstream = upstream }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      let subject = state.withLock { state in
        state.subscribers += 1
        return state.subject
      }
      subject.handleEvents(receiveCancel: { [self] in leave() }).receive(subscriber: subscriber)
      connect()
    }

    private func connect() {
      let inlet = state.withLock { state -> Inlet<Output, Failure>? in
        guard state.running == nil, state.subscribers > 0 else { return nil }
        let subject = state.subject
        let inlet = Inlet<Output, Failure> { value in
          subject.send(value)
          return .none
        } onCompletion: {
          subject.send(completion: $0)
        }
        state.running = inlet
        return inlet
      }
      guard let inlet else { return }
      inlet.request(.unlimited)
      upstream.receive(subscriber: inlet)
    }

    private func leave() {
      let stopped = state.withLock { state -> Inlet<Output, Failure>? in
        state.subscribers -= 1
        guard state.subscribers == 0 else { return nil }
        state.subject = PassthroughSubject()
        defer { state.running = nil }
        return state.running
      }
      stopped?.cancel()
    }
  }
}

extension Publisher {
  /// Lets several subscribers share one subscription to this publisher.
  public func share() -> Publishers.Share<Self> { Publishers.Share(upstream: self) }
}
#endif
