import Foundation
import Martlet
import MartletSignatures
import MartletTesting
import Testing

/// Signatures of requests (RFC 9421) that another library verifies, and the other way round.
@Suite("HTTP message signatures", .timeLimit(.minutes(2)))
struct SignatureTests {
  private let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
    try folder.write(Data(Self.program.utf8), to: "peer.py")
  }

  private struct Message: Codable {
    var method: String
    var url: String
    var headers: [String: String]
    var algorithm: String
    var body = "{\"item\":1}"
  }

  /// Reads `message.json`. `verify` requires a valid signature that covers everything; `refuse` one that is not valid;
  /// `sign` adds a signature and writes the message again.
  private static let program = """
    import json, sys
    import http_message_signatures as signatures
    from types import SimpleNamespace

    message = json.load(open("message.json"))
    algorithm = getattr(signatures.algorithms, message["algorithm"].upper().replace("-", "_"))
    private, public = open("private.key", "rb").read(), open("public.key", "rb").read()
    keys = signatures.MappingKeyResolver(public_keys={"k": public}, private_keys={"k": private})
    request = SimpleNamespace(method=message["method"], url=message["url"], headers=message["headers"])
    body = message["body"].encode()
    covered = ("@method", "@target-uri", "@authority", "@query", "content-type", "content-digest")
    if sys.argv[1] == "sign":
        signer = signatures.HTTPMessageSigner(signature_algorithm=algorithm, key_resolver=keys)
        signer.sign(request, key_id="k", label="sig1", covered_component_ids=covered, body=body)
        json.dump(message, open("message.json", "w"))
        sys.exit()
    verifier = signatures.HTTPMessageVerifier(signature_algorithm=algorithm, key_resolver=keys)
    try:
        result = verifier.verify(request, body=body, require_components=covered)
        assert sys.argv[1] == "verify" and len(result) == 1, result
    except signatures.InvalidSignature:
        assert sys.argv[1] == "refuse"
    """

  /// Makes a key for an algorithm in two files, and returns the private one.
  private func key(for algorithm: SignatureAlgorithm) throws -> SignatureKey {
    let options: [String]
    switch algorithm {
    case .hmacSHA256:
      let secret = Data((0..<64).map { _ in UInt8.random(in: 0...255) })
      for name in ["private.key", "public.key"] { try folder.write(secret, to: name) }
      return try SignatureKey(secret: secret, id: "k")
    case .rsaPSSSHA512, .rsaV15SHA256: options = ["rsa", "-pkeyopt", "rsa_keygen_bits:2048"]
    case .ecdsaP256SHA256: options = ["ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    case .ecdsaP384SHA384: options = ["ec", "-pkeyopt", "ec_paramgen_curve:P-384"]
    default: options = ["ed25519"]
    }
    try RealProcess.run("openssl", ["genpkey", "-out", "private.key", "-algorithm"] + options, in: folder.url)
    try RealProcess.run("openssl", ["pkey", "-in", "private.key", "-pubout", "-out", "public.key"], in: folder.url)
    return try SignatureKey(
      pem: String(contentsOf: folder.file("private.key"), encoding: .utf8), algorithm: algorithm, id: "k")
  }

  private func peer(_ action: String, _ message: Message) throws {
    try folder.write(try JSONEncoder().encode(message), to: "message.json")
    try RealProcess.run(Python.path(), ["peer.py", action], in: folder.url)
  }

  private static let covered: [SignatureComponent] = [
    .method, .targetURI, .authority, .query, .field(.contentType), .field(.contentDigest),
  ]

  @Test(arguments: SignatureAlgorithm.allCases)
  func anotherLibraryVerifiesOurRequests(_ algorithm: SignatureAlgorithm) async throws {
    let server = try LoopbackServer { _ in .text("ok") }
    let signer = try RequestSigner(key(for: algorithm), covering: Self.covered, for: .origin(of: server.url))
    let session = makeSession {
      $0.finalInterceptors = [signer]
      $0.options.contentDigest = .sha256
    }
    var message = Message(method: "POST", url: "", headers: [:], algorithm: algorithm.rawValue)
    let url = server.url("/orders?a=1&b=%20x")
    let request = HTTPRequest(
      .post, url, fields: [.contentType: "application/json"], body: .data(Data(message.body.utf8)))
    _ = try await session.data(for: request)

    let received = try #require(server.requests.first)
    message.url = url.absoluteString
    for field in received.fields { message.headers[field.name.rawName.lowercased()] = field.value }
    try peer("verify", message)
    message.url += "x"
    try peer("refuse", message)
  }

  @Test(arguments: SignatureAlgorithm.allCases)
  func anotherLibrarysRequestsAreVerified(_ algorithm: SignatureAlgorithm) async throws {
    let key = try key(for: algorithm)
    let message = Message(
      method: "PUT", url: "https://a.example/orders?a=1&b=%20x", headers: ["content-type": "application/json"],
      algorithm: algorithm.rawValue)
    try peer("sign", message)

    let signed = try JSONDecoder().decode(Message.self, from: Data(contentsOf: folder.file("message.json")))
    let url = try #require(URL(string: signed.url))
    var request = HTTPRequest(.put, url)
    for (name, value) in signed.headers { request.fields[try FieldName(name)] = value }
    let verifier = SignatureVerifier(requiring: Self.covered, key: key)
    #expect(try await verifier.verify(SignatureContext(request.head)).input.keyID == "k")
    request.fields[.contentType] = "text/plain"
    let changed = SignatureContext(request.head)
    await #expect(throws: SignatureError.self) { try await verifier.verify(changed) }
  }
}
