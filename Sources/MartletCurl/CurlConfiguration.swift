#if os(Linux)
package import MartletEngine
import MartletSemantics

/// How a ``CurlTransport`` connects. Copied when the transport is made.
public struct CurlConfiguration: Sendable {
  /// Trust, versions and identity for https; see ``TLSSettings``. Verification is always on.
  public var tls = TLSSettings()
  /// Which proxy to use; by default the one that the environment names (`https_proxy`, `http_proxy`, `no_proxy`).
  public var proxy = Proxy.environment
  /// Which versions of HTTP to speak; by default HTTP/2 where the server agrees to it over TLS, HTTP/1.1 otherwise.
  public var versions = Versions.automatic
  /// The longest time for a connection to come about: name, TCP, proxy and TLS. nil leaves it to
  /// ``RequestOptions/responseTimeout``. 30 seconds by default.
  public var connectTimeout: Duration? = .seconds(30)
  /// The most connections to one host; further requests wait in line. 0 means no limit. 64 by default.
  public var connectionsPerHost = 64
  /// The most connections in all; further requests wait in line. 0 means no limit, the default.
  public var connections = 0
  /// How many idle connections are kept open for reuse. 128 by default.
  public var idleConnections = 128
  /// How long an idle connection may be reused, in whole seconds; less than one means not at all. 60 seconds by default, below
  /// the usual limits of servers.
  public var idleLifetime = Duration.seconds(60)
  /// Whether bodies are asked for compressed (gzip, deflate, br, zstd) and delivered decoded; see ``DecodingTransport``. On by
  /// default. A request with its own `Accept-Encoding` or with a `Range` gets its body as it was sent.
  public var decompresses = true
  /// How many bytes of a response's body may wait for a slow reader before the sender has to wait. 1 MiB by default.
  public var readAhead = 1 << 20

  /// The hosts that get the user's own ticket (Negotiate by way of GSS-API, Kerberos most of the time, RFC 4559), and no
  /// others: `intranet.example.com` is that host, `.example.com` every host below that name. None by default.
  ///
  /// Run `kinit` before. A request with an `Authorization` of its own is left alone. Where libcurl was built without GSS-API,
  /// a request to such a host is an error of kind ``HTTPError/Kind/authenticationFailed``. All other schemes are the
  /// session's: ``SessionConfiguration/credentials``.
  public var negotiatingHosts: Set<String> = []

  /// Whether libcurl's easy handles are used for more than one request; nil, the default, leaves it to the version of libcurl,
  /// because a hostile server can stop the process where a version before 8.1.0 does. For measurements and tests only.
  @_spi(Measuring) public var reusesHandles: Bool?

  /// Makes the default configuration.
  public init() {}

  package func negotiates(for request: HTTPRequest) -> Bool {
    guard !negotiatingHosts.isEmpty, !request.fields.contains(.authorization), let host = Origin(request.url)?.host
    else {
      return false
    }
    return negotiatingHosts.contains { name in
      let isDomain = name.hasPrefix(".")
      guard let domain = CookieHost.canonical(isDomain ? name.dropFirst() : name[...]) else { return false }
      return isDomain ? host.hasSuffix("." + domain) : host == domain
    }
  }

  /// Which versions of HTTP to speak.
  public enum Versions: Sendable, Hashable {
    /// HTTP/2 over TLS where the server agrees, else HTTP/1.1.
    case automatic
    /// HTTP/1.1 only.
    case http1
    /// HTTP/2 also over plain TCP, without asking: for servers known to speak it. libcurl before 8.1.0 cannot use such a
    /// connection twice, so that over plain TCP every request gets one of its own there.
    case http2PriorKnowledge
  }
}
#endif
