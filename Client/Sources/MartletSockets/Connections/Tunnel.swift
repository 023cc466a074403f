#if os(Linux)
import MartletEngine
@_spi(Toolkit) import MartletSemantics

/// The handshake with a proxy that connects to an origin: CONNECT or SOCKS5.
enum Tunnel {
  case connect(ConnectHandshake, ProxyServer)
  case socks5(SOCKS5Handshake)

  /// Prepares the handshake of a route; nil if the route needs none.
  ///
  /// - Parameters:
  ///   - addresses: the origin's addresses, if the client resolves names.
  ///   - userAgent: the `User-Agent` of the request that the tunnel is opened for; nil for none.
  init?(
    to origin: Origin?, by route: ProxyRoute, at addresses: [IPAddress], userAgent: @autoclosure () -> String?
  ) throws(HTTPError) {
    guard let origin else { return nil }
    switch route {
    case .direct: return nil
    case .http(let server, _):
      self = .connect(ConnectHandshake(to: origin, through: server, userAgent: userAgent()), server)
    case .socks5(let server, _): self = .socks5(try SOCKS5Handshake(to: origin, at: addresses, through: server))
    }
  }

  /// The proxy, and the source of the token that the first bytes need; nil if they need none.
  func neededTokens(_ authentications: ProxyAuthentications) throws(HTTPError) -> (ProxyServer, any ProxyTokens)? {
    guard case .connect(_, let server) = self else { return nil }
    return try authentications.use(server) { authentication in authentication.neededTokens.map { (server, $0) } }
  }

  /// Returns the first bytes to send.
  ///
  /// - Parameter token: the token from the source that ``neededTokens(_:)`` returned; nil if it returned none.
  mutating func begin(_ authentications: ProxyAuthentications, token: String?) throws(HTTPError) -> [UInt8] {
    switch self {
    case .socks5(let handshake): return handshake.greeting
    case .connect(var handshake, let server):
      let bytes = try authentications.use(server) { authentication throws(HTTPError) in
        try handshake.request(&authentication, token: token)
      }
      self = .connect(handshake, server)
      return bytes
    }
  }

  /// Processes bytes from the proxy.
  mutating func receive(
    _ input: UnsafeRawBufferPointer, from position: inout Int, _ authentications: ProxyAuthentications
  ) throws(HTTPError) -> ProxyStep {
    switch self {
    case .socks5(var handshake):
      let step = try handshake.receive(input.bytes, from: &position)
      self = .socks5(handshake)
      return step
    case .connect(var handshake, let server):
      let step = try authentications.use(server) { authentication throws(HTTPError) in
        try handshake.receive(input.bytes, from: &position, &authentication)
      }
      self = .connect(handshake, server)
      return step
    }
  }

  /// The error of a proxy that has refused the tunnel but has not yet sent its whole response; nil if there is none.
  var refusal: HTTPError? { if case .connect(let handshake, _) = self { handshake.refusal } else { nil } }

  /// Processes the end of the connection to the proxy.
  mutating func receiveEnd() throws(HTTPError) -> ProxyStep {
    switch self {
    case .connect(var handshake, let server):
      let step = try handshake.receiveEnd()
      self = .connect(handshake, server)
      return step
    case .socks5(let handshake): throw handshake.cutOff
    }
  }
}
#endif
