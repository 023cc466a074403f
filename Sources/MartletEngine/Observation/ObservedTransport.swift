import MartletSemantics

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
    request.body.tap = { exchange.emit(.bytes($0, .sent, attempt: attempt)) }
    return try await base.send(request, in: exchange)
  }
}

/// Shows every chunk to somebody before it is handed over.
struct TappedSource: BodySource {
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
