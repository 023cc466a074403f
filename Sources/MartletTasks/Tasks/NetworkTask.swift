import Martlet

/// Work that is described and not yet begun: each execution does it anew.
///
/// ```swift
/// func shop() -> NetworkTask<Shop> { NetworkRequest().path("/shop").task() }
///
/// let found = try await shop().value()
/// let response = await shop().execute()      // the status too, and the failure as a value
/// ```
///
/// A task is a value: `map`, `retry` and the like give another one. Nothing is sent before one of the ways to run it is
/// called, and cancelling that cancels the exchange. What ``AsyncTask`` offers besides (`flatMap`, `zip`) gives tasks that have a
/// value, and no response.
public struct NetworkTask<Value: Sendable>: AsyncTask {
  let run: @Sendable () async -> NetworkResponse<Value>
  /// The same exchange before anybody reads its body, for whoever wants to read it differently.
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

  /// Runs the task and returns everything that came of it; a failure is a value too.
  public func execute() async -> NetworkResponse<Value> { await run() }

  /// Runs the task and returns its value.
  ///
  /// - Throws: what went wrong: `HTTPError` where there was no response, a decoder's or a mapping's error.
  public func value() async throws -> Value { try await run().value }
}

extension NetworkTask {
  /// The same exchange, its body read as another type by the same decoder: what a caller can do when a service's type
  /// does not fit. Mappings of the original are left out; the raw data and the status stay.
  public func decode<Other: Decodable & Sendable>(expecting type: Other.Type) -> NetworkTask<Other> {
    decode(expecting: type, decoder: decoder)
  }

  /// The same exchange, its body read as another type by another decoder.
  public func decode<Other: Decodable & Sendable>(
    expecting type: Other.Type, decoder: any NetworkResponseDecoder
  ) -> NetworkTask<Other> {
    NetworkTask<Other>(decoder: decoder, fetch: fetch) { [fetch] in await fetch().decoded(as: type, by: decoder) }
  }

  /// A task of what the closure makes of the value; the status stays. What it throws becomes the failure.
  public func map<Other: Sendable>(_ transform: @escaping @Sendable (Value) throws -> Other) -> NetworkTask<Other> {
    NetworkTask<Other>(decoder: decoder, fetch: fetch) { [run] in await run().reading(transform) }
  }

  /// Runs again where it fails, at most so many times more, at once. A cancelled task does not run again.
  ///
  /// Whatever the method: for what may not be sent twice, for waiting between attempts and for `Retry-After`, give the session a
  /// retry policy instead.
  public func retry(_ times: Int) -> NetworkTask<Value> {
    // nobody has read what was fetched: its status tells whether that would fail
    NetworkTask(decoder: decoder) { [fetch] in
      await again(times, where: { $0.error != nil || $0.response?.status.isSuccessful != true }, fetch)
    } run: { [run] in
      await again(times, where: { $0.error != nil }, run)
    }
  }

  /// Runs another task where this one fails.
  public func `catch`(_ handler: @escaping @Sendable (any Error) -> NetworkTask<Value>) -> NetworkTask<Value> {
    NetworkTask(decoder: decoder, fetch: fetch) { [run] in
      let response = await run()
      guard let error = response.error else { return response }
      return await handler(error).execute()
    }
  }

  /// Fails when the task, with everything that was added to it before, takes longer.
  public func timeout(_ limit: Duration) -> NetworkTask<Value> {
    NetworkTask(decoder: decoder) { [fetch] in
      await within(limit, otherwise: { NetworkResponse(failure: $0) }, fetch)
    } run: { [run] in
      await within(limit, otherwise: { NetworkResponse(failure: $0) }, run)
    }
  }
}
