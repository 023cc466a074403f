@_spi(Toolkit) public import MartletSemantics

/// Sends requests: with `data`, `bytes`, `upload` and `download`, or as JSON with `value`.
///
/// ```swift
/// let session = HTTPSession(transport: transport)
/// let (data, response) = try await session.data(for: HTTPRequest(.get, url))
/// ```
///
/// A session is a value that is cheap to copy and can be used from any thread; all copies use the same transport and
/// the same connections. Every verb throws ``HTTPError`` and nothing else, and ends soon after its task is cancelled. A
/// status such as 404 is an error only for `download`, `value`, `pages` and `events`, or if the caller expects other
/// statuses: see ``StatusExpectation``.
public struct HTTPSession: Sendable {
  fileprivate let core: Core

  /// The session's configuration. Its lists of interceptors and listeners include the ones in its default options.
  public var configuration: SessionConfiguration { core.configuration }

  /// The transport that the session was made on.
  var transport: any Transport { core.transport }

  /// The state that the copies of a session share.
  fileprivate final class Core: CallRunner {
    let loop: AttemptLoop
    let configuration: SessionConfiguration
    let transport: any Transport

    init(transport: any Transport, configuration: SessionConfiguration) {
      var configuration = configuration
      configuration.adoptInterceptorsAndListeners()
      self.configuration = configuration
      self.transport = transport
      loop = AttemptLoop(to: transport, configuration)
    }

    var clock: any Clock<Duration> { configuration.clock }

    var decoder: JSONDecoder { configuration.decoder }

    var attemptLimit: Int { loop.limit }
  }

  fileprivate init(core: Core) { self.core = core }

  /// Makes a session on a transport.
  public init(transport: any Transport, configuration: SessionConfiguration = .init()) {
    core = Core(transport: transport, configuration: configuration)
  }

  /// Sends the request and collects the response's body in memory, up to ``RequestOptions/collectLimit`` bytes. Runs
  /// off the caller's actor.
  ///
  /// - Parameters:
  ///   - request: the request.
  ///   - expecting: the statuses that are no error; ``RequestOptions/expecting`` by default. If that is nil, as it is
  ///     at first, every response is returned. The error of another status is of kind `.unexpectedResponse`.
  /// - Throws: ``HTTPError``. Its kind and its Boolean properties distinguish an unreachable server
  ///   (``HTTPError/isUnreachable``), an exceeded time limit (``HTTPError/isTimeout``), a cancelled task
  ///   (``HTTPError/isCancelled``), a body that is too large (`.bodyTooLarge`), and a response that is not HTTP
  ///   (`.protocolViolation`). ``HTTPError/Kind`` lists all kinds.
  @concurrent public func data(
    for request: HTTPRequest, expecting: StatusExpectation? = nil
  ) async throws(HTTPError) -> (Data, HTTPResponse) {
    try await collect(request.expecting(expecting), Call.Use(collectsBody: true))
  }

  /// Sends the request for a page of a list like ``data(for:expecting:)``. The call's `askedURL` is the URL of the
  /// first page.
  func data(
    for request: HTTPRequest, continuing first: HTTPRequest
  ) async throws(HTTPError) -> (Data, HTTPResponse) {
    try await collect(request, Call.Use(collectsBody: true, askedURL: resolved(first).url))
  }

  @inline(__always)  // Its own frame would be one more in every waiting call.
  private func collect(_ request: HTTPRequest, _ use: Call.Use) async throws(HTTPError) -> (Data, HTTPResponse) {
    let request = resolving(request)
    let limit = Self.collectLimit(of: request)
    let call = makeCall(for: request, until: deadline(request.options), use)
    var response: HTTPResponse
    do {
      response = try await run(request, in: call)
      if request.options.accepts(response.status),
        let data = try Self.receivedBody(of: response, limit: limit, in: call)
      {
        return (data, response)
      }
      response = Self.response(response, limit: limit, in: call)
    } catch { throw Self.end(call, of: request, error) }
    guard request.options.accepts(response.status) else { throw await unexpected(response) }
    return (try await response.body.collect(upTo: .max), response)
  }

  /// Sends the request and returns when the response's head is received. The caller reads the body. Runs off the
  /// caller's actor.
  ///
  /// ```swift
  /// let (body, response) = try await session.bytes(for: request)
  /// for try await chunk in body { print(chunk.count) }
  /// ```
  ///
  /// - Throws: ``HTTPError``, as ``data(for:expecting:)``; the body throws errors that occur while it is read.
  @concurrent public func bytes(
    for request: HTTPRequest, expecting: StatusExpectation? = nil
  ) async throws(HTTPError) -> (ResponseBody, HTTPResponse) {
    try await bytes(for: request.expecting(expecting), Call.Use())
  }

  /// Sends a request like ``bytes(for:expecting:)``, for a caller that reads the whole body at once and keeps it.
  /// Identical requests then wait for the body as well.
  @_spi(Toolkit) public func bytesToCollect(for request: HTTPRequest) async throws(HTTPError) -> (
    ResponseBody, HTTPResponse
  ) {
    try await bytes(for: request, Call.Use(collectsBody: true))
  }

  /// Sends a request like ``bytes(for:expecting:)`` that asks the server to switch protocols. If it does, the call
  /// lasts until the user of the connection ends it, and its deadline is removed.
  @_spi(Transports) public func upgrade(for request: HTTPRequest) async throws(HTTPError) -> (
    ResponseBody, HTTPResponse
  ) {
    try await bytes(for: request, Call.Use(opensConnection: true))
  }

  private func bytes(
    for request: HTTPRequest, _ use: Call.Use
  ) async throws(HTTPError) -> (ResponseBody, HTTPResponse) {
    let request = resolving(request)
    let response = try await respond(
      to: request, limit: request.options.bodyLimit, until: deadline(request.options), use)
    return (response.body, response)
  }

  /// Sends the request with this body instead of its own, and collects the response's body like
  /// ``data(for:expecting:)``. Runs off the caller's actor.
  ///
  /// - Throws: ``HTTPError``, as ``data(for:expecting:)``, and of kind `.file` if the body is a file that cannot be
  ///   read.
  @concurrent public func upload(
    for request: HTTPRequest, from body: RequestBody, expecting: StatusExpectation? = nil
  ) async throws(HTTPError) -> (Data, HTTPResponse) {
    var request = request
    request.body = body
    return try await data(for: request, expecting: expecting)
  }

  /// Ends the call of an unexpected response.
  ///
  /// - Parameter message: the mismatch; the status by default.
  /// - Returns: the error, with the beginning of the body if it arrives within ten seconds.
  @_spi(Toolkit) public func unexpected(_ response: HTTPResponse, _ message: String? = nil) async -> HTTPError {
    let error = HTTPError.unexpected(message ?? "unexpected status \(response.head.statusText)", response)
    guard let body = response.body.ofSession else { return error }
    return await body.end(
      with: error, readingUpTo: HTTPError.bodyPrefix, within: .seconds(10), on: configuration.clock)
  }
}

extension HTTPSession {
  /// Returns the request as this session sends it: with its URL resolved against ``SessionConfiguration/baseURL`` and
  /// normalized, and with the session's values for options that it does not set. The verbs do that themselves.
  @inline(never)  // Its variables would take space in the frames of the verbs.
  public func resolving(_ request: HTTPRequest) -> HTTPRequest {
    var request = resolved(request)
    request.sharedOptions = sharedOptions(of: request)
    return request
  }

  /// Returns the request's options, with the session's values for options that the request does not set.
  func sharedOptions(of request: HTTPRequest) -> Shared<RequestOptions> {
    request.sharedOptions.inheriting(from: configuration.sharedOptions)
  }

  /// Returns the request with its URL resolved against the session's base URL and normalized. The cookies, the cache
  /// and the credentials then see the same host and path as the server.
  func resolved(_ request: HTTPRequest) -> HTTPRequest {
    guard let base = configuration.baseURL, request.url.scheme == nil else { return normalized(request) }
    var request = request
    request.url = request.url.resolved(inFolder: base)
    return normalized(request)
  }

  private func normalized(_ request: HTTPRequest) -> HTTPRequest {
    guard !request.reading.isNormal,
      let url = request.url.normalized(keepsDotSegments: sharedOptions(of: request).value.keepsDotSegments)
    else { return request }
    var request = request
    request.url = url
    return request
  }

  /// Identifies the requests of this session that are identical to this one; nil if its response is not shared.
  @_spi(Toolkit) public func identity(of request: HTTPRequest) -> RequestIdentity? {
    let request = resolved(request)
    guard RequestIdentity.allowsSharing(of: request) else { return nil }
    return RequestIdentity(request.cacheKey(in: sharedOptions(of: request).value.partition), all: request.fields)
  }

  /// The maximum number of bytes of a body that is collected.
  private static func collectLimit(of request: HTTPRequest) -> Int64 {
    min(request.options.bodyLimit ?? .max, Int64(request.options.collectLimit))
  }

  /// Starts the deadline of a call; nil without one.
  func deadline(_ options: RequestOptions) -> Deadline? {
    options.deadline.map { Deadline($0, on: configuration.clock) }
  }

  /// Makes a call and runs it until the head of its response is received. Errors, including those of the body, get the
  /// call's context.
  ///
  /// - Parameters:
  ///   - request: the request, with its options in this session.
  ///   - limit: the maximum number of bytes of the body; nil for no limit.
  ///   - deadline: the deadline, which has started; nil for none.
  ///   - use: what the caller does with the response.
  func respond(
    to request: HTTPRequest, limit: Int64?, until deadline: Deadline?, _ use: Call.Use = .init()
  ) async throws(HTTPError) -> HTTPResponse {
    let call = makeCall(for: request, until: deadline, use)
    let answer: HTTPResponse
    do {
      answer = Self.response(try await run(request, in: call), limit: limit, in: call)
    } catch { throw Self.end(call, of: request, error) }
    guard request.options.accepts(answer.status) else { throw await unexpected(answer) }
    return answer
  }

  private func makeCall(for request: HTTPRequest, until deadline: Deadline?, _ use: Call.Use) -> Call {
    let own = request.options.listeners
    let listeners = own.isEmpty ? configuration.listeners : configuration.listeners + own
    let call = Call(runner: core, asked: request, use, listeners: listeners, deadline: deadline)
    call.emit(.started(request))
    return call
  }

  /// Returns the response with the body of the call.
  @inline(never)  // Its variables would take space in the frame of a call that waits for a response.
  private static func response(_ response: HTTPResponse, limit: Int64?, in call: Call) -> HTTPResponse {
    if call.use.opensConnection, response.isUpgraded {
      call.releaseDeadline()
      return response
    }
    var response = response
    let body = SessionBody(of: response, limit: limit, in: call)
    response.body = ResponseBody(length: response.body.length, from: body)
    return response
  }

  /// Ends a call whose body was received with its head, and returns the bytes; nil for any other call, whose body is
  /// still to be read.
  @inline(never)  // Its variables would take space in the frame of a call that waits for a response.
  private static func receivedBody(
    of response: HTTPResponse, limit: Int64, in call: Call
  ) throws(HTTPError) -> Data? {
    do {
      guard let data = try response.body.takeReceived() else { return nil }
      try call.reportReceived(data, of: response.body.length, upTo: limit, from: response.body.source)
      call.end(nil)
      return data
    } catch {
      response.body.cancel()
      throw error.addingContext(of: response)
    }
  }

  /// Ends a call with an error, and returns the error with the call's context.
  @inline(never)  // Its variables would take space in the frame of a call that waits for a response.
  private static func end(_ call: Call, of request: HTTPRequest, _ error: any Error) -> HTTPError {
    let error = HTTPError(wrapping: error).addingContext(request: request.head, response: nil, history: [])
    call.end(error)
    return error
  }

  private func run(_ request: HTTPRequest, in call: Call) async throws -> HTTPResponse {
    if request.options.usesDigests { return try await runWithIntegrityFields(request, in: call) }
    return try await call.context.perform { try await core.loop.run(request, in: call) }
  }

  @inline(never)  // Its variables would take space in the frame of a call that waits for a response.
  private func runWithIntegrityFields(_ request: HTTPRequest, in call: Call) async throws -> HTTPResponse {
    let request = try await call.withinDeadline { try await request.addingIntegrityFields() }
    return try await call.context.perform { try await core.loop.run(request, in: call) }
  }
}

extension HTTPSession: CustomStringConvertible {
  /// The parts of the session, without secrets: `HTTPSession of https://api.example.com/v1: 1 interceptor, 2 listeners,
  /// cookies, a cache`.
  public var description: String {
    let configuration = configuration
    func counted(_ count: Int, _ name: String) -> String? {
      count == 0 ? nil : "\(count) \(name)\(count == 1 ? "" : "s")"
    }
    let parts = [
      counted(configuration.interceptors.count, "interceptor"), counted(configuration.listeners.count, "listener"),
      counted(configuration.credentials.count, "credential source"), configuration.cookies.map { _ in "cookies" },
      configuration.cache.map { _ in "a cache" },
    ].compactMap(\.self)
    let base = configuration.baseURL.map { " of \($0.redacted)" } ?? ""
    return "HTTPSession\(base): \(parts.isEmpty ? "no cookies, no cache" : parts.joined(separator: ", "))"
  }
}

/// A session that this value does not keep alive: for a listener, which its session keeps.
@_spi(Toolkit) public struct WeakSession: Sendable {
  private weak let core: HTTPSession.Core?

  /// Makes a reference to the session of a call; it leads to none if the call has none.
  public init(of call: Call) { core = call.runner as? HTTPSession.Core }

  /// The session, while another part of the program has it.
  public var session: HTTPSession? { core.map(HTTPSession.init(core:)) }
}

extension Call {
  /// The session that runs the call, for an interceptor that first has to make a request of its own, for example for a
  /// token; nil if a test made the call. ``SharedWork`` lets several calls share one such request.
  public var session: HTTPSession? { (runner as? HTTPSession.Core).map(HTTPSession.init(core:)) }

  /// Makes a call. Sessions do this, and so may tests of a transport or an interceptor.
  public convenience init(session: HTTPSession? = nil, listeners: [any EventListener] = []) {
    self.init(runner: session?.core, asked: nil, listeners: listeners, deadline: nil)
  }
}
