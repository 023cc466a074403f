import MartletEngine
import MartletSemantics
import MartletSignIn
import TestSupport
import Testing

@testable import MartletSignatures

/// No value of the module shows a key or a secret.
@Suite struct SecretValueTests {
  @Test func keysAndBindingsShowNoSecrets() throws {
    let secret = try SignatureKey(secret: Data("hidden-hidden-hidden".utf8))
    let key = try SignatureKey(jwk: Data(TokenVectors.p256.utf8))
    let values: [(String, Any)] = [
      ("a secret", secret), ("a key", key), ("DPoP", try DPoP(key)),
      ("an assertion", OAuthClient.Authentication.privateKeyJWT(secret)),
      ("a signer", RequestSigner(secret, covering: [.method], for: .any)),
      ("an answering signer", AnsweringSigner(key, for: .any) { _ in true }),
    ]
    for (name, value) in values {
      #expect(!showsSecret(value), "\(name)")
      #expect(!shown(value).contains("jpsQ"), "\(name)")
    }
  }
}
