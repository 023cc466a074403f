#if os(Linux)
@_spi(Toolkit) @_spi(Transports) public import MartletEngine
@_spi(Toolkit) public import MartletSemantics

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
  /// One reference, because every waiting call has a copy of the transport.
  private let parts: Parts

  /// Makes a transport. If the system has no thread or file descriptor for it, requests fail with an error that says
  /// so, and each request tries again to start it.
  ///
  /// - Parameter options: settings that only this transport has.
  public init(_ connection: ConnectionConfiguration = .init(), options: Options = .init()) {
    parts = Parts(connection, options)
  }

  private init(_ parts: Parts) { self.parts = parts }

  /// Returns a transport with other TLS settings for origins, which shares everything else with this one, including the
  /// thread and the limits. Its TLS connections serve no requests of other transports, even if their settings are
  /// equal. They are closed once nothing refers to it or to one of its unread bodies.
  public func with(tls: TLSSettings) -> SocketTransport {
    SocketTransport(Parts(parts, identity: TLSIdentity(tls, beside: identity), serviceClass: parts.serviceClass))
  }

  /// Returns a transport with another service class, which shares everything but connections with this one.
  public func with(serviceClass: ServiceClass?) -> SocketTransport {
    SocketTransport(Parts(parts, identity: identity, serviceClass: serviceClass))
  }

  var thread: LoopStart { parts.thread }

  var identity: TLSIdentity { parts.identity }

  private final class Parts: Sendable {
    let configuration: ConnectionConfiguration
    let thread: LoopStart
    let identity: TLSIdentity
    let serviceClass: ServiceClass?
    let proxies: ProxySettings
    let proxyIdentity: TLSIdentity
    let authentications: ProxyAuthentications
    let addressRules: Result<AddressRules, HTTPError>
    let lastDestination = LastDestination()

    init(_ connection: ConnectionConfiguration, _ options: Options) {
      configuration = connection
      serviceClass = connection.serviceClass
      let (security, authentications) = (ConnectionSecurity(connection), ProxyAuthentications())
      (identity, proxyIdentity) = (security.own, security.ofProxies)
      proxies = ProxySettings(
        options.unixSocket == nil ? connection.proxy : .direct, environment: ProcessInfo.processInfo.environment)
      let addressRules = Result { () throws(HTTPError) in try AddressRules(checking: connection.addressPolicy) }
      (self.authentications, self.addressRules) = (authentications, addressRules)
      thread = LoopStart { () throws(HTTPError) in
        try security.own.readAuthorities()
        return try LoopThread(connection, ConnectionOptions(options, addressRules.get()), security, authentications)
      }
    }

    init(_ other: Parts, identity: TLSIdentity, serviceClass: ServiceClass?) {
      (configuration, thread) = (other.configuration, other.thread)
      (self.identity, self.serviceClass) = (identity, serviceClass)
      (proxies, proxyIdentity, authentications) = (other.proxies, other.proxyIdentity, other.authentications)
      addressRules = other.addressRules
    }
  }

  /// Sends the request. Returns the final response's head; its body is still to be read.
  public func send(_ request: HTTPRequest, in call: Call) async throws -> HTTPResponse {
    let decodes = parts.configuration.decompresses
    let response = try await exchange(decodes ? DecodingTransport.acceptingCodings(request) : request, in: call)
    guard decodes, response.fields.contains(.contentEncoding) else { return response }
    return try DecodingTransport.decoded(response, to: request, in: call)
  }

  /// Opens the connections that this number of simultaneous requests to a URL's origin would need; over HTTP/2, one is
  /// usually enough. Idle connections count. Returns when the connections are ready, including TCP, proxy and TLS.
  ///
  /// The limits of ``Martlet/ConnectionConfiguration`` apply: no more connections are opened than they allow, and none
  /// is closed to make room. If there are then more idle connections than
  /// ``Martlet/ConnectionConfiguration/idleConnectionLimit``, the connections that have been idle longest are closed.
  /// Unused connections are closed after ``Martlet/ConnectionConfiguration/idleLifetime``. If the task is cancelled,
  /// the connections are still opened.
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

extension SocketTransport {
  /// Closes connections that no request uses; see ``Martlet/HTTPSession/closeIdleConnections()`` and
  /// ``Martlet/HTTPSession/drainConnections()``. Transports that were made with ``with(tls:)`` and
  /// ``with(serviceClass:)`` share them. Returns when it is done.
  public func releaseConnections(_ which: ConnectionRelease) async {
    guard let thread = try? thread.get() else { return }
    await withCheckedContinuation { continuation in
      thread.jobs.submit { transport in
        switch which {
        case .idle: transport.pool.closeIdle()
        case .all: transport.drainConnections()
        }
        continuation.resume()
      }
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
    var begun =
      if let begun = try beginImmediately(request, in: call) { begun } else { try await begin(request, in: call) }
    while true {
      let head = try await begun.source.head()
      guard try begun.proxy?.answers(head) == true, request.body.canBeSent else {
        return response(to: request, head, from: begun)
      }
      begun = try await begin(request, insteadOf: begun, in: call)
    }
  }

  /// A request that was submitted.
  private struct Begun {
    let source: ResponseReader
    /// The connection's bytes after an upgrade; nil if the request asks for none.
    let stream: UpgradedStream?
    /// The proxy that forwards the request; nil if there is none.
    let proxy: ForwardingProxy?
  }

  // `@inline(never)`: a call keeps the frame of `exchange` while it waits, and the variables of these functions must
  // not enlarge it.

  /// Submits the request; nil if something has to be awaited before.
  @inline(never)
  private func beginImmediately(_ request: HTTPRequest, in call: Call) throws(HTTPError) -> Begun? {
    guard !request.body.needsOpening, let destination = knownDestination(of: request),
      case .origin = destination.key.end
    else { return nil }
    return try submit(request, to: destination, sending: nil, in: call)
  }

  /// Submits the request after it has found the recipient, asked for the token of a proxy, and opened the body.
  ///
  /// - Parameter refused: the request as it was sent before; the proxy has asked for credentials. nil if it was not.
  @inline(never)
  private func begin(
    _ request: HTTPRequest, insteadOf refused: Begun? = nil, in call: Call
  ) async throws(HTTPError) -> Begun {
    if let refused {
      refused.source.cancelUnmeasured()
      call.emit(.note("sent again: the proxy requires authentication (407)"))
    }
    do {
      let destination = try await destination(of: request, in: call)
      let proxy = refused?.proxy ?? proxy(to: destination, for: request)
      try await proxy?.askForToken(in: call)
      let body =
        request.body.needsOpening ? try await call.withinDeadline { try await request.body.openUnlessEmpty() } : nil
      return try submit(request, to: destination, through: proxy, sending: body, in: call)
    } catch { throw HTTPError(beforeSending: error) }
  }

  /// Returns the proxy that forwards a request; nil if there is none.
  private func proxy(to destination: Exchange.Destination, for request: HTTPRequest) -> ForwardingProxy? {
    guard case .proxy(let server) = destination.key.end else { return nil }
    return ForwardingProxy(server, to: destination.origin, for: request, parts.authentications)
  }

  private func knownDestination(of request: HTTPRequest) -> Exchange.Destination? {
    request.asksForUpgrade ? nil : parts.lastDestination.destination(of: request.url)
  }

  private func destination(of request: HTTPRequest, in call: Call) async throws(HTTPError) -> Exchange.Destination {
    if let known = knownDestination(of: request) { return known }
    guard let origin = request.origin else { throw request.noOriginError }
    let destination = try await destination(at: origin, for: request, in: call)
    if !request.asksForUpgrade { parts.lastDestination.keep(destination) }
    return destination
  }

  @inline(never)
  private func response(to request: HTTPRequest, _ head: ResponseHead, from begun: Begun) -> HTTPResponse {
    var response = HTTPResponse(to: request, networkHead: head, from: begun.source)
    let informational = begun.source.informationalHeads
    if !informational.isEmpty { response.informationalHeads = informational }
    if request.isUpgraded(by: head) { response.stream = begun.stream }
    return response
  }

  /// Submits the request, whose body is open.
  private func submit(
    _ request: HTTPRequest, to destination: Exchange.Destination, through proxy: ForwardingProxy? = nil,
    sending body: OpenBody?, in call: Call
  ) throws(HTTPError) -> Begun {
    do {
      let thread = try thread.get()
      try Task.checkCancellation()
      let recipient = try proxy?.authorize(request)
      let choosesHTTP1 = thread.servers.choosingHTTP1.contains(destination.origin)
      let head = try HTTP1RequestHead(
        request, to: destination.origin, through: recipient ?? .origin, body: body,
        isWritten: !destination.key.mayMultiplex || choosesHTTP1)
      let mayUseHTTP2 = mayUseHTTP2(request, to: destination)
      let http2Head =
        mayUseHTTP2 && !choosesHTTP1
        ? try HTTP2RequestHead(request, origin: destination.origin, framing: head.framing) : nil
      let message = Exchange.Message(request: request, head: head, mayUseHTTP2: mayUseHTTP2, http2Head: http2Head)
      let exchange = Exchange(
        message, body: body, to: destination, settings: settings(of: request, head, in: call), send: thread.command)
      // Before the request is sent, so that the connection is closed if the request ends otherwise.
      let stream = exchange.upgrade.map { UpgradedStream($0, on: thread) }
      thread.start(exchange)  // before the request's body can fail
      let source = ResponseReader(of: exchange, on: thread, sending: body, in: call)
      return Begun(source: source, stream: stream, proxy: proxy)
    } catch {
      body?.source.cancel()
      throw HTTPError(beforeSending: error)
    }
  }

  private func destination(
    at origin: Origin, for request: HTTPRequest? = nil, in call: Call? = nil
  ) async throws(HTTPError) -> Exchange.Destination {
    let route = try parts.proxies.route(to: origin)
    try parts.addressRules.get().check(origin, by: route)
    if origin.isSecure, !identity.asksForOrigins { try await identity.prepare(in: call) }
    if case .http(_, isTLS: true) = route { try await parts.proxyIdentity.prepare(in: call) }
    // HTTP/2 has no Upgrade (RFC 9113 §8.6). A WebSocket may still use an existing HTTP/2 connection: see
    // `TransportCore.upgradeKey(of:)`.
    let asksForUpgrade = request?.asksForUpgrade ?? false
    let versions = asksForUpgrade && parts.configuration.versions == .automatic ? .http1 : parts.configuration.versions
    // A forwarding proxy does not forward an Upgrade (RFC 9110 §7.8); a CONNECT is for the proxy itself.
    let needsTunnel = asksForUpgrade && request?.method != .connect
    var key = ConnectionKey(to: origin, by: route, versions, identity: identity.number, needsTunnel: needsTunnel)
    key.serviceClass = parts.serviceClass
    key.isForUpgrades = asksForUpgrade && key.versions == .http1
    guard !asksForUpgrade || key.versions != .http2 || request?.opensWebSocket ?? false else {
      let message = "\(origin.authority): HTTP/2 has no Upgrade and no CONNECT to an origin: "
      throw HTTPError(.invalidRequest, message + "set versions to .automatic or .http1", phase: .preparing)
    }
    return Exchange.Destination(to: origin, key: key, identity: identity)
  }

  private func mayUseHTTP2(_ request: HTTPRequest, to destination: Exchange.Destination) -> Bool {
    destination.key.mayMultiplex
      || request.opensWebSocket && parts.configuration.versions == .automatic && destination.origin.isSecure
  }

  private func settings(of request: HTTPRequest, _ head: HTTP1RequestHead, in call: Call) -> Exchange.Settings {
    // A body with a maximum rate is not received faster than it is read.
    let readAhead = min(parts.configuration.readAhead, request.options.maximumRate == nil ? .max : 64 << 10)
    // One with a minimum rate is watched while it arrives.
    let isWhole = call.use.collectsBody && request.options.minimumRate == nil
    return Exchange.Settings(
      response: request.options.responseTimeout?.nanoseconds, idle: request.options.idleTimeout?.nanoseconds,
      // A timer without an interval would be due again in the same turn, which would never end.
      ping: request.options.pingInterval.map { max($0, .milliseconds(1)).nanoseconds },
      expectation: head.expectsContinue ? (request.options.continueTimeout ?? .seconds(1)).nanoseconds : nil,
      headerBytes: request.options.headLimit, readAhead: readAhead,
      wholeBody: isWhole ? Int64(min(1 << 20, readAhead)) : 0,
      isFirstAttempt: call.currentAttempt <= 1, needsNewConnection: call.needsNewConnection, events: call.events)
  }
}
#endif
