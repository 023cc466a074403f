#if !canImport(Darwin)
#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#endif

extension Publishers {
  /// The publisher that ``Publisher/breakpoint(receiveSubscription:receiveOutput:receiveCompletion:)`` returns.
  public struct Breakpoint<Upstream: Publisher>: Publisher {
    /// The output type.
    public typealias Output = Upstream.Output
    /// The failure type.
    public typealias Failure = Upstream.Failure
    /// The upstream publisher.
    public let upstream: Upstream
    /// Whether to stop at the subscription.
    public let receiveSubscription: ((any Subscription) -> Bool)?
    /// Whether to stop at a value.
    public let receiveOutput: ((Upstream.Output) -> Bool)?
    /// Whether to stop at the completion.
    public let receiveCompletion: ((Subscribers.Completion<Upstream.Failure>) -> Bool)?

    /// Makes the publisher, like the operator.
    public init(
      upstream: Upstream, receiveSubscription: ((any Subscription) -> Bool)? = nil,
      receiveOutput: ((Upstream.Output) -> Bool)? = nil,
      receiveCompletion: ((Subscribers.Completion<Failure>) -> Bool)? = nil
    ) {
      self.upstream = upstream
      self.receiveSubscription = receiveSubscription
      self.receiveOutput = receiveOutput
      self.receiveCompletion = receiveCompletion
    }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      upstream.subscribe(BreakpointSubscriber(self, to: subscriber))
    }
  }
}

/// Passes everything on, and raises a signal that a debugger stops at.
private struct BreakpointSubscriber<Upstream: Publisher, Downstream: Subscriber>: Subscriber, CustomStringConvertible
where Upstream.Output == Downstream.Input, Upstream.Failure == Downstream.Failure {
  let breakpoint: Publishers.Breakpoint<Upstream>
  let downstream: Downstream
  let combineIdentifier = CombineIdentifier()
  var description: String { "Breakpoint" }

  init(_ breakpoint: Publishers.Breakpoint<Upstream>, to downstream: Downstream) {
    self.breakpoint = breakpoint
    self.downstream = downstream
  }

  func receive(subscription: any Subscription) {
    if breakpoint.receiveSubscription?(subscription) == true { raise(SIGTRAP) }
    downstream.receive(subscription: subscription)
  }

  func receive(_ input: Upstream.Output) -> Subscribers.Demand {
    if breakpoint.receiveOutput?(input) == true { raise(SIGTRAP) }
    return downstream.receive(input)
  }

  func receive(completion: Subscribers.Completion<Upstream.Failure>) {
    if breakpoint.receiveCompletion?(completion) == true { raise(SIGTRAP) }
    downstream.receive(completion: completion)
  }
}

extension Publisher {
  /// Raises SIGTRAP if a closure returns true. It stops the program in a debugger; without one, it ends the program.
  public func breakpoint(
    receiveSubscription: ((any Subscription) -> Bool)? = nil, receiveOutput: ((Output) -> Bool)? = nil,
    receiveCompletion: ((Subscribers.Completion<Failure>) -> Bool)? = nil
  ) -> Publishers.Breakpoint<Self> {
    Publishers.Breakpoint(
      upstream: self, receiveSubscription: receiveSubscription, receiveOutput: receiveOutput,
      receiveCompletion: receiveCompletion)
  }

  /// Raises SIGTRAP if this publisher fails. It stops the program in a debugger; without one, it ends the program.
  public func breakpointOnError() -> Publishers.Breakpoint<Self> {
    breakpoint(receiveCompletion: { if case .failure = $0 { true } else { false } })
  }
}
#endif
