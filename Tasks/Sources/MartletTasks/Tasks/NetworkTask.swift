import Martlet
public import MartletCombine

/// A request that is sent each time the task is run.
///
/// ```swift
/// func shop() -> NetworkTask<Shop> { NetworkRequest().path("/shop").task() }
///
/// let found = try await shop().value()
/// let response = await shop().execute()      // with the status, and the failure as a value
/// ```
///
/// A task is a value: `map`, `retry` and other operators return a new one. Nothing is sent before `value` or `execute`
/// is called, and cancelling that call cancels the request. Other operators of ``AsyncTask`` (`flatMap`, `zip`) return
/// tasks with a value, but without the response.
public struct NetworkTask<Value: Sendable>: AsyncTask {
  /// Sends the request, decodes the body, and applies all operators.
  let run: @Sendable () async -> NetworkResponse<Value>
  /// Sends the request without decoding the body, for ``decode(expecting:)``.
  let fetch: @Sendable () async -> NetworkResponse<Data>
  let decoder: any NetworkResponseDecoder
  /// The operators that apply to every type, in the order in which they were added.
  let operators: [TaskOperator]

  init(
    decoder: any NetworkResponseDecoder, fetch: @escaping @Sendable () async -> NetworkResponse<Data>,
    operators: [TaskOperator] = [], run: @escaping @Sendable () async -> NetworkResponse<Value>
  ) {
    self.decoder = decoder
    self.fetch = fetch
    self.operators = operators
    self.run = run
  }

  /// Runs the task and returns the response with its value or failure. Runs off the caller's actor.
  @concurrent public func execute() async -> NetworkResponse<Value> { await run() }

  /// Runs the task and returns its value. Runs off the caller's actor.
  ///
  /// - Throws: `HTTPError` if there was no response; the error of the decoder or of a mapping.
  @concurrent public func value() async throws -> Value { try await run().value }
}

extension NetworkTask {
  /// Returns a task for the same request that decodes another type with the same decoder. `retry` and `timeout` of this
  /// task apply to it, too: they repeat and limit the request and the decoding of the other type. `map` and `catch` do
  /// not, because they belong to this task's value.
  public func decode<Other: Decodable & Sendable>(expecting type: Other.Type) -> NetworkTask<Other> {
    decode(expecting: type, decoder: decoder)
  }

  /// Returns a task for the same request that decodes another type with another decoder, like ``decode(expecting:)``.
  public func decode<Other: Decodable & Sendable>(
    expecting type: Other.Type, decoder: any NetworkResponseDecoder
  ) -> NetworkTask<Other> {
    let plain = NetworkTask<Other>(decoder: decoder, fetch: fetch) { [fetch] in
      await fetch().decoded(as: type, by: decoder)
    }
    return operators.reduce(plain) { $0.applying($1) }
  }

  /// Returns a task with a transformed value and the same response. An error of the closure becomes the failure.
  public func map<Other: Sendable>(_ transform: @escaping @Sendable (Value) throws -> Other) -> NetworkTask<Other> {
    NetworkTask<Other>(decoder: decoder, fetch: fetch, operators: operators) { [run] in await run().map(transform) }
  }

  /// Returns a task that runs again, without delay, if it fails, up to a number of additional times. A cancelled task
  /// does not run again.
  ///
  /// It repeats requests of every method. For requests that must not be sent twice, for delays and for `Retry-After`,
  /// use the session's retry policy instead.
  public func retry(_ times: Int) -> NetworkTask<Value> { applying(.retry(times)) }

  /// Returns a task that runs another one if this one fails.
  public func `catch`(_ handler: @escaping @Sendable (any Error) -> NetworkTask<Value>) -> NetworkTask<Value> {
    NetworkTask(decoder: decoder, fetch: fetch, operators: operators) { [run] in
      let response = await run()
      guard let error = response.error else { return response }
      return await handler(error).execute()
    }
  }

  /// Returns a task that fails with an `HTTPError` of kind `.deadlineExceeded` if it takes too long, including the
  /// operators added before. The work is then cancelled, without waiting for its end.
  public func timeout(_ limit: Duration) -> NetworkTask<Value> { applying(.timeout(limit)) }

  private func applying(_ added: TaskOperator) -> NetworkTask<Value> {
    NetworkTask(decoder: decoder, fetch: fetch, operators: operators + [added], run: added.applied(to: run))
  }
}

/// An operator of a task that does not depend on its value, so that it also applies when the task decodes another type.
enum TaskOperator: Sendable {
  case retry(Int)
  case timeout(Duration)

  /// Returns the work with this operator.
  fileprivate func applied<Value: Sendable>(
    to run: @escaping @Sendable () async -> NetworkResponse<Value>
  ) -> @Sendable () async -> NetworkResponse<Value> {
    switch self {
    case .retry(let times): return { await repeating(times, where: { $0.error != nil }, run) }
    case .timeout(let limit): return { await within(limit, otherwise: { NetworkResponse(failure: $0) }, run) }
    }
  }
}

extension NetworkTask {
  /// Runs the task and calls the closure with the response.
  ///
  /// - Returns: a handle that cancels the task.
  @discardableResult
  public func execute(
    _ completion: @escaping @Sendable (NetworkResponse<Value>) -> Void
  ) -> Task<Void, Never> {
    Task { completion(await execute()) }
  }

  /// Returns a publisher that runs the task for each subscriber, on its first demand, and delivers the response.
  public func executePublisher() -> AnyPublisher<NetworkResponse<Value>, Never> {
    TaskPublisher { [self] () async throws(Never) -> NetworkResponse<Value> in await execute() }.eraseToAnyPublisher()
  }
}
