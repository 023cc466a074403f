#if os(Linux)
@_spi(Transports) public import MartletEngine
public import MartletSemantics

/// A transport over the system's sockets, OpenSSL and nghttp2: HTTP/1.1 and HTTP/2 with multiplexing, TLS, proxies, and
/// streaming in both directions with backpressure. It decodes content codings like
/// ``Martlet/DecodingTransport``.
///
/// All requests of a transport run on one thread and share connections. The computations of full TLS handshakes run on
/// a few threads that all transports share, so that they hold up no other request. Once nothing refers to the transport
/// or to one of its unread bodies, its connections are closed and its thread ends. A process that forks must call
/// `exec` in the child, because the thread does not exist there.
///
/// Responses have to conform to RFC 9112 and RFC 9113; others fail with ``Martlet/HTTPError/Kind/protocolViolation``. A
/// response is complete only if its framing says so: by its length, its last chunk or END_STREAM. A body that ends with
/// the connection is complete only if the server ended the connection in order, over TLS with `close_notify`. An idle
/// HTTP/1.1 connection that receives anything is closed instead of being reused; the transport checks for such bytes
/// once more before each request. If unrequested bytes arrive only after the next request was sent, no client can tell
/// them from its response, because HTTP/1.1 responses carry no number. HTTP/2 responses do.
///
/// If the process has no file descriptor left, its transports first give up idle connections. If there is still none
/// for another connection, requests wait for the transport's existing connections, as they do at the limit
/// ``Martlet/ConnectionConfiguration/connectionLimit``. If the transport has no connection at all, the request fails.
///
/// Over HTTP/2, white space around the value of a field is removed, as over HTTP/1.1. RFC 9113 §8.2.1 calls such a
/// response malformed, but some servers send it. The transport closes connections that a server floods with useless
/// frames, or with TLS records without data.
///
/// If a pooled connection turns out to be closed, the request is sent again at once if it may be repeated and
/// ``Martlet/RetryPolicy/replacesStaleConnections`` is set, and listeners get an ``Martlet/Event/note(_:)``. A request
/// that may not be repeated fails, and the error's ``Martlet/HTTPError/delivery`` says why. If nothing of a request was
/// sent, it goes over another connection.
///
/// Negotiate authentication is in the product `MartletKerberos`, which has a source of credentials for origins, and
/// tokens for proxies (``Martlet/Proxy/authenticated(by:)``).
public struct SocketTransport: Transport {
  private let configuration: ConnectionConfiguration
  let thread: LoopStart
  private(set) var identity: TLSIdentity
  private var serviceClass: ServiceClass?
  private let proxies: ProxySettings
  private let proxyIdentity: TLSIdentity
  private let authentications = ProxyAuthentications()
  private var lastDestination = LastDestination()
  private let addressRules: Result<AddressRules, HTTPError>

  /// Makes a transport. If the system has no thread or file descriptor for it, requests fail with an error that says
  /// so, and each request tries again to start it.
  ///
  /// - Parameter options: settings that only this transport has.
  public init(_ connection: ConnectionConfiguration = .init(), options: Options = .init()) {
    configuration = connection
    serviceClass = connection.serviceClass
    let security = ConnectionSecurity(connection)
    (identity, proxyIdentity) = (security.own, security.ofProxies)
    proxies = ProxySettings(
      options.unixSocket == nil ? connection.proxy : .direct, environment: ProcessInfo.processInfo.environment)
    let addressRules = Result { () throws(HTTPError) in try AddressRules(checking: connection.addressPolicy) }
    self.addressRules = addressRules
    thread = LoopStart { [authentications] () throws(HTTPError) in
      try security.own.readAuthorities()
      return try LoopThread(connection, ConnectionOptions(options, addressRules.get()), security, authentications)
    }
  }

  /// Returns a transport with other TLS settings for origins, which shares everything else with this one, including the
  /// thread and the limits. Its TLS connections serve no requests of other transports, even if their settings are
  /// equal. They are closed once nothing refers to it or to one of its unread bodies.
  package func with(tls: TLSSettings) -> SocketTransport {
    var other = self
    other.identity = TLSIdentity(tls, beside: identity)
    other.lastDestination = LastDestination()
    return other
  }

  /// Returns a transport with another service class, which shares everything but connections with this one.
  package func with(serviceClass: ServiceClass?) -> SocketTransport {
    var other = self
    other.serviceClass = serviceClass
    other.lastDestination = LastDestination()
    return other
  }

  /// Sends the request. Returns the final response's head; its body is still to be read.
  public func send(_ request: HTTPRequest, in call: Call) async throws -> HTTPResponse {
    let decodes = configuration.decompresses
    let response = try await exchange(decodes ? DecodingTransport.acceptingCodings(request) : request, in: call)
    guard decodes, response.fields.contains(.contentEncoding) else { return response }
    return try DecodingTransport.decoded(response, to: request, in: call)
  }

  /// Opens the connections that this number of simultaneous requests to a URL's origin would need; over HTTP/2, one is
  /// usually enough. Idle connections count. Returns when the connections are ready, including TCP, proxy and TLS.
  ///
  /// The limits of ``Martlet/ConnectionConfiguration`` apply: no more connections are opened than they allow, and none
  /// is closed to make room. If there are then more idle connections than
  /// ``Martlet/ConnectionConfiguration/idleConnectionLimit``, those that have been idle longest are closed. Unused
  /// connections are closed after ``Martlet/ConnectionConfiguration/idleLifetime``. If the task is cancelled, the
  /// connections are still opened.
  ///
  /// ```swift
  /// let transport = SocketTransport()
  /// try await transport.preconnect(to: URL(string: "https://api.example.com/")!)
  /// let session = HTTPSession(transport: transport)
  /// ```
  ///
  /// - Throws: the error that a request would fail with; ``Martlet/HTTPError/Kind/invalidRequest`` if there is a
  ///   ``Martlet/TLSSettings/serverTrustCheck``, which can be called for requests only.
  public func preconnect(to url: URL, requests: Int = 1) async throws {
    let thread = try thread.get()
    guard let origin = Origin(url) else { throw HTTPRequest(.get, url).noOriginError }
    guard !origin.isSecure || identity.settings.serverTrustCheck == nil else {
      throw HTTPError(
        .invalidRequest, "connections cannot be opened ahead with tls.serverTrustCheck, which is called for requests",
        phase: .preparing)
    }
    let destination = try await destination(at: origin)
    let result = OneShot<Void>()
    thread.jobs.submit { $0.preconnect(destination, for: requests, result) }
    try await result.wait()
  }

  /// Runs tasks on the transport's own thread, for programs that send very many requests one after another. Neither
  /// sending a request nor receiving its response then switches threads, which saves up to a third of the time.
  ///
  /// **All requests of the transport wait while code runs there.** Use it for tasks that only send requests and do
  /// little with the responses. Never use it for long computations, or for code that blocks on files, locks or
  /// semaphores. Process large bodies in tasks without this preference.
  ///
  /// ```swift
  /// let transport = SocketTransport()
  /// let session = HTTPSession(transport: transport)
  /// let url = URL(string: "https://api.example.com/status")!
  /// try await withTaskExecutorPreference(transport.taskExecutor) {
  ///   for _ in 0..<1000 { _ = try await session.data(for: HTTPRequest(.get, url)) }
  /// }
  /// ```
  ///
  /// The executor keeps the transport's thread alive, as an unread body does (SE-0417).
  ///
  /// - Throws: the error that requests fail with while the transport cannot be started.
  public var taskExecutor: any TaskExecutor {
    get throws(HTTPError) { LoopExecutor(try thread.get()) }
  }

  /// Returns, for each origin, the number of its connections and of the requests that use them or wait for them.
  ///
  /// Connections to an HTTP proxy that forwards http requests to any origin count for the proxy's origin.
  /// Origins without connections are forgotten when there are more than 1000.
  public func statistics() async -> [Origin: PoolStatistics] {
    guard let thread = try? thread.get() else { return [:] }
    return await withCheckedContinuation { continuation in
      thread.jobs.submit { continuation.resume(returning: $0.pool.statistics) }
    }
  }
}

@_spi(Transports) extension SocketTransport: DeadlineAware {
  /// True: its waits end at the deadline.
  public var endsAtDeadline: Bool { true }
}

extension SocketTransport {
  /// Sends the request. The body of the response is delivered as it comes over the network.
  private func exchange(_ request: HTTPRequest, in call: Call) async throws -> HTTPResponse {
    let (thread, hop): (LoopThread, NextHop)
    do {
      thread = try self.thread.get()
      let destination =
        if let known = knownDestination(of: request) { known } else {
          try await newDestination(of: request, in: call)
        }
      hop = NextHop(to: destination, for: request, authentications)
    } catch { throw HTTPError(beforeSending: error) }
    while true {
      let (source, stream): (TransferBody, UpgradedStream?)
      do {
        try await hop.proxy?.askForToken(in: call)
        let body =
          request.body.needsOpening ? try await call.withinDeadline { try await request.body.openUnlessEmpty() } : nil
        (source, stream) = try begin(request, to: hop, sending: body, on: thread, in: call)
      } catch { throw HTTPError(beforeSending: error) }
      let head = try await source.head()
      if try hop.proxy?.answers(head) == true, request.body.canBeSent {
        source.cancelUnmeasured()
        call.emit(.note("sent again: the proxy requires authentication (407)"))
      } else {
        return response(to: request, head, from: source, stream)
      }
    }
  }

  private func knownDestination(of request: HTTPRequest) -> Exchange.Destination? {
    request.asksForUpgrade ? nil : lastDestination.destination(of: request.url)
  }

  private func newDestination(of request: HTTPRequest, in call: Call) async throws(HTTPError) -> Exchange.Destination {
    guard let origin = request.origin else { throw request.noOriginError }
    let destination = try await destination(at: origin, for: request, in: call)
    if !request.asksForUpgrade { lastDestination.keep(destination) }
    return destination
  }

  private func response(
    to request: HTTPRequest, _ head: ResponseHead, from source: TransferBody, _ stream: UpgradedStream?
  ) -> HTTPResponse {
    var response = HTTPResponse(to: request, networkHead: head, from: source)
    if request.isUpgraded(by: head) { response.stream = stream }
    return response
  }

  /// Submits the request, whose body is open.
  private func begin(
    _ request: HTTPRequest, to hop: NextHop, sending body: OpenBody?, on thread: LoopThread, in call: Call
  ) throws -> (TransferBody, UpgradedStream?) {
    let destination = hop.destination
    do {
      try Task.checkCancellation()
      let recipient = try hop.proxy?.authorize(request)
      let isWritten = !destination.key.mayMultiplex || thread.servers.choosingHTTP1.contains(destination.origin)
      let head = try HTTP1RequestHead(
        request, to: destination.origin, through: recipient ?? .origin, body: body, isWritten: isWritten)
      let exchange = Exchange(
        request, to: destination, heads: (head, try http2Head(of: request, to: destination, head)), body: body,
        settings: settings(of: request, head, in: call))
      // Before the request is sent, so that the connection is closed if the request ends otherwise.
      let stream = exchange.upgrade.map { UpgradedStream($0, on: thread) }
      thread.start(exchange)  // before the request's body can fail
      let source = TransferBody(
        of: LoopTransferControl(exchange: exchange, jobs: thread.jobs), on: thread, sending: exchange.upload,
        from: body,
        in: call)
      return (source, stream)
    } catch {
      body?.source.cancel()
      throw error
    }
  }

  private func destination(
    at origin: Origin, for request: HTTPRequest? = nil, in call: Call? = nil
  ) async throws(HTTPError) -> Exchange.Destination {
    let route = try proxies.route(to: origin)
    try addressRules.get().check(origin, by: route)
    if origin.isSecure, !identity.asksForOrigins { _ = try await identity.context(in: call) }
    if case .http(_, isTLS: true) = route { _ = try await proxyIdentity.context(in: call) }
    // HTTP/2 has no Upgrade (RFC 9113 §8.6). A WebSocket may still use an existing HTTP/2 connection: see
    // `TransportState.upgradeKey(of:)`.
    let asksForUpgrade = request?.asksForUpgrade ?? false
    let versions = asksForUpgrade && configuration.versions == .automatic ? .http1 : configuration.versions
    // A forwarding proxy does not forward an Upgrade (RFC 9110 §7.8); a CONNECT is for the proxy itself.
    let needsTunnel = asksForUpgrade && request?.method != .connect
    var key = ConnectionKey(to: origin, by: route, versions, identity: identity.number, needsTunnel: needsTunnel)
    key.serviceClass = serviceClass
    guard !asksForUpgrade || key.versions != .http2 || request?.opensWebSocket ?? false else {
      let message = "\(origin.authority): HTTP/2 has no Upgrade and no CONNECT to an origin: "
      throw HTTPError(.invalidRequest, message + "set versions to .automatic or .http1", phase: .preparing)
    }
    return Exchange.Destination(to: origin, key: key, identity: identity)
  }

  private func http2Head(
    of request: HTTPRequest, to destination: Exchange.Destination, _ head: HTTP1RequestHead
  ) throws(HTTPError) -> HTTP2RequestHead? {
    let mayShare = request.opensWebSocket && configuration.versions == .automatic && destination.origin.isSecure
    guard destination.key.mayMultiplex || mayShare else { return nil }
    return try HTTP2RequestHead(request, origin: destination.origin, framing: head.framing)
  }

  private func settings(of request: HTTPRequest, _ head: HTTP1RequestHead, in call: Call) -> Exchange.Settings {
    Exchange.Settings(
      response: request.options.responseTimeout?.nanoseconds, idle: request.options.idleTimeout?.nanoseconds,
      // A timer without an interval would be due again in the same turn, which would never end.
      ping: request.options.pingInterval.map { max($0, .milliseconds(1)).nanoseconds },
      expectation: head.expectsContinue ? (request.options.continueTimeout ?? .seconds(1)).nanoseconds : nil,
      headerBytes: request.options.headLimit, readAhead: configuration.readAhead,
      wholeBody: call.use.isCollected ? Int64(min(1 << 20, configuration.readAhead)) : 0,
      isFirstAttempt: call.currentAttempt <= 1, events: call.events)
  }
}

/// The recipient of one request: its origin, perhaps through a tunnel, or a proxy that forwards it.
private struct NextHop {
  let destination: Exchange.Destination
  /// The proxy that forwards the request; nil if there is none.
  let proxy: ForwardingProxy?

  init(to destination: Exchange.Destination, for request: HTTPRequest, _ authentications: ProxyAuthentications) {
    self.destination = destination
    proxy =
      switch destination.key.end {
      case .proxy(let server): ForwardingProxy(server, to: destination.origin, for: request, authentications)
      case .origin: nil
      }
  }
}
#endif
