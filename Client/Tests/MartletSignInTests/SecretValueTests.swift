import MartletEngine
@_spi(Credentials) import MartletSemantics
import MartletTesting
import TestSupport
import Testing

@_spi(Credentials) @testable import MartletSignIn

/// A ``DeviceCode`` is missing here: it is made to be shown.
@Suite struct SecretValueTests {
  private static func values() async throws -> [(name: String, value: Any)] {
    let keys = AWSCredentials(accessKeyID: "AKIDEXAMPLE", secretAccessKey: "hidden", sessionToken: "hidden")
    let store = MemoryCSRFTokenStore()
    try await store.setToken("hidden", for: origin)
    var options = CSRFOptions()
    options.store = store
    let session = HTTPSession(transport: MockTransport { _ in .text("hidden") })
    let client = OAuthClient(
      id: "app", tokenEndpoint: secretURL, authentication: .form(secret: "hidden"), session: session)
    let refusal = TokenRefusal(code: "denied", description: "hidden", uri: "https://a.example/?id=hidden")
    let error = OAuthError(refusal, hiding: ["hidden"])
    return [
      ("AWSCredentials", keys),
      ("AWSSignatureSource", AWSSignatureSource(keys, region: "r", service: "s", for: .any)),
      ("MemoryCSRFTokenStore", store), ("CSRFOptions", options),
      ("CSRFInterceptor of a token URL", CSRFInterceptor(tokenURL: secretURL, options: options)),
      ("CSRFInterceptor of a root", CSRFInterceptor(root: secretURL, options: options)),
      ("LoginInterceptor", LoginInterceptor(isChallenge: { _, _ in false }, login: { _ in })),
      ("OAuthClient", client), ("OAuthClient.Authentication", client.authentication),
      ("ClientAssertion", ClientAssertion { _, _ in "hidden" }),
      (
        "OAuthClient.Authentication.assertion",
        OAuthClient.Authentication.assertion(ClientAssertion { _, _ in "hidden" })
      ),
      ("OAuthLogin.browser", OAuthLogin.browser(secretURL) { _ in }),
      ("OAuthLogin.device", OAuthLogin.device(secretURL) { _ in }),
      ("TokenSource", client.tokens(for: .any, by: .clientCredentials())),
      ("OAuthError", error), ("HTTPError", HTTPError(error)),
    ]
  }

  @Test func publicValuesShowNoSecrets() async throws {
    for (name, value) in try await Self.values() { #expect(!showsSecret(value), "\(name)") }
  }
}
