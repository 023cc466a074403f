#if os(Linux)
@_spi(Transports) public import MartletEngine
public import MartletSemantics

/// A transport over the system's sockets, OpenSSL and nghttp2: HTTP/1.1 and HTTP/2 with multiplexing, TLS, proxies, and
/// streaming in both directions with backpressure. A ``Martlet/DecodingTransport`` around it decodes content codings.
///
/// One thread runs all requests of a transport, which share connections. Full TLS handshakes compute on a few threads
/// that all transports share, so that no other request waits for them. When the last reference to the transport and to
/// its unread bodies is released, its connections are closed and its thread ends. A process that forks must call `exec`
/// in the child: the thread does not exist there.
///
/// Responses have to conform to RFC 9112 and RFC 9113; others fail with ``Martlet/HTTPError/Kind/protocolViolation``. A
/// response is complete only if its framing says so: by its length, its last chunk, END_STREAM, or, if the end of the
/// connection ends it, TLS's `close_notify`. An idle HTTP/1.1 connection that receives anything is closed and not used
/// again; the transport checks for such bytes once more before each request. A server may send unrequested bytes that
/// arrive only after the next request was sent. Over HTTP/1.1, no client can tell them from the response to that
/// request, because HTTP/1.1 responses have no numbers; those of HTTP/2 do.
///
/// Without file descriptors for more connections, requests wait for existing connections of the transport, as at the
/// limit ``Martlet/ConnectionConfiguration/connections``. If the transport has no connection, its request fails.
///
/// Over HTTP/2, white space around the value of a field is removed, as over HTTP/1.1. RFC 9113 §8.2.1 calls such a
/// response malformed, but servers send them. The transport closes connections that a server floods with useless
/// frames, or with TLS records without data.
///
/// If a pooled connection turns out to be closed, the request is sent again at once if it may be repeated and
/// ``Martlet/RetryPolicy/replacesStaleConnections`` is set, and listeners get an ``Martlet/Event/note(_:)``. A request
/// that may not be repeated fails, and the error's ``Martlet/HTTPError/delivery`` says why. If nothing of a request was
/// sent, it goes over another connection.
///
/// Negotiate is in the product `MartletKerberos`: a source of credentials for origins, tokens for proxies
/// (``Martlet/Proxy/authenticated(by:)``).
public struct SocketTransport: Transport {
  let raw: RawSocketTransport
  private let transport: any Transport

  /// Makes a transport. While the system has no thread or file descriptor for it, requests fail with an error that says
  /// so, and each tries to start it again.
  ///
  /// - Parameter options: settings that only this transport has.
  public init(_ connection: ConnectionConfiguration = .init(), options: Options = .init()) {
    self.init(RawSocketTransport(connection, options))
  }

  private init(_ raw: RawSocketTransport) {
    self.raw = raw
    transport = raw.configuration.decompresses ? DecodingTransport(raw) : raw
  }

  /// Returns a transport with other settings of TLS for origins, which shares the thread, the limits and everything
  /// else with this one. Its connections over TLS serve no requests of other transports, not even of one with equal
  /// settings. They are closed when the last reference to it and to its unread bodies is released.
  package func with(tls: TLSSettings) -> SocketTransport { SocketTransport(raw.with(tls: tls)) }

  /// Returns a transport with another service class, which shares everything but connections with this one.
  package func with(serviceClass: ServiceClass?) -> SocketTransport {
    SocketTransport(raw.with(serviceClass: serviceClass))
  }

  /// Sends the request. Returns the final response's head; its body is still to be read.
  public func send(_ request: HTTPRequest, in call: Call) async throws -> HTTPResponse {
    try await transport.send(request, in: call)
  }

  /// Opens as many connections to a URL's origin as this number of simultaneous requests would need; over HTTP/2, one.
  /// Idle connections count. Returns when the connections are ready, including TCP, proxy and TLS.
  ///
  /// The limits of ``Martlet/ConnectionConfiguration`` apply: no more connections are opened than they allow, and none
  /// is closed to make room. If there are then more idle connections than
  /// ``Martlet/ConnectionConfiguration/idleConnections``, those that have been idle longest are closed. Unused
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
    try await raw.preconnect(to: url, requests: requests)
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
  /// The executor keeps the transport's thread, like an unread body (SE-0417).
  ///
  /// - Throws: the error that requests fail with while the transport cannot be started.
  public var taskExecutor: any TaskExecutor {
    get throws(HTTPError) { LoopExecutor(try raw.thread.get()) }
  }

  /// Returns, for each origin, the number of its connections and of the requests that use them or wait for them.
  ///
  /// Connections to an HTTP proxy that forwards http requests to any origin count for the proxy's origin.
  /// Origins without connections are forgotten when there are more than 1000.
  public func statistics() async -> [Origin: PoolStatistics] { await raw.statistics() }
}

@_spi(Transports) extension SocketTransport: DeadlineAware {}

#endif
