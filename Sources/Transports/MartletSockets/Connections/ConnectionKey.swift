#if os(Linux)
import MartletEngine
import MartletSemantics

/// The properties that a connection must share with a request that uses it. Everything else is the same for all
/// connections of a transport.
struct ConnectionKey: PoolKey {
  /// The origin that the connection leads to; nil for a connection to a proxy that forwards http requests to any
  /// origin.
  let origin: Origin?
  let route: ProxyRoute
  /// The versions of HTTP that the connection may speak.
  var versions: Versions
  /// The number of the ``TLSIdentity`` that it is made with; 0 without TLS to the origin.
  let identity: Int
  /// How networks treat its packets; nil to leave that to the system.
  var serviceClass: ServiceClass?

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
    guard needsTunnel || !route.sendsToProxy(for: origin) else {
      self.origin = nil
      self.versions = .http1
      return
    }
    self.origin = origin
    self.versions =
      switch versions {
      case .automatic: origin.isSecure ? .negotiated : .http1
      case .http1: .http1
      case .http2PriorKnowledge: .http2
      }
  }

  /// Host and port of the origin, or of the proxy if there is no origin.
  var host: String { origin.map { "\($0.host):\($0.port)" } ?? route.server.map { "\($0.host):\($0.port)" } ?? "" }

  /// The host and port, for messages: of the origin, or of a proxy that forwards requests.
  var peer: String { origin?.authority ?? host }

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
