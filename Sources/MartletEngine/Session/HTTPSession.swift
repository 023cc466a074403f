public import MartletSemantics

/// Sends requests: with `data`, `bytes`, `upload` and `download`, or as JSON with `value`.
///
/// ```swift
/// let session = HTTPSession(transport: transport)
/// let (data, response) = try await session.data(for: HTTPRequest(.get, url))
/// ```
///
/// A session is a value that is cheap to copy and can be used from any thread; all copies use the same transport and
/// the same connections. Every verb throws ``HTTPError`` and nothing else, and ends soon after its task is cancelled. A
/// status such as 404 is not an error.
public struct HTTPSession: Sendable {
  private let content: Content

  private var pipeline: Pipeline { content.pipeline }
  package var configuration: SessionConfiguration { content.configuration }

  /// What the copies of a session share.
  private final class Content: Sendable {
    let pipeline: Pipeline
    let configuration: SessionConfiguration

    init(transport: any Transport, configuration: SessionConfiguration) {
      self.configuration = configuration
      pipeline = Pipeline(transport: transport, configuration: configuration)
    }
  }

  /// Makes a session on a transport.
  public init(transport: any Transport, configuration: SessionConfiguration = .init()) {
    content = Content(transport: transport, configuration: configuration)
  }

  /// Sends the request and collects the response's body in memory, up to ``RequestOptions/collectLimit`` bytes.
  public func data(for request: HTTPRequest) async throws(HTTPError) -> (Data, HTTPResponse) {
    var options = options(of: request)
    options.isCollected = true
    let limit = min(options.bodyLimit ?? .max, Int64(options.collectLimit))
    let response = try await respond(to: request, with: options, limit: limit, until: deadline(options))
    return (try await response.body.collect(upTo: .max), response)
  }

  /// Sends the request and returns when the response's head is received. The caller reads the body.
  ///
  /// ```swift
  /// let (body, response) = try await session.bytes(for: request)
  /// for try await chunk in body { print(chunk.count) }
  /// ```
  public func bytes(for request: HTTPRequest) async throws(HTTPError) -> (ResponseBody, HTTPResponse) {
    try await bytes(for: request, isCollected: false)
  }

  /// Like ``bytes(for:)``, for a caller that reads the whole body at once and keeps it. Identical requests then wait
  /// for the body as well.
  package func bytesToCollect(for request: HTTPRequest) async throws(HTTPError) -> (ResponseBody, HTTPResponse) {
    try await bytes(for: request, isCollected: true)
  }

  private func bytes(
    for request: HTTPRequest, isCollected: Bool
  ) async throws(HTTPError) -> (ResponseBody, HTTPResponse) {
    var options = options(of: request)
    options.isCollected = isCollected
    let response = try await respond(
      to: request, with: options, limit: options.bodyLimit, until: deadline(options))
    return (response.body, response)
  }

  /// Sends the request with this body instead of its own, and collects the response's body like ``data(for:)``.
  public func upload(
    for request: HTTPRequest, from body: RequestBody
  ) async throws(HTTPError) -> (Data, HTTPResponse) {
    var request = request
    request.body = body
    return try await data(for: request)
  }
}

extension HTTPSession {
  /// The options of a request in this session: its own, and the session's where it sets none.
  package func options(of request: HTTPRequest) -> RequestOptions {
    request.options.inheriting(from: configuration.options)
  }

  /// Identifies the requests of this session that are identical to the given one; nil if its response is not shared.
  package func route(of request: HTTPRequest) -> RequestRoute? {
    guard RequestRoute.isShared(by: request) else { return nil }
    return RequestRoute(CacheKey(request.url, partition: options(of: request).cachePartition), all: request.fields)
  }

  /// The session's cache.
  package var cache: HTTPCache? { configuration.cache }

  /// Starts the deadline of a call; nil without one.
  func deadline(_ options: RequestOptions) -> Deadline? {
    options.deadline.map { Deadline($0, on: configuration.clock) }
  }

  /// Makes a call and runs it until the head of its response. Errors get the call's context here and in the body that
  /// is returned.
  ///
  /// - Parameters:
  ///   - options: the request's options, with those of the session.
  ///   - limit: the largest number of bytes of the body; nil for no limit.
  ///   - deadline: the deadline, which has started; nil for none.
  func respond(
    to request: HTTPRequest, with options: RequestOptions, limit: Int64?, until deadline: Deadline?
  ) async throws(HTTPError) -> HTTPResponse {
    var request = request
    request.options = options
    let call = Call(
      session: self, asked: request, listeners: configuration.listeners + options.listeners, deadline: deadline)
    call.emit(.started(request))
    do {
      var (response, method) = try await run(request, in: call, until: deadline)
      let body = SessionBody(of: response, to: method, limit: limit, until: deadline, in: call)
      response.body = ResponseBody(length: response.body.length, from: body)
      return response
    } catch {
      let error = HTTPError(wrapping: error).addingContext(request: request.head, response: nil, attempts: [])
      call.end(error)
      throw error
    }
  }

  private func run(
    _ request: HTTPRequest, in call: Call, until deadline: Deadline?
  ) async throws -> (response: HTTPResponse, method: HTTPMethod) {
    try await call.context.perform {
      guard let deadline else { return try await pipeline.loop.run(request, in: call) }
      return try await deadline.holding { [pipeline] in try await pipeline.loop.run(request, in: call) }
    }
  }
}
