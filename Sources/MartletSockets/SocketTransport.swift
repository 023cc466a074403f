#if os(Linux)
@_spi(Transports) public import MartletEngine
import MartletSemantics

/// A transport over the system's sockets: HTTP/1.1, and streaming in both directions with backpressure. Content codings
/// are decoded by a ``DecodingTransport`` around it.
///
/// One thread runs all requests of a transport, which share connections. When the last reference to the transport and
/// to its unread bodies is released, its connections are closed and its thread ends.
///
/// Responses have to conform to RFC 9112; others are errors of kind ``HTTPError/Kind/protocolViolation``. An idle
/// connection that receives anything is closed and not used again.
///
/// If a pooled connection turns out to be closed, the request is sent again at once if it may be repeated and
/// ``RetryPolicy/replacesStaleConnections`` is set, and listeners get an ``Event/note(_:)``. A request that may not be
/// repeated fails, and the error's ``HTTPError/delivery`` says why.
public struct SocketTransport: Transport {
  private let transport: any Transport

  /// Makes a transport. If the system has no thread or file descriptor for it, every request fails with an error that
  /// says so; with a setting that is not supported, with an error that names it.
  public init(_ connection: ConnectionConfiguration = .init()) {
    let raw = RawSocketTransport(connection)
    transport = connection.decompresses ? DecodingTransport(raw) : raw
  }

  /// Sends the request. Returns the final response's head, with its body still to be read.
  public func send(_ request: HTTPRequest, in call: Call) async throws -> HTTPResponse {
    try await transport.send(request, in: call)
  }
}

/// The transport without content codings: bodies are delivered as they come over the network.
struct RawSocketTransport: Transport {
  private let configuration: ConnectionConfiguration
  private let thread: Result<LoopThread, HTTPError>
  private let identity: TLSIdentity

  init(_ configuration: ConnectionConfiguration) {
    self.configuration = configuration
    let identity = TLSIdentity(configuration.tls)
    self.identity = identity
    thread = Result { () throws(HTTPError) in
      try Self.check(configuration)
      try identity.readAuthorities()
      return try LoopThread(configuration)
    }
  }

  func send(_ request: HTTPRequest, in call: Call) async throws -> HTTPResponse {
    let thread = try thread.get()
    guard let origin = Origin(request.url) else { throw request.hasNoOrigin }
    guard request.method != .head || request.body.isEmpty else {
      throw HTTPError(.invalidRequest, "a HEAD request cannot have a body (RFC 9110 §9.3.2)", phase: .preparing)
    }
    let tls = origin.isSecure ? try identity.context() : nil
    let body = request.body.isEmpty ? nil : try await request.body.open()
    let exchange: Exchange
    do {
      try Task.checkCancellation()
      let head = try HTTP1RequestHead(request, to: origin, body: body)
      exchange = Exchange(
        request, to: origin, heads: (head, try http2Head(of: request, to: origin, head)), body: body, tls: tls,
        limits: limits(of: request, head, in: call), readAhead: configuration.readAhead)
    } catch {
      body?.source.cancel()
      throw error
    }
    let source = ExchangeBody(
      exchange, on: thread, of: body, in: call, trustCheck: configuration.tls.serverTrustCheck)
    let response = try await source.head()
    if response.status == .expectationFailed, exchange.head.expectsContinue, !request.fields.contains(.expect),
      request.body.canBeSent
    {
      // the transport added the `Expect`, so it removes it
      source.cancel()
      if call.isObserved { call.emit(.note("sent again without Expect, which the server refused")) }
      var request = request
      request.options.continueTimeout = nil
      return try await send(request, in: call)
    }
    return HTTPResponse(to: request, networkHead: response, from: source)
  }

  private func http2Head(
    of request: HTTPRequest, to origin: Origin, _ head: HTTP1RequestHead
  ) throws(HTTPError) -> HTTP2RequestHead? {
    guard ConnectionKey(origin, configuration.versions).mayMultiplex else { return nil }
    let body: HTTP2RequestHead.Body =
      switch head.framing {
      case .none: .none
      case .length(let count): .length(count)
      case .chunked: .unknownLength
      }
    return try HTTP2RequestHead(request, origin: origin, body: body, expectsContinue: head.expectsContinue)
  }

  private func limits(of request: HTTPRequest, _ head: HTTP1RequestHead, in call: Call) -> Exchange.Limits {
    let options = request.options
    return Exchange.Limits(
      response: options.responseTimeout?.nanoseconds, idle: options.idleTimeout?.nanoseconds,
      expectation: head.expectsContinue ? (options.continueTimeout ?? .seconds(1)).nanoseconds : nil,
      headerBytes: options.headerLimit,
      wholeBody: options.isCollected ? Int64(min(1 << 20, configuration.readAhead)) : 0, isObserved: call.isObserved,
      mayRepeat: request.replacesStaleConnection)
  }

  /// Refuses what is not supported.
  private static func check(_ configuration: ConnectionConfiguration) throws(HTTPError) {
    let unsupported = configuration.changedSettings.filter { !supported.contains($0) }
    guard unsupported.isEmpty else {
      let names = unsupported.joined(separator: ", ")
      throw HTTPError(
        .invalidRequest, "this transport does not support these settings of a connection: \(names)", phase: .preparing)
    }
  }

  private static let supported: Set<String> = [
    "connectTimeout", "connectionsPerHost", "connections", "idleConnections", "idleLifetime", "decompresses",
    "readAhead", "versions", "tls.authorities", "tls.additionalAuthorities", "tls.minimumVersion",
    "tls.pinnedPublicKeys",
    "tls.clientCertificate", "tls.serverTrustCheck",
  ]
}

extension Duration {
  /// Nanoseconds of the whole seconds.
  var wholeSeconds: UInt64 { nanoseconds / 1_000_000_000 * 1_000_000_000 }

  /// Nanoseconds; 0 for a negative duration, and no more than what fits into a timer.
  var nanoseconds: UInt64 {
    let (seconds, attoseconds) = components
    guard seconds >= 0, attoseconds >= 0 else { return 0 }
    guard seconds < 1 << 33 else { return UInt64(1 << 33) * 1_000_000_000 }
    return UInt64(seconds) * 1_000_000_000 + UInt64(attoseconds / 1_000_000_000)
  }
}
#endif
