import MartletSemantics

/// User information of URLs, `http://user:password@host/`: a credential for the URL's origin, for as long as the exchange
/// lasts, and no part of what is sent (RFC 9110 §4.2.4). It answers a challenge; it is never sent unasked.
struct URLCredentials: Sendable {
  let source: PasswordSource
  private let credentials: ExchangeLocal<[Origin: Credential]>

  init() {
    let credentials = ExchangeLocal<[Origin: Credential]>([:])
    self.credentials = credentials
    source = PasswordSource(ofExchanges: credentials)
  }

  /// Takes the user information off the request's URL and keeps it for the exchange: a redirect that stays on the origin,
  /// or comes back to it, finds it again.
  func take(from request: HTTPRequest, in exchange: Exchange) -> HTTPRequest {
    guard let user = request.url.user(percentEncoded: false),
      var parts = URLComponents(url: request.url, resolvingAgainstBaseURL: true)
    else { return request }
    let password = request.url.password(percentEncoded: false) ?? ""
    parts.percentEncodedUser = nil
    parts.percentEncodedPassword = nil
    guard let url = parts.url, let origin = Origin(url) else { return request }
    if !user.isEmpty || !password.isEmpty {
      exchange[credentials][origin] = Credential(user: user, password: password)
    }
    var request = request
    request.url = url
    return request
  }

  func isEmpty(in exchange: Exchange) -> Bool { exchange[credentials].isEmpty }

  func knows(_ origin: Origin, in exchange: Exchange) -> Bool { exchange[credentials][origin] != nil }
}
