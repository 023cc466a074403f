#if os(Linux)
import MartletEngine
import MartletSemantics

/// What a connection has to have in common with a request that uses it. Everything else is the same for all connections
/// of a transport.
struct ConnectionKey: PoolKey {
  let origin: Origin
  /// The versions of HTTP that the connection may speak.
  let versions: Versions

  enum Versions: Hashable, Sendable {
    case http1
    /// What the server chooses in the TLS handshake.
    case negotiated
    /// HTTP/2, whatever the server says.
    case http2
  }

  init(_ origin: Origin, _ versions: ConnectionConfiguration.Versions) {
    self.origin = origin
    self.versions =
      switch versions {
      case .automatic: origin.isSecure ? .negotiated : .http1
      case .http1: .http1
      case .http2PriorKnowledge: .http2
      }
  }

  var host: String { "\(origin.host):\(origin.port)" }

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
