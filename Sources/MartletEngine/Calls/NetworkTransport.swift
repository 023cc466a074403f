package import MartletSemantics

/// Reports what is sent over the network: the final head, and the bytes of the body if a listener has `wantsBodies`.
struct ObservedTransport: Transport {
  let base: any Transport

  func send(_ request: HTTPRequest, in call: Call) async throws -> HTTPResponse {
    call.emit(.sending(request.head))
    guard call.wantsBodies, !request.body.isEmpty else { return try await base.send(request, in: call) }
    let attempt = call.currentAttempt
    if let bytes = request.body.bytes {
      call.emit(.bytes(bytes, .sent, attempt: attempt))
      return try await base.send(request, in: call)
    }
    var request = request
    request.body = request.body.tapped { call.emit(.bytes($0, .sent, attempt: attempt)) }
    return try await base.send(request, in: call)
  }
}

extension RequestBody {
  /// Returns the body, with a function that is called with every chunk before the transport reads it.
  package func tapped(by tap: @escaping @Sendable (Data) -> Void) -> RequestBody {
    let open: @Sendable () async throws -> OpenBody = {
      let body = try await self.open()
      return OpenBody(source: TappedSource(base: body.source, tap: tap), length: body.length)
    }
    return RequestBody(
      .made(open), length: length, fields: fields, hasTrailers: hasTrailers, singleUses: singleUses)
  }
}

private struct TappedSource: BodySource {
  let base: any BodySource
  let tap: @Sendable (Data) -> Void

  func next() async throws -> Data? {
    let chunk = try await base.next()
    if let chunk { tap(chunk) }
    return chunk
  }

  func cancel() { base.cancel() }

  var trailers: HTTPFields { base.trailers }
}
