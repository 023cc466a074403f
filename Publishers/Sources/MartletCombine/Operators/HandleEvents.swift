#if !canImport(Darwin)
extension Publishers {
  /// The publisher that
  /// ``Publisher/handleEvents(receiveSubscription:receiveOutput:receiveCompletion:receiveCancel:receiveRequest:)``
  /// returns.
  public struct HandleEvents<Upstream: Publisher>: Publisher {
    /// The output type.
    public typealias Output = Upstream.Output
    /// The failure type.
    public typealias Failure = Upstream.Failure
    /// The upstream publisher.
    public let upstream: Upstream
    /// Called with the subscription.
    public var receiveSubscription: ((any Subscription) -> Void)?
    /// Called with each value, before it is delivered.
    public var receiveOutput: ((Output) -> Void)?
    /// Called with the completion, before it is delivered.
    public var receiveCompletion: ((Subscribers.Completion<Failure>) -> Void)?
    /// Called when the subscription is cancelled.
    public var receiveCancel: (() -> Void)?
    /// Called with each demand, before it is passed on.
    public var receiveRequest: ((Subscribers.Demand) -> Void)?

    /// Makes the publisher, like the operator.
    public init(
      upstream: Upstream, receiveSubscription: ((any Subscription) -> Void)? = nil,
      receiveOutput: ((Output) -> Void)? = nil,
      receiveCompletion: ((Subscribers.Completion<Failure>) -> Void)? = nil, receiveCancel: (() -> Void)? = nil,
      receiveRequest: ((Subscribers.Demand) -> Void)?
    ) {
      self.upstream = upstream
      self.receiveSubscription = receiveSubscription
      self.receiveOutput = receiveOutput
      self.receiveCompletion = receiveCompletion
      self.receiveCancel = receiveCancel
      self.receiveRequest = receiveRequest
    }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      let events = Events(
        subscription: receiveSubscription, value: receiveOutput, completion: receiveCompletion,
        cancel: receiveCancel, request: { [receiveRequest] demand, _ in receiveRequest?(demand) })
      upstream.subscribe(Tap("HandleEvents", events, to: subscriber))
    }
  }

  /// The publisher that ``Publisher/print(_:to:)`` returns.
  public struct Print<Upstream: Publisher>: Publisher {
    /// The output type.
    public typealias Output = Upstream.Output
    /// The failure type.
    public typealias Failure = Upstream.Failure
    /// The text at the beginning of each line.
    public let prefix: String
    /// The upstream publisher.
    public let upstream: Upstream
    /// The stream that receives the lines; nil for standard output.
    public let stream: (any TextOutputStream)?

    /// Makes the publisher, like the operator.
    public init(upstream: Upstream, prefix: String, to stream: (any TextOutputStream)? = nil) {
      self.upstream = upstream
      self.prefix = prefix
      self.stream = stream
    }

    public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
      let log = PrintLog(prefix: prefix, stream: stream)
      let events = Events<Output, Failure>(
        subscription: { log.write("receive subscription: (\($0))") },
        value: { log.write("receive value: (\($0))") },
        completion: { completion in
          switch completion {
          case .finished: log.write("receive finished")
          case .failure(let error): log.write("receive error: (\(error))")
          }
        },
        cancel: { log.write("receive cancel") },
        request: { demand, isSynchronous in
          log.write(
            "request \(demand.max.map { "max: (\($0))" } ?? "unlimited")\(isSynchronous ? " (synchronous)" : "")")
        })
      upstream.subscribe(Tap("Print", events, to: subscriber))
    }
  }
}

/// Writes complete lines.
private final class PrintLog {
  private let prefix: String
  private let lock = Lock()
  private var stream: (any TextOutputStream)?

  init(prefix: String, stream: (any TextOutputStream)?) {
    self.prefix = prefix.isEmpty ? "" : prefix + ": "
    self.stream = stream
  }

  func write(_ event: String) {
    // A stream is other code: it is called outside the lock.
    var stream = lock.withLock { self.stream }
    if stream != nil { stream?.write(prefix + event + "\n") } else { Swift.print(prefix + event) }
    lock.withLock { self.stream = stream }
  }
}

/// Closures for the events of a subscription.
private struct Events<Output, Failure: Error> {
  var subscription: ((any Subscription) -> Void)?
  var value: ((Output) -> Void)?
  var completion: ((Subscribers.Completion<Failure>) -> Void)?
  var cancel: (() -> Void)?
  /// The second argument says whether the demand is the result of receiving a value.
  var request: (Subscribers.Demand, Bool) -> Void
}

/// The place of an operator that only observes.
///
/// At its end it releases the closures, its upstream and its downstream.
private final class Tap<Downstream: Subscriber>: Subscriber, Subscription, CustomStringConvertible {
  private final class Contents {
    let events: Events<Downstream.Input, Downstream.Failure>
    let downstream: Downstream

    init(_ events: Events<Downstream.Input, Downstream.Failure>, _ downstream: Downstream) {
      (self.events, self.downstream) = (events, downstream)
    }
  }

  let description: String
  private let state = LinkState()
  private var contents: Contents?
  private var upstream: (any Subscription)?

  init(_ name: String, _ events: Events<Downstream.Input, Downstream.Failure>, to downstream: Downstream) {
    description = name
    contents = Contents(events, downstream)
  }

  func receive(subscription: any Subscription) {
    guard let contents, !state.set(.claimed).contains(.claimed) else { return subscription.cancel() }
    upstream = subscription
    state.set(.open)
    contents.events.subscription?(subscription)
    contents.downstream.receive(subscription: self)
  }

  func receive(_ input: Downstream.Input) -> Subscribers.Demand {
    guard state.enter(unless: .closed), let contents else { return .none }
    defer { leave() }
    contents.events.value?(input)
    guard !state.flags.contains(.closed) else { return .none }
    let more = contents.downstream.receive(input)
    if more > .none { contents.events.request(more, true) }
    return more
  }

  func receive(completion: Subscribers.Completion<Downstream.Failure>) {
    guard state.enter(unless: .closed), let contents else { return }
    defer { leave() }
    contents.events.completion?(completion)
    if !state.set(.closed).contains(.closed) { contents.downstream.receive(completion: completion) }
  }

  func request(_ demand: Subscribers.Demand) {
    guard state.enter(unless: .closed), let contents else { return }
    defer { leave() }
    contents.events.request(demand, false)
    upstream?.request(demand)
  }

  func cancel() {
    guard state.enter(unless: .closed), let contents else { return }
    defer { leave() }
    guard !state.set(.closed).contains(.closed) else { return }
    contents.events.cancel?()
    upstream?.cancel()
  }

  private func leave() {
    if state.leave() { (contents, upstream) = (nil, nil) }
  }
}

extension Publisher {
  /// Calls closures for the events of the chain, without changing them.
  ///
  /// - Parameters:
  ///   - receiveSubscription: called with the subscription.
  ///   - receiveOutput: called with each value, before it is delivered.
  ///   - receiveCompletion: called with the completion, before it is delivered.
  ///   - receiveCancel: called when the subscription is cancelled.
  ///   - receiveRequest: called with each demand, before it is passed on.
  public func handleEvents(
    receiveSubscription: ((any Subscription) -> Void)? = nil, receiveOutput: ((Output) -> Void)? = nil,
    receiveCompletion: ((Subscribers.Completion<Failure>) -> Void)? = nil, receiveCancel: (() -> Void)? = nil,
    receiveRequest: ((Subscribers.Demand) -> Void)? = nil
  ) -> Publishers.HandleEvents<Self> {
    Publishers.HandleEvents(
      upstream: self, receiveSubscription: receiveSubscription, receiveOutput: receiveOutput,
      receiveCompletion: receiveCompletion, receiveCancel: receiveCancel, receiveRequest: receiveRequest)
  }

  /// Prints the events of the chain, one in each line, for debugging. Values are printed unchanged: do not use it for
  /// secrets.
  ///
  /// - Parameters:
  ///   - prefix: the text at the beginning of each line; empty by default.
  ///   - stream: the stream that receives the lines; standard output by default.
  public func print(_ prefix: String = "", to stream: (any TextOutputStream)? = nil) -> Publishers.Print<Self> {
    Publishers.Print(upstream: self, prefix: prefix, to: stream)
  }
}
#endif
