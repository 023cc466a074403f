import Martlet

/// An authenticator as the engine knows it: a source of credentials.
struct AuthenticatorSource: CredentialSource {
  let scope: CredentialScope
  let authenticator: @Sendable () -> (any Authenticator)?
  let stepAside: StepAside
  /// What is renewed is the outcome of an authentication. A failed one is an outcome too: those who waited for it hear of
  /// it, and the next 401 is a reason for another.
  private let renewal: Renewal<Result<Void, any Error>>
  private let progress = ExchangeLocal(Progress())

  private struct Progress: Sendable {
    /// The authentication after which the last attempt was authorized.
    var number: Int?
    var hasAuthenticated = false
  }

  init(scope: CredentialScope, authenticator: @escaping @Sendable () -> (any Authenticator)?) {
    self.scope = scope
    self.authenticator = authenticator
    stepAside = StepAside()
    renewal = Renewal(.success(()), stepAside)
  }

  func authorize(_ request: HTTPRequest, in exchange: Exchange) async throws -> HTTPRequest {
    guard !stepAside.isActive, let authenticator = authenticator() else { return request }
    exchange[progress].number = try await renewal.value(where: { _ in true }, renew: authenticate)?.number
    return try await authenticator.authorize(request: request)
  }

  func authenticate(after rejection: Rejection, in exchange: Exchange) async throws -> Bool {
    let progress = exchange[progress]
    guard !stepAside.isActive, authenticator() != nil, !progress.hasAuthenticated else { return false }
    exchange[self.progress].hasAuthenticated = true
    let outcome = try await renewal.value(insteadOf: { $0.number == progress.number }, renew: authenticate)
    do {
      try outcome?.value.get()
      return outcome != nil
    } catch NetworkError.unauthenticated {
      exchange.emit(.note("the authenticator has no credentials; the 401 stands"))
      return false
    } catch {
      throw HTTPError(credentialsFailed: "the authenticator failed", with: error)
    }
  }

  private func authenticate(_: Result<Void, any Error>?) async -> Result<Void, any Error>? {
    do {
      try await authenticator()?.authenticate()
      return .success(())
    } catch {
      return .failure(error)
    }
  }
}
