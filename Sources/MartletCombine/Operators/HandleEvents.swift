#if !canImport(Combine)
extension Publishers {
  /// What ``Publisher/handleEvents(receiveSubscription:receiveOutput:receiveCompletion:receiveCancel:receiveRequest:)``
  /// makes.
  public struct HandleEvents<Upstream: Publisher>: Publisher {
    /// What the upstream delivers.
    public typealias Output = Upstream.Output
    /// How the upstream fails.
    public typealias Failure = Upstream.Failure

    let upstream: Upstream
    let onSubscription: ((any Subscription) -> Void)?
    let onOutput: ((Output) -> Void)?
    let onCompletion: ((Subscribers.Completion<Failure>) -> Void)?
    let onCancel: (() -> Void)?
    let onRequest: ((Subscribers.Demand) -> Void)?

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      let outlet = Outlet<Output, Failure>(to: subscriber)
      let inlet = Inlet<Output, Failure> { value in
        onOutput?(value)
        outlet.send(value)
        return .none
      } onCompletion: { completion in
        onCompletion?(completion)
        outlet.finish(completion)
      }
      outlet.connect(
        onDemand: { demand in
          onRequest?(demand)
          inlet.request(demand)
        },
        onCancel: {
          onCancel?()
          inlet.cancel()
        })
      onSubscription?(outlet)
      subscriber.receive(subscription: outlet)
      upstream.receive(subscriber: inlet)
    }
  }
}
#endif
