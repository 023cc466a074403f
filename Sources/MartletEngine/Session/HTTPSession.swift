public import MartletSemantics

/// The front door: four verbs, one pipeline.
///
/// ```swift
/// let session = HTTPSession(transport: transport)
/// let (data, response) = try await session.data(for: HTTPRequest(.get, url))
/// ```
///
/// A session is a value that is cheap to copy and safe to share; all copies use the same transport, and with it the same
/// connections. Every verb throws ``HTTPError`` and nothing else, and ends soon after its task is cancelled. A status
/// such as 404 is no error.
public struct HTTPSession: Sendable {
  private let pipeline: Pipeline
  let configuration: SessionConfiguration

  /// Makes a session on a transport.
  public init(transport: any Transport, configuration: SessionConfiguration = .init()) {
    self.configuration = configuration
    pipeline = Pipeline(transport: transport, configuration: configuration)
  }

  /// Sends the request and collects the response's body in memory, up to ``RequestOptions/collectLimit`` bytes.
  public func data(for request: HTTPRequest) async throws(HTTPError) -> (Data, HTTPResponse) {
    var request = request
    request.options.isCollected = true
    let response = try await respond(
      to: request, limit: { min($0.bodyLimit ?? .max, Int64($0.collectLimit)) }, until: deadline(of: request))
    return (try await response.body.collect(upTo: .max), response)
  }

  /// Sends the request and returns as soon as the response's head is there; the body is pulled by the caller.
  ///
  /// ```swift
  /// let (body, response) = try await session.bytes(for: request)
  /// for try await chunk in body { print(chunk.count) }
  /// ```
  public func bytes(for request: HTTPRequest) async throws(HTTPError) -> (ResponseBody, HTTPResponse) {
    var request = request
    request.options.isCollected = false
    return try await uncounted(request)
  }

  /// As ``bytes(for:)``, for a caller who reads the whole body at once and keeps it: those who wait for an identical request
  /// then wait for its body.
  package func bytesToCollect(for request: HTTPRequest) async throws(HTTPError) -> (ResponseBody, HTTPResponse) {
    var request = request
    request.options.isCollected = true
    return try await uncounted(request)
  }

  private func uncounted(_ request: HTTPRequest) async throws(HTTPError) -> (ResponseBody, HTTPResponse) {
    let response = try await respond(to: request, limit: \.bodyLimit, until: deadline(of: request))
    return (response.body, response)
  }

  /// Sends the request with this body in place of its own, and collects the response's.
  public func upload(
    for request: HTTPRequest, from body: RequestBody
  ) async throws(HTTPError) -> (Data, HTTPResponse) {
    var request = request
    request.body = body
    return try await data(for: request)
  }

  /// One exchange up to the head of its response. Errors are wrapped here, and nowhere else.
  func respond(
    to request: HTTPRequest, limit: (RequestOptions) -> Int64?, until deadline: Deadline?
  ) async throws(HTTPError) -> HTTPResponse {
    var request = request
    request.options = request.options.inheriting(from: configuration.options)
    let exchange = Exchange(
      session: self, askedURL: request.url, listeners: configuration.listeners + request.options.listeners,
      deadline: deadline)
    exchange.emit(.started(request))
    do {
      var response = try await run(request, in: exchange, until: deadline)
      let body = SessionBody(
        of: response, limit: limit(request.options), deadline: deadline, in: exchange,
        place: { [head = response.head, history = response.history, asked = request.head, url = response.url] error in
          error.placed(
            request: RequestHead(method: asked.method, url: url), response: head, attempts: history)
        })
      response.body = ResponseBody(length: response.body.length, from: body)
      return response
    } catch {
      let error = HTTPError(wrapping: error).placed(request: request.head, response: nil, attempts: [])
      exchange.emit(.finished(error))
      throw error
    }
  }

  private func deadline(of request: HTTPRequest) -> Deadline? {
    request.options.inheriting(from: configuration.options).deadline.map { Deadline($0, on: configuration.clock) }
  }

  private func run(
    _ request: HTTPRequest, in exchange: Exchange, until deadline: Deadline?
  ) async throws -> HTTPResponse {
    guard let deadline else { return try await pipeline.loop.run(request, in: exchange) }
    return try await deadline.holding { [pipeline] in try await pipeline.loop.run(request, in: exchange) }
  }
}
