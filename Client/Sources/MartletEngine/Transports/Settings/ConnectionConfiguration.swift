public import MartletSemantics

/// How a transport connects: TLS, proxy, versions of HTTP, limits. Copied when the transport is made.
///
/// It does not depend on the transport: the platform's default transport takes it (`HTTPSession(connection:)`,
/// `DefaultTransport`), and each transport documents the settings that it does not support.
///
/// ```swift
/// var connection = ConnectionConfiguration()
/// connection.tls.additionalAuthorities = URL(filePath: "/etc/ssl/company.pem")
/// let session = HTTPSession(connection: connection)
/// ```
public struct ConnectionConfiguration: Sendable {
  /// Trust, versions and client certificate for https; see ``TLSSettings``. Verification is always on.
  public var tls = TLSSettings()
  /// The proxy to use; by default that of the environment (`https_proxy`, `http_proxy`, `no_proxy`).
  public var proxy = Proxy.environment
  /// The versions of HTTP to use; by default HTTP/2 if the server agrees to it over TLS, HTTP/1.1 otherwise.
  public var versions = Versions.automatic
  /// The maximum time for establishing a connection: name lookup, TCP, proxy and TLS. nil means that only
  /// ``RequestOptions/responseTimeout`` limits it. 30 seconds by default.
  public var connectTimeout: Duration? = .seconds(30)
  /// The maximum time a request waits for a connection while all that ``connectionLimitPerHost``,
  /// ``webSocketLimitPerHost`` and ``connectionLimit`` allow are in use; then it fails with
  /// ``HTTPError/Kind/poolTimeout``. nil, the default, means that only ``RequestOptions/responseTimeout`` limits it.
  /// `URLSessionTransport` does not support it.
  public var poolTimeout: Duration?
  /// The maximum number of connections to one host, not counting WebSockets; further requests wait in a queue. Values
  /// below 1 count as 1; nil means no limit. 64 by default.
  public var connectionLimitPerHost: Int? = 64
  /// The maximum number of WebSockets to one host that have a connection of their own; further ones wait in a queue.
  /// Values below 1 count as 1; nil means no limit. 200 by default.
  ///
  /// It also limits other requests that ask to change the protocol (`Upgrade`, `CONNECT`), from their beginning. A
  /// WebSocket that shares a connection over HTTP/2 does not count. There, WebSockets get at most half of the streams
  /// that the server allows on a connection, and further ones get connections of their own. `URLSessionTransport`
  /// opens no WebSockets.
  public var webSocketLimitPerHost: Int? = 200
  /// The maximum number of connections in all, including WebSockets; further requests wait in a queue. Values below 1
  /// count as 1; nil, the default, means no limit.
  public var connectionLimit: Int?
  /// The maximum number of idle connections that are kept open for reuse. 128 by default.
  public var idleConnectionLimit = 128
  /// How long an idle connection may be reused, in whole seconds; with less than one second, connections are not
  /// reused. 60 seconds by default. Over sockets, a server may announce a shorter time (`Keep-Alive: timeout=5`); its
  /// connections then use that time, less a second in which a request may be in transit.
  ///
  /// Some servers close idle connections earlier, and most of these do not announce it: gunicorn after 2 seconds,
  /// uvicorn and Node.js after 5, Tomcat after 20, an AWS load balancer after 60. A request that is sent at that moment
  /// gets no response. The transport sends it again at once if it may be repeated. A POST may not: it fails with
  /// ``HTTPError/Kind/connectionLost``, and ``HTTPError/delivery`` says that the connection was stale. For such a
  /// server, set a time below its own, or give requests that may be repeated an `Idempotency-Key`.
  public var idleLifetime = Duration.seconds(60)
  /// How old a connection may be when a request begins to use it. Each connection gets up to a tenth more or less, so
  /// that connections that were opened together are not replaced together. nil, the default, means no limit. Any
  /// connection may be used at least once.
  ///
  /// A connection that reaches this age gets no further requests, and is closed when its last request has ended; over
  /// HTTP/2, its streams end in peace. The next request opens another connection, and looks the name up again, so that
  /// it finds a server that a name service or a load balancer has moved. The request reports an ``Event/note(_:)``. No
  /// request, event stream or WebSocket is ended. `SocketTransport`, the default on Linux, supports it;
  /// `URLSessionTransport` ignores it.
  public var connectionLifetime: Duration?
  /// Whether compressed bodies are requested (gzip, deflate, br, zstd) and delivered decoded; see
  /// ``DecodingTransport``. True by default. If a request has its own `Accept-Encoding` or a `Range`, its body is
  /// delivered as it was sent.
  public var decompresses = true
  /// The maximum number of bytes of a response's body that are buffered for a slow reader before the sender is paused.
  /// 2 MiB by default. Over HTTP/2 it is also the window of each stream (RFC 9113 §6.9), from 16 KiB to 2 GiB: that
  /// many bytes may be in transit when the sender is paused. A small window slows down a fast, distant server.
  public var readAhead = 1 << 21
  /// Which servers may be connected to; all by default. Set ``AddressPolicy/publicAddresses`` in a service that fetches
  /// URLs from untrusted users.
  ///
  /// It applies to every request of a session, including targets of redirects, and checks the address that the
  /// connection actually uses. A refused request fails with ``HTTPError/Kind/addressRefused``. `SocketTransport`, the
  /// default on Linux, supports it. Over `URLSessionTransport`, which chooses the address itself, every request fails
  /// with ``HTTPError/Kind/invalidRequest``.
  public var addressPolicy = AddressPolicy.any
  /// How networks treat the packets of the connections, those to proxies included. nil, the default, leaves it to the
  /// system.
  ///
  /// A connection has one class. If the system refuses it, the requests of the connection go on without it, and the
  /// first one reports an ``Event/note(_:)``. `SocketTransport`, the default on Linux, supports it over TCP; Unix
  /// sockets have no packets. `URLSessionTransport` ignores it.
  public var serviceClass: ServiceClass?

  /// Makes the default configuration.
  public init() {}

  /// The versions of HTTP that a transport may use.
  @nonexhaustive public enum Versions: Sendable, Hashable {
    /// HTTP/2 over TLS if the server agrees, otherwise HTTP/1.1.
    case automatic
    /// HTTP/1.1 only.
    case http1
    /// HTTP/2, even over plain TCP, without negotiation: for servers that are known to support it.
    case http2PriorKnowledge
  }

  /// A setting, by the name that users write.
  @_spi(Transports) public enum Setting: String, Sendable, CaseIterable {
    case authorities = "tls.authorities"
    case additionalAuthorities = "tls.additionalAuthorities"
    case minimumVersion = "tls.minimumVersion"
    case pinnedPublicKeys = "tls.pinnedPublicKeys"
    case clientCertificate = "tls.clientCertificate"
    case serverTrustCheck = "tls.serverTrustCheck"
    case originSettings = "tls.originSettings"
    case keyLog = "tls.keyLog"
    case proxy, versions, connectTimeout, poolTimeout, connectionLimitPerHost, webSocketLimitPerHost, connectionLimit,
      idleConnectionLimit, idleLifetime, connectionLifetime
    case decompresses, readAhead, addressPolicy, serviceClass
  }

  /// The settings that differ from the default, for a transport that does not support all of them.
  @_spi(Transports) public var changedSettings: [Setting] {
    let unchanged = ConnectionConfiguration()
    return Setting.allCases.filter { setting in
      switch setting {
      case .authorities: tls.authorities != nil
      case .additionalAuthorities: tls.additionalAuthorities != nil
      case .minimumVersion: tls.minimumVersion != unchanged.tls.minimumVersion
      case .pinnedPublicKeys: !tls.pinnedPublicKeys.isEmpty
      case .clientCertificate: tls.clientCertificate != nil
      case .serverTrustCheck: tls.serverTrustCheck != nil
      case .originSettings: tls.originSettings != nil
      case .keyLog: tls.keyLog != nil
      case .proxy: !proxy.isEnvironment
      case .versions: versions != unchanged.versions
      case .connectTimeout: connectTimeout != unchanged.connectTimeout
      case .poolTimeout: poolTimeout != nil
      case .connectionLimitPerHost: connectionLimitPerHost != unchanged.connectionLimitPerHost
      case .webSocketLimitPerHost: webSocketLimitPerHost != unchanged.webSocketLimitPerHost
      case .connectionLimit: connectionLimit != unchanged.connectionLimit
      case .idleConnectionLimit: idleConnectionLimit != unchanged.idleConnectionLimit
      case .idleLifetime: idleLifetime != unchanged.idleLifetime
      case .connectionLifetime: connectionLifetime != nil
      case .decompresses: !decompresses
      case .readAhead: readAhead != unchanged.readAhead
      case .addressPolicy: addressPolicy != unchanged.addressPolicy
      case .serviceClass: serviceClass != nil
      }
    }
  }
}
