package import MartletSemantics

/// Stands directly around the wire and tells what really goes out: the head after everything above has added its part,
/// and the bytes of the body where somebody wants them.
struct ObservedTransport: Transport {
  let base: any Transport

  func send(_ request: HTTPRequest, in exchange: Exchange) async throws -> HTTPResponse {
    exchange.emit(.sending(request.head))
    guard exchange.wantsBodies, !request.body.isEmpty else { return try await base.send(request, in: exchange) }
    let attempt = exchange.currentAttempt
    if let bytes = request.body.bytes {
      exchange.emit(.bytes(bytes, .sent, attempt: attempt))
      return try await base.send(request, in: exchange)
    }
    var request = request
    request.body = request.body.tapped { exchange.emit(.bytes($0, .sent, attempt: attempt)) }
    return try await base.send(request, in: exchange)
  }
}

extension RequestBody {
  /// The body that shows every chunk to somebody before the transport gets it.
  package func tapped(by tap: @escaping @Sendable (Data) -> Void) -> RequestBody {
    let open: @Sendable () async throws -> OpenBody = {
      let body = try await self.open()
      return OpenBody(source: TappedSource(base: body.source, tap: tap), length: body.length)
    }
    return RequestBody(.made(open), length: length, fields: fields, singleUses: singleUses)
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
