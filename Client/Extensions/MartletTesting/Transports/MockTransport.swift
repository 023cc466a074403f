@_spi(Transports) public import MartletEngine
@_spi(Toolkit) public import MartletSemantics
@_spi(Toolkit) import MartletServer

/// A transport whose responses come from a closure.
///
/// ```swift
/// let transport = MockTransport { request in
///   request.url.path == "/login" ? .json(#"{"token": "t"}"#) : .status(.notFound)
/// }
/// ```
///
/// Timeouts and cancellation work as with a real transport: `RequestOptions.responseTimeout` limits the closure's time
/// (every chunk of the body that it reads restarts it), and cancelling the task ends the call at once, even if the
/// closure ignores cancellation.
public struct MockTransport: Transport {
  /// Answers one request. The transport rethrows its errors.
  public typealias Responder = @Sendable (MockRequest) async throws -> MockResponse

  private let clock: any Clock<Duration>
  private let respond: Responder

  /// Makes a transport.
  ///
  /// - Parameters:
  ///   - clock: measures the response timeout; pass a ``ManualClock`` to control it.
  ///   - respond: answers the requests, any number at the same time.
  public init(clock: any Clock<Duration> = ContinuousClock(), _ respond: @escaping Responder) {
    self.clock = clock
    self.respond = respond
  }

  /// Answers with the closure's response.
  ///
  /// - Throws: the closure's error, an `HTTPError` of kind `.responseTimeout`, or `CancellationError`.
  public func send(_ request: HTTPRequest, in call: Call) async throws -> HTTPResponse {
    let answer = try await answer(to: request, in: call, on: clock)
    for head in answer.interim { call.emit(.informational(head)) }
    var response = try answer.response(for: request.url)
    if let serve = answer.serve { response.messages = MockChannel(in: call, serve) }
    return response
  }

  /// Returns the closure's answer, unless the timeout or cancellation comes first. The closure runs in an unstructured
  /// task: the caller would have to wait for a child task that ignores cancellation.
  private func answer<C: Clock<Duration>>(
    to request: HTTPRequest, in call: Call, on clock: C
  ) async throws -> MockResponse {
    let outcome = Awaitable<Result<MockResponse, any Error>?>(nil)
    let lastActivity = Awaitable(clock.now)
    let asked = MockRequest(request, in: call) { lastActivity.update { $0 = clock.now } }
    let work = Task {
      let result: Result<MockResponse, any Error>
      do { result = .success(try await respond(asked)) } catch { result = .failure(error) }
      outcome.update { $0 = $0 ?? result }
    }
    let watchdog = request.options.responseTimeout.map { timeout in
      Task {
        while true {
          let end = lastActivity.value.advanced(by: timeout.bounded)
          try await clock.sleep(until: end, tolerance: nil)
          guard lastActivity.value.advanced(by: timeout.bounded) <= clock.now else { continue }
          let message = "the mock gave no response in \(Quantity.text(timeout))"
          let error = HTTPError(.responseTimeout, message, phase: .waiting)
          return outcome.update { $0 = $0 ?? .failure(error) }
        }
      }
    }
    defer {
      work.cancel()
      watchdog?.cancel()
    }
    return try await outcome.wait { $0 }.get()
  }
}

/// A request to a ``MockTransport``: it has all properties of `HTTPRequest`, and reads the body on demand.
@dynamicMemberLookup
public struct MockRequest: Sendable {
  /// The request as the transport received it.
  public let request: HTTPRequest
  /// The call that it belongs to.
  public let call: Call
  private let didRead: @Sendable () -> Void

  init(_ request: HTTPRequest, in call: Call, didRead: @escaping @Sendable () -> Void) {
    self.request = request
    self.call = call
    self.didRead = didRead
  }

  /// A property of ``request``.
  public subscript<Value>(dynamicMember path: KeyPath<HTTPRequest, Value>) -> Value { request[keyPath: path] }

  /// Reads the request's body like a transport that sends it: every chunk is reported as progress and restarts the
  /// response timeout.
  ///
  /// - Parameter limit: the maximum number of bytes, 16 MiB by default; more is an `HTTPError` of kind `.bodyTooLarge`.
  /// - Throws: the error of opening or reading the body.
  public func readBody(upTo limit: Int = 16 << 20) async throws -> Data {
    let body = try await request.body.open()
    var data = Data()
    while let chunk = try await body.source.next() {
      data.append(chunk)
      guard data.count <= limit else {
        body.source.cancel()
        throw HTTPError(
          .bodyTooLarge, "the request's body is larger than \(limit) bytes: raise the mock's limit", phase: .sending)
      }
      didRead()
      call.emit(.progress(Event.Progress(.sent, completed: Int64(data.count), total: body.length)))
    }
    return data
  }
}

/// A response of a mock transport, for any URL, or a failure.
///
/// Make it with the short forms of ``Answer``: `.text("hello")`, `.json(#"{}"#)`, `.status(503)`; or with
/// ``failure(_:)``.
public struct MockResponse: Answer {
  /// The status.
  public var status: HTTPStatus
  /// The fields.
  public var fields: HTTPFields
  /// Informational responses (1xx) that the transport reports first.
  public var interim: [ResponseHead] = []
  private let makeBody: @Sendable () -> ResponseBody
  let failure: (any Error)?
  /// Serves the WebSocket that the response opens; nil for any other response.
  var serve: (@Sendable (MockWebSocket) async throws -> Void)?

  /// Makes a response whose body is in memory.
  public init(status: HTTPStatus = .ok, fields: HTTPFields = [:], content: Data = Data()) {
    self.init(status: status, fields: fields) { ResponseBody(content) }
  }

  /// Makes a response whose body is read on demand, such as from a `BodySource` that stalls, fails or never ends.
  ///
  /// - Parameters:
  ///   - status: the status; 200 by default.
  ///   - fields: the fields; none by default.
  ///   - body: called for each request that gets this response, because a body can be read only once.
  public init(
    status: HTTPStatus = .ok, fields: HTTPFields = [:], body: @escaping @Sendable () -> ResponseBody
  ) {
    self.status = status
    self.fields = fields
    makeBody = body
    failure = nil
  }

  private init(failure: any Error) {
    status = 599
    fields = [:]
    makeBody = { .empty }
    self.failure = failure
  }

  /// No response: the transport throws this error.
  public static func failure(_ error: any Error) -> MockResponse { MockResponse(failure: error) }

  /// Returns the response to a request for a URL. A mock stands in for the network: the response counts as received
  /// over the network, so cookies and caches accept it.
  ///
  /// - Throws: the error of ``failure(_:)``.
  public func response(for url: URL) throws -> HTTPResponse {
    if let failure { throw failure }
    return HTTPResponse(url: url, networkHead: ResponseHead(status: status, fields: fields), body: makeBody())
  }
}
