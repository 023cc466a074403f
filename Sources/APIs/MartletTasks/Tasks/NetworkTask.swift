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
  let run: @Sendable () async -> NetworkResponse<Value>
  /// Sends the request without decoding the body, for ``decode(expecting:)``.
  let fetch: @Sendable () async -> NetworkResponse<Data>
  let decoder: any NetworkResponseDecoder

  init(
    decoder: any NetworkResponseDecoder, fetch: @escaping @Sendable () async -> NetworkResponse<Data>,
    run: @escaping @Sendable () async -> NetworkResponse<Value>
  ) {
    self.decoder = decoder
    self.fetch = fetch
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
  /// task apply to it, too; `map` and `catch` do not, because they belong to this task's value.
  public func decode<Other: Decodable & Sendable>(expecting type: Other.Type) -> NetworkTask<Other> {
    decode(expecting: type, decoder: decoder)
  }

  /// Returns a task for the same request that decodes another type with another decoder, like ``decode(expecting:)``.
  public func decode<Other: Decodable & Sendable>(
    expecting type: Other.Type, decoder: any NetworkResponseDecoder
  ) -> NetworkTask<Other> {
    NetworkTask<Other>(decoder: decoder, fetch: fetch) { [fetch] in await fetch().decoded(as: type, by: decoder) }
  }

  /// Returns a task with a transformed value and the same response. An error of the closure becomes the failure.
  public func map<Other: Sendable>(_ transform: @escaping @Sendable (Value) throws -> Other) -> NetworkTask<Other> {
    NetworkTask<Other>(decoder: decoder, fetch: fetch) { [run] in await run().map(transform) }
  }

  /// Returns a task that runs again, without delay, if it fails, up to a number of additional times. A cancelled task
  /// does not run again.
  ///
  /// It repeats requests of every method. For requests that must not be sent twice, for delays and for `Retry-After`,
  /// use the session's retry policy instead.
  public func retry(_ times: Int) -> NetworkTask<Value> {
    // The body is not decoded here: the status tells whether decoding would fail.
    NetworkTask(decoder: decoder) { [fetch] in
      await repeating(times, where: { $0.error != nil || $0.response?.status.isSuccessful != true }, fetch)
    } run: { [run] in
      await repeating(times, where: { $0.error != nil }, run)
    }
  }

  /// Returns a task that runs another one if this one fails.
  public func `catch`(_ handler: @escaping @Sendable (any Error) -> NetworkTask<Value>) -> NetworkTask<Value> {
    NetworkTask(decoder: decoder, fetch: fetch) { [run] in
      let response = await run()
      guard let error = response.error else { return response }
      return await handler(error).execute()
    }
  }

  /// Returns a task that fails with an `HTTPError` of kind `.deadlineExceeded` if it takes too long, including the
  /// operators added before. The work is then cancelled, without waiting for its end.
  public func timeout(_ limit: Duration) -> NetworkTask<Value> {
    NetworkTask(decoder: decoder) { [fetch] in
      await within(limit, otherwise: { NetworkResponse(failure: $0) }, fetch)
    } run: { [run] in
      await within(limit, otherwise: { NetworkResponse(failure: $0) }, run)
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
