public import MartletSemantics

/// Passes requests on to the session's transport, and reports them: the final head, and the body's bytes if a listener
/// wants them. It refuses requests that must not use the network. It is the last of the engine's own transports.
///
/// A request must not be sent if it may only be answered from a cache; caches do not pass such requests on. It must not
/// be sent either if its credentials could not be obtained without a network: it then fails as if its origin could not
/// be reached. The cache above this transport may have a response, and retries may send the request again.
struct NetworkTransport: TransportLayer {
  let base: any Transport
  let clock: any Clock<Duration>

  func send(_ request: HTTPRequest, in call: Call) async throws -> HTTPResponse {
    guard !request.options.limitsRates, !request.options.checksDigests else {
      return try await sendSupervised(request, in: call)
    }
    return try await base.send(try observed(request, in: call), in: call)
  }

  /// Sends a request with rates or digests.
  @inline(never)  // Its variables would take space in the frame of a call that waits for a response.
  private func sendSupervised(_ request: HTTPRequest, in call: Call) async throws -> HTTPResponse {
    let observed = try observed(request, in: call)
    let response =
      request.options.limitsRates
      ? try await sendRated(observed, in: call) : try await base.send(observed, in: call)
    return request.options.checksDigests ? try Self.checked(response, to: request) : response
  }

  /// Returns a response whose digests are checked, unless a transport that decodes bodies already does that.
  private static func checked(_ response: HTTPResponse, to request: HTTPRequest) throws(HTTPError) -> HTTPResponse {
    do throws(HTTPError) { return try response.checkingDigests(for: request) } catch {
      response.body.cancel()
      throw error
    }
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

extension NetworkTransport {
  /// Sends a request whose bodies have a maximum or a minimum rate.
  func sendRated(_ request: HTTPRequest, in call: Call) async throws -> HTTPResponse {
    let (maximum, minimum) = (request.options.maximumRate, request.options.minimumRate)
    var request = request
    var upload: WatchedUpload?
    if !request.body.isEmpty {
      if let maximum { request.body = request.body.wrapped { PacedBody($0, maximum) } }
      if let minimum {
        let watch = WatchedUpload(minimum, on: clock)
        request.body = watch.watching(request.body)
        upload = watch
      }
    }
    var response = try await Self.send(request, by: base, watching: upload, in: call)
    guard response.body.length != 0, !response.isUpgraded else { return response }
    var source = response.body.source
    if let minimum { source = WatchedBody(source, minimum, on: clock) }
    if let maximum { source = PacedBody(source, maximum) }
    response.body = ResponseBody(length: response.body.length, from: source)
    return response
  }

  private static func send(
    _ request: HTTPRequest, by base: any Transport, watching upload: WatchedUpload?, in call: Call
  ) async throws -> HTTPResponse {
    guard let upload else { return try await base.send(request, in: call) }
    return try await withThrowingTaskGroup(of: HTTPResponse?.self) { group in
      group.addTask { try await base.send(request, in: call) }
      group.addTask {
        try await upload.watch()
        return nil
      }
      defer { group.cancelAll() }
      while let result = try await group.next() {
        if let result { return result }
      }
      throw CancellationError()  // not reached: the first task returns a response, or throws
    }
  }
}

extension RequestBody {
  /// Returns the body with a function that is called with every chunk before the transport reads it.
  @_spi(Transports) public func tapped(by tap: @escaping @Sendable (Data) -> Void) -> RequestBody {
    wrapped { TappedSource(base: $0, tap: tap) }
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
