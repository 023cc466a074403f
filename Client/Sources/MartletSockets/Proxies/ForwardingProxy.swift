#if os(Linux)
@_spi(Transports) import MartletEngine
@_spi(Credentials) import MartletSemantics

/// The authentication of one request to a proxy that forwards it, with the absolute URL as its target (RFC 9112
/// §3.2.2).
final class ForwardingProxy {
  private let server: ProxyServer
  private let origin: Origin
  private let authentications: ProxyAuthentications
  /// Whether the caller set `Proxy-Authorization` itself.
  private let isForeign: Bool
  private var progress = ProxyAuthentication.Progress()
  /// The token for the next time the request is sent.
  private var token: String?

  init(_ server: ProxyServer, to origin: Origin, for request: HTTPRequest, _ authentications: ProxyAuthentications) {
    self.server = server
    self.authentications = authentications
    self.origin = origin
    isForeign = request.fields.contains(.proxyAuthorization)
  }

  /// Asks the caller for the token that the request needs when it is sent next.
  func askForToken(in call: Call) async throws {
    let tokens = try authentications.use(server) { $0.neededTokens }
    guard !isForeign, let tokens else { return }
    token = try await call.withinDeadline { [server, origin] in try await server.token(by: tokens, for: origin) }
  }

  /// Returns the proxy as the recipient the next time the request is sent.
  func authorize(_ request: HTTPRequest) throws(HTTPError) -> HTTP1RequestHead.Recipient {
    guard !isForeign else { return .proxy(authorization: nil) }
    var target: [UInt8] = []
    try RequestTarget(of: request, to: origin, isAbsolute: true).append(to: &target)
    let text = String(decoding: target, as: UTF8.self)
    var progress = progress
    let authorization = try authentications.use(server) { authentication throws(HTTPError) in
      do throws(CredentialError) {
        return try authentication.authorization(for: (request.method, text), &progress, token: token.take())
      } catch {
        throw server.error(error.description, .authenticationFailed, for: origin, phase: .preparing)
      }
    }
    self.progress = progress
    return .proxy(authorization: authorization)
  }

  /// Processes the head of a response. Returns whether to send the request again, with the answer to a challenge.
  @inline(never)  // Its variables would take space in the frame of every call that waits for a head.
  func answers(_ head: ResponseHead) throws(HTTPError) -> Bool {
    guard !isForeign else { return false }
    var progress = progress
    let isAnswered = try authentications.use(server) { authentication throws(HTTPError) in
      guard head.status.code == 407 else {
        authentication.accepted(head.fields, progress)
        return false
      }
      return authentication.answers(head.fields, &progress)
    }
    self.progress = progress
    return isAnswered
  }
}
#endif
