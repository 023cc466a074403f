import MartletEngine
import MartletSemantics

/// The credentials of `--auth`.
enum CallCredentials: Sendable, Codable, Hashable {
  case basic(user: String, password: String)
  case digest(user: String, password: String)
  case bearer(token: String)

  /// Reads `--auth` and `--auth-type`; nil without them. Asks for a missing password.
  init?(_ arguments: ParsedArguments, for origin: Origin, _ surroundings: Surroundings) throws(UsageError) {
    guard let text = arguments.value(.auth) else {
      if arguments.has(.authType) { throw UsageError("--auth-type needs --auth USER:PASSWORD") }
      return nil
    }
    let type = arguments.value(.authType) ?? "basic"
    if type == "bearer" {
      self = .bearer(token: text)
      return
    }
    let user = String(text.prefix { $0 != ":" })
    let password: String
    if let colon = text.firstIndex(of: ":") {
      password = String(text[text.index(after: colon)...])
    } else {
      guard let answer = surroundings.askPassword("password of \(user) for \(origin): ") else {
        throw UsageError("there is no terminal to ask for the password: write --auth \(user):PASSWORD")
      }
      password = answer
    }
    self = type == "digest" ? .digest(user: user, password: password) : .basic(user: user, password: password)
  }

  /// The value of `Authorization` if it needs no challenge; nil for Digest.
  var authorization: String? {
    switch self {
    case .basic(let user, let password): "Basic " + Data("\(user):\(password)".utf8).base64EncodedString()
    case .digest: nil
    case .bearer(let token): "Bearer " + token
    }
  }

  /// The source of the credentials for an origin. Basic is sent at once, Digest after a challenge.
  func source(for scope: CredentialScope) -> any CredentialSource {
    switch self {
    case .basic(let user, let password):
      PasswordSource(Credential(user: user, password: password), for: scope, offer: .preemptive)
    case .digest(let user, let password):
      DigestOnly(passwords: PasswordSource(Credential(user: user, password: password), for: scope))
    case .bearer(let token): TokenSource(AccessToken(token), for: scope)
    }
  }
}

/// Answers only Digest challenges, so that a server cannot ask for the password itself.
private struct DigestOnly: CredentialSource {
  let passwords: PasswordSource

  var scope: CredentialScope { passwords.scope }

  func authorize(_ request: HTTPRequest, in call: Call) async throws -> HTTPRequest {
    try await passwords.authorize(request, in: call)
  }

  func authenticate(after rejection: Rejection, in call: Call) async throws -> Bool {
    guard rejection.challenges.contains(where: { ASCII.equalIgnoringCase($0.scheme, "digest") }) else {
      call.emit(.note("the server does not offer Digest, so the password is not sent"))
      return false
    }
    return try await passwords.authenticate(after: rejection, in: call)
  }

  func didReceive(_ response: ResponseHead, to request: HTTPRequest, in call: Call) throws {
    try passwords.didReceive(response, to: request, in: call)
  }
}
