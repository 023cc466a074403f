public import MartletSemantics

/// Passes requests on to the session's transport, and reports them: the final head, and the body's bytes if a listener
/// wants them. It refuses requests that must not use the network. It is the last of the engine's own transports.
///
/// A request must not be sent if it may only be answered from a cache; caches do not pass such requests on. It must not
/// be sent either if its credentials could not be obtained without a network: it then fails as if its origin could not
/// be reached. The cache above this transport may have a response, and retries may send the request again.
struct NetworkTransport: TransportLayer {
  let base: any Transport

  func send(_ request: HTTPRequest, in call: Call) async throws -> HTTPResponse {
    try await base.send(try observed(request, in: call), in: call)
  }

  /// Reports a request. Returns it, with a body whose bytes are reported when they are read.
  private func observed(_ request: HTTPRequest, in call: Call) throws(HTTPError) -> HTTPRequest {
    guard request.options.cachePolicy != .returnCacheDataDontLoad else {
      throw HTTPError(
        .notCached, "the request may only be answered from a cache, and the session has none", phase: .preparing)
    }
    if let error = call.missingCredentials { throw error }
    call.emit(.sending(request.head))
    guard call.events.contains(.bytes), !request.body.isEmpty else { return request }
    let attempt = call.currentAttempt
    if let bytes = request.body.bytes {
      call.emit(.bytes(bytes, .sent, attempt: attempt))
      return request
    }
    var request = request
    request.body = request.body.tapped { call.emit(.bytes($0, .sent, attempt: attempt)) }
    return request
  }
}

extension RequestBody {
  /// Returns the body with a function that is called with every chunk before the transport reads it.
  @_spi(Transports) public func tapped(by tap: @escaping @Sendable (Data) -> Void) -> RequestBody {
    let open: @Sendable () async throws -> OpenBody = {
      let body = try await self.open()
      return OpenBody(source: TappedSource(base: body.source, tap: tap), length: body.length)
    }
    return RequestBody(
      .made(open), length: length, fields: fields, hasTrailers: hasTrailers, singleUses: singleUses)
  }
}

private struct TappedSource: BodyLayer {
  let base: any BodySource
  let tap: @Sendable (Data) -> Void

  func next() async throws -> Data? {
    let chunk = try await base.next()
    if let chunk { tap(chunk) }
    return chunk
  }
}
