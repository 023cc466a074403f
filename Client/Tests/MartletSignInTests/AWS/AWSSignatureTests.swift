import CallDoubles
@_spi(Toolkit) import MartletEngine
import MartletSemantics
@testable import MartletSignIn
import MartletTesting
import Testing

@Suite("Signatures of AWS", .timeLimit(.minutes(5)))
struct AWSSignatureTests {
  private static let keys = AWSCredentials(
    accessKeyID: "AKIDEXAMPLE", secretAccessKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")
  private static let time = "20150830T123600Z"
  private static let emptyHash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
  private static let alphabet = "-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

  private func signature(
    _ method: HTTPMethod, _ target: String, _ fields: HTTPFields = [:], service: String = "service"
  ) throws -> String {
    var fields = fields
    fields["X-Amz-Date"] = Self.time
    let signature = AWSSignature(credentials: Self.keys, region: "us-east-1", service: service, time: Self.time)
    let value = try #require(
      signature.authorization(
        method, host: "example.amazonaws.com", target: target, fields,
        payload: fields["X-Amz-Content-Sha256"] ?? Self.emptyHash))
    return String(value.suffix(64))
  }

  /// The cases of AWS's own suite whose requests can be sent over HTTP.
  @Test(arguments: [
    ("get-vanilla", "/", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
    ("get-relative", "/example/..", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
    (
      "get-relative-relative", "/example1/example2/../..",
      "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"
    ),
    ("get-slash-dot-slash", "/./", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
    ("get-slash", "//", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
    ("get-slash-pointless-dot", "/./example", "ef75d96142cf21edca26f06005da7988e4f8dc83a165a80865db7089db637ec5"),
    ("get-slashes", "//example//", "9a624bd73a37c9a373b5312afbebe7a714a789de108f0bdfe846570885f57e84"),
    ("get-unreserved", "/" + alphabet, "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f"),
    (
      "get-vanilla-empty-query-key", "/?Param1=value1",
      "a67d582fa61cc504c4bae71f336f98b97f1ea3c7a6bfe1b6e45aec72011b9aeb"
    ),
    (
      "get-vanilla-query-order-encoded", "/?Param-3=Value3&Param=Value2&%E1%88%B4=Value1",
      "371d3713e185cc334048618a97f809c9ffe339c62934c032af5a0e595648fcac"
    ),
    (
      "get-vanilla-query-order-key-case", "/?Param2=value2&Param1=value1",
      "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"
    ),
    (
      "get-vanilla-query-unreserved", "/?\(alphabet)=\(alphabet)",
      "9c3e54bfcdf0b19771a7f523ee5669cdf59bc7cc0884027167c21bb143a40197"
    ),
    ("get-vanilla-utf8-query", "/?%E1%88%B4=bar", "2cdec8eed098649ff3a119c94853b13c643bcf08f8b0a1d91e12c9027818dd04"),
    // The results of another implementation, botocore, for paths that are encoded when they are sent.
    ("encoded twice", "/example%20space/", "446b817944c553435b35e813c261ff4e161fff982d1bacdef1c87f6785dd1662"),
    ("query in order", "/%E1%88%B4?a=b%20c&A=%2F", "d7450e1bac289383daf20d56b7ea3469a63c9a3e6a876b37e9c1d05dd01fe331"),
  ])
  func targetsAreSignedInCanonicalForm(name: String, target: String, signature: String) throws {
    #expect(try self.signature(.get, target) == signature, "\(name)")
  }

  @Test(
    arguments: [
      (
        "get-header-key-duplicate", .get, ["My-Header1": "value2", "My-Header1": "value2", "My-Header1": "value1"],
        "c9d5ea9f3f72853aea855b47ea873832890dbdd183b4468f858259531a5138ea"
      ),
      (
        "get-header-value-order", .get,
        ["My-Header1": "value4", "My-Header1": "value1", "My-Header1": "value3", "My-Header1": "value2"],
        "08c7e5a9acfcfeb3ab6b2185e75ce8b1deb5e634ec47601a50643f830c755c01"
      ),
      (
        "get-header-value-trim", .get, ["My-Header1": " value1", "My-Header2": #" "a   b   c""#],
        "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736"
      ),
      ("post-vanilla", .post, [:], "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"),
      (
        "post-header-key-sort", .post, ["My-Header1": "value1"],
        "c5410059b04c1ee005303aed430f6e6645f61f4dc9e1461ec8f8916fdf18852c"
      ),
      (
        "post-header-value-case", .post, ["My-Header1": "VALUE1"],
        "cdbc9802e29d2942e5e10b5bccfdd67c5f22c7c4e8ae67b53629efa58b974b7d"
      ),
      (
        "get-vanilla-with-session-token", .get,
        ["X-Amz-Security-Token": "6e86291e8372ff2a2260956d9b8aae1d763fbf315fa00fa31553b73ebf194267"],
        "07ec1639c89043aa0e3e2de82b96708f198cceab042d4a97044c66dd9f74e7f8"
      ),
    ] as [(String, HTTPMethod, HTTPFields, String)])
  func fieldsAreSignedInOrder(name: String, method: HTTPMethod, fields: HTTPFields, signature: String) throws {
    #expect(try self.signature(method, "/", fields) == signature, "\(name)")
  }

  /// botocore's result: S3 encodes a path once, and its slashes and dots are data.
  @Test func aPathOfS3IsKept() throws {
    let fields: HTTPFields = ["X-Amz-Content-Sha256": Self.emptyHash]
    let signature = try signature(.get, "/a//b%20c/../d", fields, service: "s3")
    #expect(signature == "6dd5b3e3be51aff704fc1742b023da9c9ee0b8c0a66e2f3273ca55dd95ad15ad")
  }

  /// Examples of the S3 documentation: "Signature Calculations for the Authorization Header".
  @Test(
    arguments: [
      (
        HTTPMethod.get, "/test.txt", [.range: "bytes=0-9"], "",
        "host;range;x-amz-content-sha256;x-amz-date",
        "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"
      ),
      (
        .put, "/test$file.text",
        [.date: "Fri, 24 May 2013 00:00:00 GMT", "X-Amz-Storage-Class": "REDUCED_REDUNDANCY"], "Welcome to Amazon S3.",
        "date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class",
        "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"
      ),
      (
        .get, "/?lifecycle", [:], "", "host;x-amz-content-sha256;x-amz-date",
        "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"
      ),
      (
        .get, "/?max-keys=2&prefix=J", [:], "", "host;x-amz-content-sha256;x-amz-date",
        "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"
      ),
    ] as [(HTTPMethod, String, HTTPFields, String, String, String)])
  func requestsToS3AreSignedAsItsDocumentationSays(
    method: HTTPMethod, target: String, fields: HTTPFields, body: String, names: String, signature: String
  ) async throws {
    let url = try #require(URL(string: "https://examplebucket.s3.amazonaws.com\(target)"))
    let start = try #require(try? Date("2013-05-24T00:00:00Z", strategy: .iso8601))
    let source = AWSSignatureSource(region: "us-east-1", service: "s3", for: .origin(of: url), now: { start }) {
      AWSCredentials(
        accessKeyID: "AKIAIOSFODNN7EXAMPLE", secretAccessKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")
    }
    let sent = try await sent(HTTPRequest(method, url, fields: fields, body: .data(Data(body.utf8))), by: source)
    let scope = "AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request"
    #expect(
      sent.fields[.authorization]
        == "AWS4-HMAC-SHA256 Credential=\(scope), SignedHeaders=\(names), Signature=\(signature)")
  }

  /// Sends a request, and returns it as the transport gets it.
  private func sent(_ request: HTTPRequest, by source: AWSSignatureSource) async throws -> HTTPRequest {
    let transport = Self.transport()
    _ = try await session(source, transport).data(for: request)
    return try await transport.request(1)
  }

  private static func transport() -> RecordingTransport {
    RecordingTransport(
      around: MockTransport { request in
        switch request.url.path() {
        case "/go": .redirect(to: "https://other.example/there")
        case "/here": .redirect(to: "/there")
        default: .text("ok")
        }
      })
  }

  private func session(_ source: AWSSignatureSource, _ transport: RecordingTransport) -> HTTPSession {
    var configuration = SessionConfiguration(cookies: nil, cache: nil)
    configuration.userAgent = nil
    configuration.credentials = [source]
    return HTTPSession(transport: transport, configuration: configuration)
  }

  @Test func aRedirectToAnotherHostHasNoSignatureAndNoToken() async throws {
    let url = try #require(URL(string: "https://api.example/go"))
    let keys = AWSCredentials(accessKeyID: "A", secretAccessKey: "B", sessionToken: "token")
    let source = AWSSignatureSource(keys, region: "eu-central-1", service: "execute-api", for: .origin(of: url))
    let transport = Self.transport()
    _ = try await session(source, transport).data(for: HTTPRequest(.get, url))
    let (first, second) = (try await transport.request(1), try await transport.request(2))
    #expect(first.fields["X-Amz-Security-Token"] == "token")
    #expect(second.url.host() == "other.example")
    for name: FieldName in [.authorization, "X-Amz-Security-Token", "X-Amz-Date"] {
      #expect(first.fields.contains(name) && !second.fields.contains(name), "\(name)")
    }
  }

  @Test func aRedirectWithinTheScopeIsSignedAnew() async throws {
    let url = try #require(URL(string: "https://api.example/here"))
    let keys = AWSCredentials(accessKeyID: "A", secretAccessKey: "B")
    let source = AWSSignatureSource(keys, region: "eu-central-1", service: "execute-api", for: .origin(of: url))
    let transport = Self.transport()
    _ = try await session(source, transport).data(for: HTTPRequest(.get, url))
    let values = transport.records.map { $0.request.fields[.authorization] }
    #expect(values.count == 2 && values[0] != nil && values[1] != nil && values[0] != values[1])
  }

  @Test func aStreamIsHashedAndOneThatCanBeReadOnceIsNotSigned() async throws {
    let url = try #require(URL(string: "https://store.example/a"))
    let keys = AWSCredentials(accessKeyID: "A", secretAccessKey: "B")
    let stream = RequestBody.stream { Self.chunks("Welcome to ", "Amazon S3.") }
    let once = RequestBody.singleUse(Self.chunks("x"))
    let store = AWSSignatureSource(keys, region: "r", service: "s3", for: .origin(of: url))
    #expect(
      try await sent(HTTPRequest(.put, url, body: stream), by: store).fields["X-Amz-Content-Sha256"]
        == "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072")
    #expect(
      try await sent(HTTPRequest(.put, url, body: once), by: store).fields["X-Amz-Content-Sha256"] == "UNSIGNED-PAYLOAD"
    )
    let queue = AWSSignatureSource(keys, region: "r", service: "sqs", for: .origin(of: url))
    let again = RequestBody.singleUse(Self.chunks("x"))
    let error = await #expect(throws: HTTPError.self) { try await sent(HTTPRequest(.put, url, body: again), by: queue) }
    #expect(error?.kind == .invalidRequest)
    #expect(error?.message.contains("can be read only once") == true)
  }

  private static func chunks(_ texts: String...) -> AsyncStream<Data> {
    AsyncStream { stream in
      for text in texts { stream.yield(Data(text.utf8)) }
      stream.finish()
    }
  }

  @Test func keysAreNotInDescriptions() {
    var text = ""
    dump(AWSCredentials(accessKeyID: "ID", secretAccessKey: "s3cret", sessionToken: "t0ken"), to: &text)
    #expect(!text.contains("s3cret") && !text.contains("t0ken"))
  }
}
