import MartletEngine
import MartletSemantics
import MartletSignatures
import MartletSockets
import MartletTesting
import Synchronization
import TestSupport
import Testing

/// A session that signs what servers ask for (RFC 9421 §5), against a server that verifies it.
@Suite(.timeLimit(.minutes(5)))
struct AnsweringSignerTests {
  private static let asked = "sig7=(\"@method\" \"@path\" \"content-digest\");created;nonce=\"n-17\";tag=\"payments\""

  private static func key(_ isPrivate: Bool = true) throws -> SignatureKey {
    try SignatureKey(pem: isPrivate ? RFCKeys.ed25519Private : RFCKeys.ed25519Public, id: "client")
  }

  /// A server that answers unsigned requests with 401 and this field, and others with the label of their signature.
  private static func server(asking field: String = asked, status: HTTPStatus = .unauthorized) throws -> LoopbackServer
  {
    try LoopbackServer { request in
      guard let signature = try? MessageSignature.all(in: request.fields).first else {
        return .text("unsigned", status: status).with("Accept-Signature", field)
      }
      return .text(signature.label)
    }
  }

  private static func session(
    lifetime: Duration = .seconds(300), allowing: @escaping @Sendable (SignatureRequest) -> Bool = { _ in true }
  ) throws -> HTTPSession {
    var configuration = SessionConfiguration()
    configuration.finalInterceptors = [
      AnsweringSigner(try key(), for: .any, lifetime: lifetime, allowing: allowing)
    ]
    configuration.options.contentDigest = .sha256
    return HTTPSession(transport: SocketTransport(), configuration: configuration)
  }

  private static func post(_ server: LoopbackServer, _ session: HTTPSession, _ path: String = "/pay") async throws
    -> (HTTPStatus, String)
  {
    let (data, response) = try await session.data(
      for: HTTPRequest(.post, server.url(path), body: .text("hello")), expecting: .any)
    return (response.status, String(decoding: data, as: UTF8.self))
  }

  @Test func aRefusedRequestIsSentOnceMoreWithTheSignature() async throws {
    let server = try Self.server()

    let answer = try await Self.post(server, Self.session { $0.tag == "payments" })

    #expect(answer == (.ok, "sig7"))
    #expect(server.requests.map { $0.fields.contains("Signature") } == [false, true])
    let request = server.requests[1]
    let head = RequestHead(method: request.method, url: server.url(request.target), fields: request.fields)
    let verifier = SignatureVerifier(requiring: [.method, .path, .field(.contentDigest)], key: try Self.key(false))
    let signature = try await verifier.verify(SignatureContext(head))
    #expect(signature.input.nonce == "n-17" && signature.input.tag == "payments")
    #expect(signature.input.created != nil && signature.input.expires == nil)
    #expect(signature.input.components.map(\.name) == ["@method", "@path", "content-digest"])
  }

  @Test func theFirstSignatureThatCanBeMadeIsMade() async throws {
    let server = try Self.server(
      asking: """
        a=("@method");keyid="other", b=("x-missing"), c=("@method");alg="rsa-pss-sha512", d=("@status"), \
        e=("@method");tag="forbidden", f=("@method");keyid="client";alg="ed25519";expires
        """)

    let answer = try await Self.post(server, Self.session(lifetime: .seconds(60)) { $0.tag != "forbidden" })

    #expect(answer == (.ok, "f"))
    let input = try #require(try MessageSignature.all(in: server.requests[1].fields).first?.input)
    #expect(input.algorithm == .ed25519)
    let (created, expires) = (try #require(input.created), try #require(input.expires))
    #expect(expires.timeIntervalSince(created) == 60)
  }

  @Test(
    arguments: [
      (AnsweringSignerTests.asked, 401, "refused"), ("sig1=(\"x-missing\")", 401, ""), ("sig1=1", 401, ""),
      ("sig1=(\"@method\");keyid=\"other\"", 403, ""), ("(", 401, ""), ("", 400, ""), ("sig1=(\"@method\")", 503, ""),
      ("sig1=(\"@method\")", 200, ""), ("sig1=()", 401, ""),
    ] as [(String, Int, String)])
  func otherwiseTheRefusalIsTheResponse(_ field: String, _ status: Int, _ policy: String) async throws {
    let server = try Self.server(asking: field, status: HTTPStatus(status))
    var configuration = SessionConfiguration()
    configuration.options.retryPolicy = .never
    configuration.finalInterceptors = [AnsweringSigner(try Self.key(), for: .any) { _ in policy.isEmpty }]
    let session = HTTPSession(transport: SocketTransport(), configuration: configuration)

    let answer = try await Self.post(server, session)

    #expect(answer == (HTTPStatus(status), "unsigned"))
    #expect(server.requests.count == 1)
  }

  @Test func aSecondRefusalIsTheResponse() async throws {
    let server = try LoopbackServer { _ in
      .text("no", status: .unauthorized).with("Accept-Signature", "sig1=(\"@method\")")
    }
    let session = try Self.session()

    #expect(try await Self.post(server, session) == (.unauthorized, "no"))
    #expect(server.requests.count == 2)
    // Each call is asked anew.
    #expect(try await Self.post(server, session) == (.unauthorized, "no"))
    #expect(server.requests.count == 4)
  }

  @Test func anUnsignedAttemptAfterASignedOneIsAnsweredToo() async throws {
    let count = Atomic(0)
    let server = try LoopbackServer { request in
      guard let signature = try? MessageSignature.all(in: request.fields).first else {
        return .text("unsigned", status: .unauthorized).with("Accept-Signature", Self.asked)
      }
      let isFirst = count.add(1, ordering: .relaxed).oldValue == 0
      return isFirst ? .text("later", status: .serviceUnavailable).with("Retry-After", "0") : .text(signature.label)
    }
    var configuration = SessionConfiguration()
    configuration.options.contentDigest = .sha256
    configuration.finalInterceptors = [AnsweringSigner(try Self.key(), for: .any) { _ in true }]
    let session = HTTPSession(transport: SocketTransport(), configuration: configuration)
    var request = HTTPRequest(.put, server.url("/pay"), body: .text("hello"))
    request.options.retryPolicy = RetryPolicy(limit: 1)

    let (data, _) = try await session.data(for: request, expecting: .any)

    #expect(String(decoding: data, as: UTF8.self) == "sig7")
    #expect(server.requests.map { $0.fields.contains("Signature") } == [false, true, false, true])
  }

  @Test func anotherSignersLabelIsNotMadeAgain() async throws {
    let server = try LoopbackServer { _ in
      .text("no", status: .unauthorized).with("Accept-Signature", "sig1=(\"@method\")")
    }
    let signer = RequestSigner(try Self.key(), covering: [.method], for: .any)
    var configuration = SessionConfiguration()
    configuration.finalInterceptors = [signer, AnsweringSigner(try Self.key(), for: .any) { _ in true }]
    let session = HTTPSession(transport: SocketTransport(), configuration: configuration)

    #expect(try await Self.post(server, session) == (.unauthorized, "no"))
    #expect(server.requests.count == 1)
  }

  @Test func aRedirectGetsNoSignature() async throws {
    let server = try LoopbackServer { request in
      if request.path == "/b" { return .text(request.fields.contains("Signature") ? "signed" : "plain") }
      return request.fields.contains("Signature")
        ? .redirect(to: "/b", status: .temporaryRedirect)
        : .text("", status: .unauthorized).with("Accept-Signature", "sig1=(\"@method\")")
    }

    #expect(try await Self.post(server, Self.session(), "/a") == (.ok, "plain"))
  }

  @Test func originsOutsideTheScopeAreNotAnswered() async throws {
    let server = try Self.server()
    var configuration = SessionConfiguration()
    configuration.finalInterceptors = [
      AnsweringSigner(try Self.key(), for: .origin(of: url("https://api.example"))) { _ in true }
    ]
    let session = HTTPSession(transport: SocketTransport(), configuration: configuration)

    #expect(try await Self.post(server, session).0 == .unauthorized)
    #expect(server.requests.count == 1)
  }

  @Test func aBodyThatCanBeReadOnceIsNotSentAgain() async throws {
    let server = try Self.server(asking: "sig1=(\"@method\")")
    let chunks = AsyncStream<Data> { stream in
      stream.yield(Data("x".utf8))
      stream.finish()
    }
    let request = HTTPRequest(.post, server.url, body: .singleUse(length: 1, chunks))
    var configuration = SessionConfiguration()
    configuration.finalInterceptors = [AnsweringSigner(try Self.key(), for: .any) { _ in true }]
    let session = HTTPSession(transport: SocketTransport(), configuration: configuration)

    #expect(try await session.data(for: request, expecting: .any).1.status == .unauthorized)
    #expect(server.requests.count == 1)
  }
}
