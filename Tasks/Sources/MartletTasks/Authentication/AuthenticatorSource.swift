@_spi(Credentials) import MartletEngine
import Martlet

/// Adapts an authenticator to the engine's ``CredentialSource``.
struct AuthenticatorSource: CredentialSource {
  let scope: CredentialScope
  let authenticator: @Sendable () -> (any Authenticator)?
  /// The renewed value is the outcome of an authentication. A failure is an outcome too: its waiters receive it, and
  /// the next 401 causes another authentication.
  private let renewal: Renewal<Result<Void, any Error>>
  private let states = CallLocal(CallState())

  private struct CallState: Sendable {
    /// The number of the latest authentication when the last attempt was authorized.
    var number: Int?
    var hasAuthenticated = false
  }

  init(scope: CredentialScope, authenticator: @escaping @Sendable () -> (any Authenticator)?) {
    self.scope = scope
    self.authenticator = authenticator
    renewal = Renewal(.success(()), of: "the authenticator")
  }

  func authorize(_ request: HTTPRequest, in call: Call) async throws -> HTTPRequest {
    guard let authenticator = authenticator() else { return request }
    let outcome = try await renewal.value(where: { _ in true }, by: call, renew: authenticate)
    guard let version = outcome.version else { return request }  // the authenticator's own
    call[states].number = version.number
    return try await authenticator.authorize(request: request)
  }

  func authenticate(after rejection: Rejection, in call: Call) async throws -> Bool {
    let state = call[states]
    guard authenticator() != nil, !state.hasAuthenticated else { return false }
    call[states].hasAuthenticated = true
    let outcome = try await renewal.value(
      insteadOf: { $0.number == state.number }, by: call, renew: authenticate)
    do {
      try outcome.version?.value.get()
      return outcome.version != nil
    } catch NetworkError.unauthenticated {
      call.emit(.note("the authenticator has no credentials; the 401 stands"))
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
