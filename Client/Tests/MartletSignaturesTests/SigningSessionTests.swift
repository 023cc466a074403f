import MartletEngine
import MartletSemantics
import MartletSockets
import MartletTesting
import Synchronization
import TestSupport
import Testing

@testable import MartletSignatures

/// Sessions that sign their requests and verify responses, against a server that does the same.
@Suite(.timeLimit(.minutes(5)))
struct SigningSessionTests {
  private static func key(_ isPrivate: Bool) throws -> SignatureKey {
    try SignatureKey(pem: isPrivate ? RFCKeys.ed25519Private : RFCKeys.ed25519Public, id: "client")
  }

  private static func session(_ configure: (inout SessionConfiguration) throws -> Void) rethrows -> HTTPSession {
    var configuration = SessionConfiguration()
    try configure(&configuration)
    return HTTPSession(transport: SocketTransport(), configuration: configuration)
  }

  /// The signature of a request that a server received; the error if it is not valid.
  private static func verified(
    _ request: ReceivedRequest, at server: LoopbackServer, requiring required: [SignatureComponent]
  ) async throws -> MessageSignature {
    let head = RequestHead(method: request.method, url: server.url(request.target), fields: request.fields)
    return try await SignatureVerifier(requiring: required, key: key(false)).verify(SignatureContext(head))
  }

  @Test func aServerVerifiesWhatASessionSigns() async throws {
    let server = try LoopbackServer { _ in .text("ok") }
    let components: [SignatureComponent] = [
      .method, .targetURI, .authority, .path, .query, .queryParameter("a"), .requestTarget, .field("host"),
      .field(.userAgent), .field(.contentType),
    ]
    var signer = try RequestSigner(
      Self.key(true), covering: components,
      ifPresent: [.field(.contentDigest), .field(.contentLength), .field("x-none")],
      for: .any)
    (signer.label, signer.tag, signer.lifetime) = ("mine", "test", .seconds(60))
    signer.makeNonce = { "n-1" }
    let session = Self.session {
      $0.finalInterceptors = [signer]
      $0.options.contentDigest = .sha512
    }
    _ = try await session.data(for: HTTPRequest(.post, server.url("/p%20q?a=b%20c&d"), body: .text("hello")))
    let signature = try await Self.verified(server.requests[0], at: server, requiring: components)
    #expect(signature.label == "mine" && signature.input.tag == "test" && signature.input.nonce == "n-1")
    #expect(signature.input.algorithm == .ed25519 && signature.input.keyID == "client")
    let covered = signature.input.components.map(\.name)
    #expect(covered.contains("content-digest") && covered.contains("content-length") && !covered.contains("x-none"))
    let (created, expires) = (try #require(signature.input.created), try #require(signature.input.expires))
    #expect(expires.timeIntervalSince(created) == 60)
  }

  @Test func notesSayWhatIsSignedAndWhatWasVerified() async throws {
    let server = try LoopbackServer { _ in
      let head = ResponseHead(status: .ok, fields: [.contentType: "text/plain; charset=utf-8"])
      var input = SignatureInput([.status])
      (input.created, input.keyID) = (.now, "client")
      let context = SignatureContext(head, to: nil)
      let signature = try MessageSignature(input, label: "s", of: context, with: Self.key(true))
      return signature.fields.reduce(into: Reply.text("ok")) { $0 = $0.with($1.name, $1.value) }
    }
    let notes = Mutex<[String]>([])
    let session = try Self.session {
      let verifier = SignatureVerifier(requiring: [.status], key: try Self.key(false))
      $0.finalInterceptors = [
        try RequestSigner(Self.key(true), covering: [.method, .queryParameter("token")], for: .any),
        ResponseVerifier(verifier, for: .any),
      ]
      $0.listeners = [
        EventHandler(.note) { event, _ in if case .note(let text) = event { notes.withLock { $0.append(text) } } }
      ]
    }
    _ = try await session.data(for: HTTPRequest(.get, server.url("/?token=hidden")))
    #expect(
      notes.withLock { $0 } == [
        "the request is signed: 'sig1' by the key 'client', covering \"@method\" \"@query-param\";name=\"token\"",
        "the response's signature is valid: 's' by the key 'client', covering \"@status\"",
      ])
  }

  @Test func aCredentialCanBeCovered() async throws {
    let server = try LoopbackServer { _ in .text("ok") }
    let session = try Self.session {
      $0.credentials = [TokenSource(AccessToken("secret"), for: .any)]
      $0.finalInterceptors = [try RequestSigner(Self.key(true), covering: [.field(.authorization)], for: .any)]
    }
    _ = try await session.data(for: HTTPRequest(.get, server.url))
    _ = try await Self.verified(server.requests[0], at: server, requiring: [.field(.authorization)])
  }

  @Test func eachAttemptIsSignedAnew() async throws {
    let server = try LoopbackServer { request in
      request.path == "/b" ? .text("ok") : .redirect(to: "/b", status: .temporaryRedirect)
    }
    let nonces = Counter()
    var signer = try RequestSigner(Self.key(true), covering: [.method, .path], for: .any)
    signer.makeNonce = { "\(nonces.next())" }
    let session = Self.session { $0.finalInterceptors = [signer] }
    _ = try await session.data(for: HTTPRequest(.put, server.url("/a"), body: .text("x")))
    var seen: [String?] = []
    for request in server.requests {
      seen.append(try await Self.verified(request, at: server, requiring: [.method, .path]).input.nonce)
    }
    #expect(seen == ["1", "2"])
  }

  @Test func aRequestToAnotherOriginIsNotSigned() async throws {
    let other = try LoopbackServer { _ in .text("ok") }
    let target = other.url("/b").absoluteString
    let server = try LoopbackServer { _ in .redirect(to: target) }
    let signer = try RequestSigner(Self.key(true), covering: [.method], for: .origin(of: server.url))
    let session = Self.session { $0.finalInterceptors = [signer] }
    _ = try await session.data(for: HTTPRequest(.get, server.url))
    #expect(server.requests[0].fields.contains("Signature") && !other.requests[0].fields.contains("Signature"))
  }

  @Test func aRequestWithoutACoveredFieldIsNotSent() async throws {
    let server = try LoopbackServer { _ in .text("ok") }
    let session = try Self.session {
      $0.finalInterceptors = [try RequestSigner(Self.key(true), covering: [.field("x-tenant")], for: .any)]
    }
    let error = await #expect(throws: HTTPError.self) { try await session.data(for: HTTPRequest(.get, server.url)) }
    #expect((error?.underlying as? SignatureError)?.reason == .unknownComponent)
    #expect(error?.message.contains("\"x-tenant\"") == true && server.requests.isEmpty)
  }

  @Test func twoSignersHaveTheirLabels() async throws {
    let server = try LoopbackServer { _ in .text("ok") }
    var second = try RequestSigner(SignatureKey(secret: RFCKeys.secret), covering: [.method], for: .any)
    second.label = "second"
    let first = try RequestSigner(Self.key(true), covering: [.method], for: .any)
    let session = Self.session { $0.finalInterceptors = [first, second, first] }
    _ = try await session.data(for: HTTPRequest(.get, server.url))
    #expect(try MessageSignature.all(in: server.requests[0].fields).map(\.label) == ["sig1", "second"])
  }

  // MARK: - Responses

  /// A server that signs its responses, with a digest of `content`, and sends `sent`.
  private static func signingServer(
    _ content: String = "hello", sending sent: String = "hello", status: HTTPStatus = .ok,
    digest: String? = nil, changing name: FieldName? = nil
  ) throws -> LoopbackServer {
    try LoopbackServer { request in
      let digest =
        digest
        ?? ((try? IntegrityDigest(.sha256, of: Data(content.utf8))).map { digest in
          var fields = HTTPFields()
          fields.setDigests([digest], for: .contentDigest)
          return fields[.contentDigest] ?? ""
        } ?? "")
      let head = ResponseHead(status: status, fields: ["Content-Digest": digest, "X-A": "1"])
      guard let url = URL(string: "http://\(request.fields[.host] ?? "")\(request.target)"),
        let key = try? SignatureKey(secret: RFCKeys.secret, id: "server")
      else { return .status(500) }
      let context = SignatureContext(head, to: RequestHead(method: request.method, url: url, fields: request.fields))
      var input = SignatureInput([.status, .field(.contentDigest), .field("x-a"), .method.ofRequest, .path.ofRequest])
      input.created = .now
      input.keyID = "server"
      guard let signature = try? MessageSignature(input, label: "s", of: context, with: key) else {
        return .status(500)
      }
      var reply = Reply.data(Data(sent.utf8), status: status)
      for (name, value) in head.fields { reply = reply.with(name, value) }
      for (name, value) in signature.fields { reply = reply.with(name, value) }
      return name.map { reply.with($0, "changed") } ?? reply
    }
  }

  private static func verifying(
    _ required: [SignatureComponent] = [.status, .field(.contentDigest), .path.ofRequest]
  ) throws -> HTTPSession {
    let key = try SignatureKey(secret: RFCKeys.secret, id: "server")
    return session {
      $0.finalInterceptors = [ResponseVerifier(SignatureVerifier(requiring: required, key: key), for: .any)]
    }
  }

  @Test func aSignedResponseIsAccepted() async throws {
    let server = try Self.signingServer()
    let (data, _) = try await Self.verifying().data(for: HTTPRequest(.get, server.url("/a?b=c")))
    #expect(data == Data("hello".utf8))
  }

  @Test func aResponseWithoutAValidSignatureFailsTheCall() async throws {
    let unsigned = try LoopbackServer { _ in .text("hello") }
    let changed = try Self.signingServer(changing: "x-a")
    for (server, reason) in [(unsigned, SignatureError.Reason.noSignature), (changed, .invalidSignature)] {
      let error = await #expect(throws: HTTPError.self) {
        try await Self.verifying().data(for: HTTPRequest(.get, server.url("/a")))
      }
      #expect((error?.underlying as? SignatureError)?.reason == reason)
      #expect(error?.response != nil)
    }
  }

  @Test func theContentMustHaveTheSignedDigest() async throws {
    let server = try Self.signingServer("hello", sending: "jello")
    let error = await #expect(throws: HTTPError.self) {
      try await Self.verifying().data(for: HTTPRequest(.get, server.url("/a")))
    }
    #expect(error?.kind == .digestMismatch)
  }

  @Test func aSignedDigestThatCannotBeCheckedIsRefused() async throws {
    let server = try Self.signingServer(digest: "md5=:AAAA:")
    let error = await #expect(throws: HTTPError.self) {
      try await Self.verifying().data(for: HTTPRequest(.get, server.url("/a")))
    }
    #expect((error?.underlying as? SignatureError)?.reason == .uncheckedContent)
  }

  @Test func aRedirectThatIsNotSignedIsNotFollowed() async throws {
    let server = try LoopbackServer { request in
      request.path == "/b" ? .text("ok") : .redirect(to: "/b")
    }
    await #expect(throws: HTTPError.self) { try await Self.verifying().data(for: HTTPRequest(.get, server.url("/a"))) }
    #expect(server.requests.map(\.path) == ["/a"])
  }
}
