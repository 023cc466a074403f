#if !canImport(Combine)
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
    /// Called with each demand.
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
      let downstream = DownstreamSubscription<Output, Failure>(to: subscriber)
      let receiver = UpstreamSubscriber<Output, Failure> { value in
        receiveOutput?(value)
        downstream.send(value)
        return .none
      } onCompletion: { completion in
        receiveCompletion?(completion)
        downstream.finish(completion)
      }
      downstream.connect(
        onDemand: { demand in
          receiveRequest?(demand)
          receiver.request(demand)
        },
        onCancel: {
          receiveCancel?()
          receiver.cancel()
        })
      receiveSubscription?(downstream)
      subscriber.receive(subscription: downstream)
      upstream.receive(subscriber: receiver)
    }
  }

  /// The publisher that ``Publisher/print(_:to:)`` returns.
  public struct Print<Upstream: Publisher>: Publisher {
    /// The output type.
    public typealias Output = Upstream.Output
    /// The failure type.
    public typealias Failure = Upstream.Failure
    /// The upstream publisher.
    public let upstream: Upstream
    /// The text at the beginning of each line.
    public let prefix: String
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
      upstream.handleEvents(
        receiveSubscription: { _ in log.write("receive subscription: (\(Upstream.self))") },
        receiveOutput: { log.write("receive value: (\($0))") },
        receiveCompletion: { completion in
          switch completion {
          case .finished: log.write("receive finished")
          case .failure(let error): log.write("receive error: (\(error))")
          }
        },
        receiveCancel: { log.write("receive cancel") },
        receiveRequest: { demand in log.write("request \(demand.max.map { "max: (\($0))" } ?? "unlimited")") }
      ).receive(subscriber: subscriber)
    }
  }
}

/// Writes complete lines.
private struct PrintLog {
  private let prefix: String
  private let stream: Locked<(any TextOutputStream)?>

  init(prefix: String, stream: (any TextOutputStream)?) {
    self.prefix = prefix.isEmpty ? "" : prefix + ": "
    self.stream = Locked(stream)
  }

  func write(_ event: String) {
    let line = prefix + event
    stream.withLock { stream in
      if stream == nil { Swift.print(line) } else { stream?.write(line + "\n") }
    }
  }
}

extension Publisher {
  /// Calls closures for the events of the chain, without changing them.
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
