#if !canImport(Combine)
extension Publishers {
  /// What ``Publisher/handleEvents(receiveSubscription:receiveOutput:receiveCompletion:receiveCancel:receiveRequest:)``
  /// returns.
  public struct HandleEvents<Upstream: Publisher>: Publisher {
    /// What the upstream delivers.
    public typealias Output = Upstream.Output
    /// How the upstream fails.
    public typealias Failure = Upstream.Failure
    /// Where the values come from.
    public let upstream: Upstream
    /// Told of the subscription.
    public var receiveSubscription: ((any Subscription) -> Void)?
    /// Told of each value, before it is delivered.
    public var receiveOutput: ((Output) -> Void)?
    /// Told of the completion, before it is delivered.
    public var receiveCompletion: ((Subscribers.Completion<Failure>) -> Void)?
    /// Told of the cancellation.
    public var receiveCancel: (() -> Void)?
    /// Told of what is asked for.
    public var receiveRequest: ((Subscribers.Demand) -> Void)?

    /// Makes one of its parts; an operator is the usual way.
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
      let outlet = Outlet<Output, Failure>(to: subscriber)
      let inlet = Inlet<Output, Failure> { value in
        receiveOutput?(value)
        outlet.send(value)
        return .none
      } onCompletion: { completion in
        receiveCompletion?(completion)
        outlet.finish(completion)
      }
      outlet.connect(
        onDemand: { demand in
          receiveRequest?(demand)
          inlet.request(demand)
        },
        onCancel: {
          receiveCancel?()
          inlet.cancel()
        })
      receiveSubscription?(outlet)
      subscriber.receive(subscription: outlet)
      upstream.receive(subscriber: inlet)
    }
  }

  /// What ``Publisher/print(_:to:)`` returns.
  public struct Print<Upstream: Publisher>: Publisher {
    /// What the upstream delivers.
    public typealias Output = Upstream.Output
    /// How the upstream fails.
    public typealias Failure = Upstream.Failure
    /// Where the values come from.
    public let upstream: Upstream
    /// What each line begins with.
    public let prefix: String
    /// Where the lines go; the standard output where nil.
    public let stream: (any TextOutputStream)?

    /// Makes one of its parts; an operator is the usual way.
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

/// Writes whole lines, one after another.
private struct PrintLog {
  private let prefix: String
  private let stream: Guarded<(any TextOutputStream)?>

  init(prefix: String, stream: (any TextOutputStream)?) {
    self.prefix = prefix.isEmpty ? "" : prefix + ": "
    self.stream = Guarded(stream)
  }

  func write(_ event: String) {
    let line = prefix + event
    stream.withLock { stream in
      if stream == nil { Swift.print(line) } else { stream?.write(line + "\n") }
    }
  }
}

extension Publisher {
  /// Watches what passes by, and changes nothing.
  public func handleEvents(
    receiveSubscription: ((any Subscription) -> Void)? = nil, receiveOutput: ((Output) -> Void)? = nil,
    receiveCompletion: ((Subscribers.Completion<Failure>) -> Void)? = nil, receiveCancel: (() -> Void)? = nil,
    receiveRequest: ((Subscribers.Demand) -> Void)? = nil
  ) -> Publishers.HandleEvents<Self> {
    Publishers.HandleEvents(
      upstream: self, receiveSubscription: receiveSubscription, receiveOutput: receiveOutput,
      receiveCompletion: receiveCompletion, receiveCancel: receiveCancel, receiveRequest: receiveRequest)
  }

  /// Prints what passes by, a line an event, to find out what a chain does. Values are printed as they are: this is not for
  /// what is secret.
  ///
  /// - Parameters:
  ///   - prefix: what each line begins with; nothing by default.
  ///   - stream: where the lines go; the standard output by default.
  public func print(_ prefix: String = "", to stream: (any TextOutputStream)? = nil) -> Publishers.Print<Self> {
    Publishers.Print(upstream: self, prefix: prefix, to: stream)
  }
}
#endif
