import MartletEngine
import MartletImages
import MartletSemantics
import MartletTesting
import TestSupport
import Testing

@Suite struct SecretValueTests {
  @Test func publicValuesShowNoSecrets() async throws {
    let http = HTTPRequest(.get, secretURL, fields: [.authorization: "hidden"])
    let request = ImageRequest(http)
    let session = HTTPSession(transport: MockTransport { _ in .status(.notFound, fields: [.setCookie: "a=hidden"]) })
    let loader = ImageLoader(session: session)
    let error = await #expect(throws: ImageLoadError.self) { try await loader.image(for: request) }
    let values: [(String, Any)] = [
      ("ImageRequest", request), ("ImageKey", loader.key(for: request)), ("ImageLoader", loader),
      ("ImageLoadError", try #require(error)), ("ImagePrefetcher", ImagePrefetcher(loader: loader)),
    ]
    for (name, value) in values { #expect(!showsSecret(value), "\(name)") }
  }
}
