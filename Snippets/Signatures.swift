// Requests that are signed for each attempt, and verified as a server would (RFC 9421).

import Martlet
import MartletSignatures
import MartletTesting

/// Verifies a request that a server has received, and its content.
func verify(_ received: ReceivedRequest, at url: URL, by key: SignatureKey) async throws -> String {
  let verifier = SignatureVerifier(requiring: [.method, .targetURI, .field(.contentDigest)], key: key)
  let context = SignatureContext(RequestHead(method: received.method, url: url, fields: received.fields))
  let signature = try await verifier.verify(context)
  let digest = try IntegrityDigest(.sha256, of: received.body)
  guard received.fields.digests(of: .contentDigest) == [digest] else { return "has another content" }
  return "signed by \(signature.input.keyID ?? "")"
}

let server = try LoopbackServer { _ in .text("accepted") }
let url = server.url("/orders?dry=1")
let key = try SignatureKey(secret: Data("0123456789abcdef0123456789abcdef".utf8), id: "shop")

var configuration = SessionConfiguration()
configuration.finalInterceptors = [
  RequestSigner(key, covering: [.method, .targetURI, .field(.contentDigest)], for: .origin(of: url))
]
configuration.options.contentDigest = .sha256
let session = HTTPSession(configuration: configuration)

print(try await session.text(for: HTTPRequest(.post, url, body: .json(["item": 1]))).0)
print(try await verify(server.requests[0], at: url, by: key))

// Prints:
// accepted
// signed by shop
