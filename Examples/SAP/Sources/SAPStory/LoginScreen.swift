import Foundation
import SAPFoundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Represents the screen on which the user signs in.
final class LoginScreen: BasicCredentialDiscovery {
  private let credential: BasicCredential
  private let say: @Sendable (String) -> Void

  init(_ credential: BasicCredential, say: @escaping @Sendable (String) -> Void) {
    self.credential = credential
    self.say = say
  }

  func provideBasicCredential(
    for url: URL, challenge: URLAuthenticationChallenge,
    completionHandler: @escaping @Sendable (BasicCredential?, (any Error)?) -> Void
  ) {
    say("The service '\(challenge.protectionSpace.realm ?? "")' asks who that is; \(credential.username) signs in.")
    completionHandler(credential, nil)
  }
}
