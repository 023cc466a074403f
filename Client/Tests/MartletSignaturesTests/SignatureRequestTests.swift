import MartletEngine
import MartletSemantics
import MartletSockets
import MartletTesting
import TestSupport
import Testing

@testable import MartletSignatures

/// Signatures that a peer asks for (RFC 9421 §5).
@Suite(.timeLimit(.minutes(5)))
struct SignatureRequestTests {
  /// The example of §5.1.
  private static let example =
    #"sig1=("@method" "@target-uri" "@authority" "content-digest" "cache-control");keyid="test-key-rsa-pss";created"#
    + #";tag="app-123""#

  @Test func theExampleOfTheRFCIsRead() throws {
    let request = try #require(try SignatureRequest.all(in: ["Accept-Signature": Self.example]).first)
    #expect(request.label == "sig1")
    #expect(request.components == [.method, .targetURI, .authority, .field(.contentDigest), .field(.cacheControl)])
    #expect(request.wantsCreated && !request.wantsExpires)
    #expect(request.keyID == "test-key-rsa-pss" && request.tag == "app-123")
    #expect(request.nonce == nil && request.algorithmName == nil)
    #expect(try SignatureRequest.fields(for: [request]) == ["Accept-Signature": Self.example])
  }

  @Test func severalMembersAndLinesAreReadInOrderUpToALimit() throws {
    let fields: HTTPFields = [
      "Accept-Signature": #"a=("@status" "@method";req);expires;nonce="n""#, "accept-signature": "b=();alg=\"x\", c=()",
    ]
    let all = try SignatureRequest.all(in: fields)
    #expect(all.map(\.label) == ["a", "b", "c"])
    #expect(all[0].components == [.status, .method.ofRequest])
    #expect(all[0].wantsExpires && all[0].nonce == "n" && all[1].algorithmName == "x")
    let many = (1...30).map { "s\($0)=()" }.joined(separator: ", ")
    #expect(try SignatureRequest.all(in: ["Accept-Signature": many]).count == 16)
    #expect(try SignatureRequest.all(in: [:]).isEmpty)
  }

  @Test(arguments: [
    "sig1", "sig1=1", "sig1=(method)", #"sig1=("@method"#, #"sig1=();created=1"#, "sig1=();created=?0",
    "sig1=();keyid=1", "sig1=();tag", "sig1=();nonce=a", #"Sig1=("@method")"#,
  ])
  func anythingElseIsMalformed(_ value: String) {
    let error = #expect(throws: SignatureError.self) { try SignatureRequest.all(in: ["Accept-Signature": value]) }
    #expect(error?.reason == .malformedSignature)
  }

  @Test func aLabelThatCannotBeSentIsAnError() {
    let error = #expect(throws: SignatureError.self) {
      try SignatureRequest.fields(for: [SignatureRequest(label: "Sig 1", [.method])])
    }
    #expect(error?.reason == .malformedSignature)
  }

  @Test func aSignerDoesWhatAServerAsksFor() async throws {
    let wanted = SignatureRequest(
      label: "login", [.method, .path],
      parameters: [
        "created": .boolean(true), "expires": .boolean(true), "nonce": .string("n-1"), "alg": .string("ed25519"),
        "keyid": .string("client"), "tag": .string("app"),
      ])
    let fields = try SignatureRequest.fields(for: [wanted])
    let server = try LoopbackServer { request in
      guard request.fields.contains("Signature") else {
        return Reply.status(.unauthorized).with("Accept-Signature", fields["Accept-Signature"] ?? "")
      }
      return .text("ok")
    }
    let session = HTTPSession(transport: SocketTransport())
    var request = HTTPRequest(.get, server.url("/place"))
    let refused = try await session.data(for: request).1
    let key = try SignatureKey(pem: RFCKeys.ed25519Private, id: "client")
    let asked = try #require(try SignatureRequest.all(in: refused.fields).first)
    #expect(asked == wanted)
    request.options.interceptors = [try RequestSigner(answering: asked, with: key, for: .origin(of: server.url))]
    #expect(try await session.data(for: request).1.status == .ok)

    let received = server.requests[1]
    let head = RequestHead(method: received.method, url: server.url(received.target), fields: received.fields)
    let verifier = SignatureVerifier(
      requiring: [.method, .path], key: try SignatureKey(pem: RFCKeys.ed25519Public, id: "client"))
    let signature = try await verifier.verify(SignatureContext(head))
    #expect(signature.label == "login" && signature.input.components == [.method, .path])
    #expect(signature.input.nonce == "n-1" && signature.input.tag == "app" && signature.input.algorithm == .ed25519)
    #expect(signature.input.created != nil && signature.input.expires != nil)
  }

  @Test func anotherKeyOrAlgorithmIsRefused() throws {
    let key = try SignatureKey(pem: RFCKeys.ed25519Private, id: "client")
    let cases: [(StructuredField.Parameters, SignatureError.Reason)] = [
      (["keyid": .string("other")], .unknownKey), (["alg": .string("rsa-pss-sha512")], .otherAlgorithm),
      (["alg": .string("new")], .otherAlgorithm),
    ]
    for (parameters, reason) in cases {
      let error = #expect(throws: SignatureError.self) {
        try RequestSigner(answering: SignatureRequest([.method], parameters: parameters), with: key, for: .any)
      }
      #expect(error?.reason == reason)
    }
  }
}
