#if os(Linux)
import MartletEngine
@_spi(Toolkit) import MartletSemantics

/// The properties that a connection must share with a request that uses it. Everything else is the same for all
/// connections of a transport.
struct ConnectionKey: PoolKey {
  let end: End
  let route: ProxyRoute
  /// The versions of HTTP that the connection may speak.
  var versions: Versions
  /// The number of the ``TLSIdentity`` that it is made with; 0 without TLS to the origin.
  let identity: Int
  /// Whether its requests change the protocol; see ``PoolKey``. Over HTTP/2, a WebSocket is a stream beside the streams
  /// of other requests.
  var isForUpgrades = false
  /// How networks treat its packets; nil to leave that to the system.
  var serviceClass: ServiceClass?

  /// Where the requests of the connection go.
  enum End: Hashable, Sendable {
    case origin(Origin)
    /// A proxy, which forwards http requests to any origin.
    case proxy(ProxyServer)
  }

  enum Versions: Hashable, Sendable {
    case http1
    /// The version that the server chooses in the TLS handshake.
    case negotiated
    /// HTTP/2, whatever the server says.
    case http2
  }

  /// - Parameters:
  ///   - identity: the number of the identity for TLS.
  ///   - needsTunnel: whether a proxy has to connect even to an http origin, because the bytes after the request are
  ///     not HTTP.
  init(
    to origin: Origin, by route: ProxyRoute, _ versions: ConnectionConfiguration.Versions, identity: Int,
    needsTunnel: Bool = false
  ) {
    self.route = route
    self.identity = origin.isSecure ? identity : 0
    if !needsTunnel, let proxy = route.forwarder(for: origin) {
      end = .proxy(proxy)
      self.versions = .http1
      return
    }
    end = .origin(origin)
    self.versions =
      switch versions {
      case .automatic: origin.isSecure ? .negotiated : .http1
      case .http1: .http1
      case .http2PriorKnowledge: .http2
      }
  }

  /// The origin of all requests; nil if a proxy forwards them to any origin.
  var origin: Origin? { if case .origin(let origin) = end { origin } else { nil } }

  /// The host and port of the end.
  var host: String {
    switch end {
    case .origin(let origin): "\(origin.host):\(origin.port)"
    case .proxy(let proxy): "\(proxy.host):\(proxy.port)"
    }
  }

  /// The host and port of the end, for messages.
  var peer: String { origin?.authority ?? host }

  /// The host and port to which the socket is connected: the proxy's, or the origin's if there is no proxy.
  var firstHop: (host: String, port: Int) {
    switch (end, route.server) {
    case (.proxy(let proxy), _), (.origin, let proxy?): (proxy.host, proxy.port)
    case (.origin(let origin), nil): (origin.host, origin.port)
    }
  }

  var mayMultiplex: Bool { versions != .http1 }

  /// The protocols that are offered in the TLS handshake (RFC 7301).
  var protocols: [String] {
    switch versions {
    case .http1: ["http/1.1"]
    case .negotiated: ["h2", "http/1.1"]
    case .http2: ["h2"]
    }
  }
}
#endif
