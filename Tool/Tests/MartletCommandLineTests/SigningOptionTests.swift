import Glibc
import MartletEngine
import MartletSemantics
import MartletSignatures
import MartletTesting
import TestSupport
import Testing

@testable import MartletCommandLine

/// `--sign`, `--verify-signature`, `--digest` and `--dpop`, against servers that check what they get.
@Suite("Options for signatures", .timeLimit(.minutes(5)))
struct SigningOptionTests {
  private static let secret = "0123456789abcdef0123456789abcdef"
  /// `test-key-ed25519` of RFC 9421 appendix B.1.4.
  private static let pem = """
    -----BEGIN PRIVATE KEY-----
    MC4CAQAwBQYDK2VwBCIEIJ+DYvh6SEqVTm50DFtMDoQikTmiCqirVv9mWG9qfSnF
    -----END PRIVATE KEY-----
    """
  /// RFC 7515 §A.3.1.
  private static let jwk = """
    {"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
    "y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0","d":"jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI"}
    """

  private let run: TestRun

  init() throws { run = try TestRun() }

  /// Writes a key that by default only its owner may read.
  private func file(_ text: String, _ name: String = "key", mode: Int = 0o600) throws -> String {
    let file = try run.folder.write(Data(text.utf8), to: name)
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file.path)
    return file.path
  }

  @Test func aRequestAndItsContentAreSigned() async throws {
    let server = try LoopbackServer { _ in .text("ok") }
    let key = try SignatureKey(secret: Data(Self.secret.utf8), id: "me")

    let result = try await run.run([
      "post", server.url("/a?b=1").absoluteString, "x=1", "--sign", try file(Self.secret + "\n"), "--sign-id", "me",
      "--sign-algorithm", "hmac-sha256", "--verbose",
    ])

    #expect(result.code == .success)
    let request = try #require(server.requests.first)
    let verifier = SignatureVerifier(
      requiring: [.method, .targetURI, .field(.contentDigest), .field(.contentType)], key: key)
    let head = RequestHead(method: request.method, url: server.url(request.target), fields: request.fields)
    #expect(try await verifier.verify(SignatureContext(head)).input.keyID == "me")
    #expect(request.fields.digests(of: .contentDigest) == [try IntegrityDigest(.sha256, of: request.body)])
    let shown = result.text + result.errors.text
    #expect(shown.contains("is signed: 'sig1' by the key 'me', covering \"@method\" \"@target-uri\""))
    #expect(!shown.contains(Self.secret) && !shown.contains("warning"))
  }

  @Test(
    arguments: [
      ["@-"], ["@PIPE"], ["--multipart", "a=1", "file@FILE"], ["--form", "file@FILE"], ["@FILE"],
      ["--upload-file", "-"], ["--raw", "TEXT", "--compress"], ["@FILE", "--compress"], ["a=1", "--chunked"],
      ["@FILE", "--chunked"], ["@-", "--compress", "--chunked", "--digest", "sha-512"],
    ])
  func theContentOfEachBodyIsSigned(_ line: [String]) async throws {
    let server = try LoopbackServer { _ in .text("ok") }
    let text = String(repeating: "text ", count: 1000)
    let file = try run.folder.write(Data(text.utf8), to: "file.txt").path
    var ends: [Int32] = [-1, -1]
    try #require(Glibc.pipe(&ends) == 0 && write(ends[1], text, text.utf8.count) == text.utf8.count)
    close(ends[1])
    defer { close(ends[0]) }
    let words = line.map {
      $0.replacing("FILE", with: file).replacing("TEXT", with: text).replacing("PIPE", with: "/dev/fd/\(ends[0])")
    }

    let result = try await run.run(
      ["post", server.url("/a").absoluteString, "--sign", try self.file(Self.pem)] + words, input: file)

    #expect(result.code == .success, "\(result.errors.text)")
    let request = try #require(server.requests.first)
    let verifier = SignatureVerifier(
      requiring: [.method, .targetURI, .field(.contentDigest)], key: try SignatureKey(pem: Self.pem))
    let head = RequestHead(method: request.method, url: server.url(request.target), fields: request.fields)
    _ = try await verifier.verify(SignatureContext(head))
    let algorithm: IntegrityDigest.Algorithm = line.contains("sha-512") ? .sha512 : .sha256
    #expect(request.fields.digests(of: .contentDigest) == [try IntegrityDigest(algorithm, of: request.body)])
    #expect(!request.body.isEmpty && !request.fields.contains(.trailer))
    #expect(request.fields.contains(.transferEncoding) == line.contains("--chunked"))
    #expect((request.fields[.contentEncoding] == "deflate") == line.contains("--compress"))
  }

  @Test func aBodyThatIsTooLongToBeSignedIsRefused() async throws {
    let result = try await run.run(
      ["post", "http://127.0.0.1:1/", "--sign", try file(Self.pem), "@-"], input: "/dev/zero")

    #expect(result.code == .failure)
    #expect(result.errors.text.contains("--sign: the body has more than 64 MiB"), "\(result.errors.text)")
  }

  @Test func aRedirectWithoutContentIsSigned() async throws {
    let server = try LoopbackServer { request in
      request.path == "/a" ? .status(.seeOther, fields: [.location: "/b"]) : .text("ok")
    }

    let result = try await run.run(["post", server.url("/a").absoluteString, "x=1", "--sign", try file(Self.pem)])

    #expect(result.code == .success, "\(result.errors.text)")
    let signature = try #require(try MessageSignature.all(in: server.requests.last?.fields ?? [:]).first)
    #expect(signature.input.components == [.method, .targetURI])
  }

  @Test func theListSaysWhatIsCovered() async throws {
    let server = try LoopbackServer { _ in .text("ok") }

    let result = try await run.run([
      "get", server.url("/a?page=2").absoluteString, "X-Own:1", "--sign", try file(Self.pem),
      "--sign-covering", "X-Own, @path,@query-param;name=\"page\"",
    ])

    #expect(result.code == .success)
    let signature = try #require(try MessageSignature.all(in: server.requests[0].fields).first)
    let covered = signature.input.components.map(\.description)
    #expect(covered == ["\"x-own\"", "\"@path\"", "\"@query-param\";name=\"page\""])
  }

  @Test(arguments: [("/", true), ("/changed", false), ("/plain", false)])
  func onlySignedResponsesAreAccepted(_ path: String, isAccepted: Bool) async throws {
    let key = try SignatureKey(pem: Self.pem, id: "server")
    let server = try LoopbackServer { request in
      var fields: HTTPFields = [:]
      fields.setDigests([try IntegrityDigest(.sha256, of: Data("ok".utf8))], for: .contentDigest)
      var input = SignatureInput([.status, .field(.contentDigest)])
      (input.created, input.keyID) = (.now, "server")
      let context = SignatureContext(ResponseHead(status: .ok, fields: fields), to: nil)
      let signature = try MessageSignature(input, label: "s", of: context, with: key)
      if request.path != "/plain" { for (name, value) in signature.fields { fields.append(value, for: name) } }
      return Reply(status: .ok, fields: fields, content: Data((request.path == "/changed" ? "no" : "ok").utf8))
    }

    let result = try await run.run([
      "get", server.url(path).absoluteString, "--body", "--verify-signature", try file(Self.pem),
    ])

    #expect((result.code == .success) == isAccepted)
    #expect(isAccepted ? result.text == "ok" : !result.errors.text.isEmpty)
  }

  /// A response that is signed with its content.
  private static func signed(
    _ status: HTTPStatus = .ok, by key: SignatureKey, location: URL? = nil, covering more: [SignatureComponent] = []
  ) throws -> Reply {
    var fields: HTTPFields = [:]
    fields[.location] = location?.absoluteString
    fields.setDigests([try IntegrityDigest(.sha256, of: Data("ok".utf8))], for: .contentDigest)
    var input = SignatureInput([.status, .field(.contentDigest)] + more)
    input.created = .now
    let context = SignatureContext(ResponseHead(status: status, fields: fields), to: nil)
    for (name, value) in try MessageSignature(input, label: "s", of: context, with: key).fields {
      fields.append(value, for: name)
    }
    return Reply(status: status, fields: fields, content: Data("ok".utf8))
  }

  @Test(arguments: [(true, true), (false, true), (true, false)])
  func responsesOfOtherServersMustBeSignedToo(hasLocation: Bool, isSigned: Bool) async throws {
    let key = try SignatureKey(pem: Self.pem)
    let second = try LoopbackServer { _ in isSigned ? try Self.signed(by: key) : .text("forged") }
    let first = try LoopbackServer { _ in
      let more: [SignatureComponent] = hasLocation ? [.field(.location)] : []
      return try Self.signed(.found, by: key, location: second.url, covering: more)
    }

    let result = try await run.run([
      "get", first.url.absoluteString, "--body", "--verify-signature", try file(Self.pem),
    ])

    #expect((result.code == .success) == (hasLocation && isSigned), "\(result.errors.text)")
    #expect(result.text == (hasLocation && isSigned ? "ok" : ""))
    #expect(second.requests.count == (hasLocation ? 1 : 0))
  }

  @Test func aSecretVerifiesResponses() async throws {
    let key = try SignatureKey(secret: Data(Self.secret.utf8))
    let server = try LoopbackServer { _ in try Self.signed(by: key) }

    let result = try await run.run([
      "get", server.url.absoluteString, "--body", "--verify-signature", try file(Self.secret + "\r\n"),
      "--sign-algorithm", "hmac-sha256",
    ])

    #expect(result.text == "ok", "\(result.errors.text)")
  }

  /// Only the last line break is no part of a secret, and one that begins as JSON does is a secret nevertheless.
  @Test(arguments: [("a\n\n", "a\n"), ("{a}\r\n", "{a}"), ("a\r", "a\r"), ("{\"kty\":1}\n", "{\"kty\":1}")])
  func aSecretIsReadAsItIs(_ text: String, _ secret: String) async throws {
    let server = try LoopbackServer { _ in .text("ok") }

    let result = try await run.run([
      "get", server.url.absoluteString, "--sign", try file(text), "--sign-algorithm", "hmac-sha256",
    ])

    #expect(result.code == .success, "\(result.errors.text)")
    let request = try #require(server.requests.first)
    let verifier = SignatureVerifier(requiring: [.method], key: try SignatureKey(secret: Data(secret.utf8)))
    let head = RequestHead(method: request.method, url: server.url(request.target), fields: request.fields)
    _ = try await verifier.verify(SignatureContext(head))
  }

  @Test func aDigestIsSentAndCompared() async throws {
    let server = try LoopbackServer { _ in
      var fields: HTTPFields = [:]
      fields.setDigests([try IntegrityDigest(.sha512, of: Data("other".utf8))], for: .contentDigest)
      return Reply(status: .ok, fields: fields, content: Data("ok".utf8))
    }

    let result = try await run.run(["post", server.url.absoluteString, "x=1", "--digest", "sha-512"])

    let request = try #require(server.requests.first)
    #expect(request.fields.digests(of: .contentDigest) == [try IntegrityDigest(.sha512, of: request.body)])
    #expect(result.code != .success)
  }

  @Test func aBoundTokenIsSentWithAProof() async throws {
    let nonce = "n-1"
    let server = try LoopbackServer { request in
      let proof = request.fields["DPoP"]?.split(separator: ".").dropFirst().first.map(String.init) ?? ""
      var base64 = proof.replacing("-", with: "+").replacing("_", with: "/")
      while base64.utf8.count % 4 != 0 { base64 += "=" }
      let claims = String(decoding: Data(base64Encoded: base64) ?? Data(), as: UTF8.self)
      guard claims.contains("\"nonce\":\"\(nonce)\"") else {
        let challenge = "DPoP error=\"use_dpop_nonce\""
        return .status(.unauthorized, fields: [.wwwAuthenticate: challenge, "DPoP-Nonce": nonce])
      }
      return .text(request.fields[.authorization] ?? "")
    }

    let result = try await run.run([
      "get", server.url.absoluteString, "--body", "--auth", "token-1", "--dpop", try file(Self.jwk),
    ])

    #expect(result.text == "DPoP token-1")
    #expect(server.requests.count == 2)
  }

  @Test(
    arguments: [
      (["--sign", "none"], "none"), (["--sign-id", "x"], "add --sign FILE"),
      (["--sign", "KEY", "--sign-covering", "@method;x=("], "--sign-covering"),
      (["--sign", "TEXT"], "--sign-algorithm hmac-sha256"),
      (["--sign", "JWK", "--sign-id", "x"], "leave out --sign-id"),
      (["--sign", "KEY", "--sign-algorithm", "rsa-v1_5-sha256"], "--sign"), (["--dpop", "KEY"], "--dpop needs --auth"),
      (["--dpop", "KEY", "--auth", "t", "--auth-type", "bearer"], "cannot be combined"),
      (["--digest", "md5"], "none of sha-256, sha-512"),
      (["--verify-signature", "KEY", "--cache", "c"], "--verify-signature and --cache cannot be combined"),
      (["--verify-signature", "KEY", "--cache", "c", "--only-cached"], "--verify-signature and --only-cached"),
      (["--sign", "/dev/zero"], "--sign: '/dev/zero' has more than 64 KiB"),
      (["--dpop", "/dev/zero", "--auth", "t"], "--dpop: '/dev/zero' has more than 64 KiB"),
      (["--sign-algorithm", "ed25519"], "add --sign, --verify-signature or --dpop FILE"),
      (["--sign", "JWK", "--sign-algorithm", "hmac-sha256"], "is one for ecdsa-p256-sha256"),
      (["--verify-signature", "NAMED", "--sign-algorithm", "ed25519"], "leave out --sign-algorithm"),
      (["--dpop", "KEY", "--auth", "user:password"], "--dpop and --auth USER:PASSWORD cannot be combined"),
      (["--dpop", "KEY", "--auth", "i:k", "--aws-sigv4", "aws:amz:r:s"], "--dpop and --aws-sigv4 cannot be combined"),
      (["--dpop", "KEY", "--session", "new"], "--dpop needs --auth TOKEN"),
    ] as [([String], String)])
  func wrongOptionsAreExplained(_ options: [String], _ problem: String) async throws {
    let named = Self.jwk.replacing("{", with: "{\"alg\":\"ES256\",")
    let files = [
      "KEY": try file(Self.pem, "pem"), "TEXT": try file("text", "text"), "JWK": try file(Self.jwk, "jwk"),
      "NAMED": try file(named, "named"),
    ]
    let result = try await run.run(["get", "http://127.0.0.1:1/"] + options.map { files[$0] ?? $0 })

    #expect(result.code == .failure)
    #expect(result.errors.text.contains(problem), "\(result.errors.text)")
  }

  @Test func aKeyThatOthersCanReadIsReported() async throws {
    let server = try LoopbackServer { _ in .text("ok") }
    let path = try file(Self.pem, mode: 0o644)

    let result = try await run.run(["get", server.url.absoluteString, "--quiet", "--sign", path])

    #expect(result.code == .success)
    #expect(result.errors.text.contains("chmod 600"))
  }

  @Test func aLinkToAKeyThatOnlyItsOwnerCanReadIsNotReported() async throws {
    let server = try LoopbackServer { _ in .text("ok") }
    let link = run.folder.file("link")
    try FileManager.default.createSymbolicLink(
      atPath: link.path, withDestinationPath: try file(Self.pem))

    let result = try await run.run(["get", server.url.absoluteString, "--quiet", "--sign", link.path])

    #expect(result.code == .success)
    #expect(result.errors.text.isEmpty, "\(result.errors.text)")
  }

  @Test func theCredentialsOfASessionAndTheProofNeedEachOther() async throws {
    let server = try LoopbackServer { _ in .text("ok") }
    let (url, key) = (server.url.absoluteString, try file(Self.jwk))
    #expect(try await run("get", url, "--session=bound", "--auth=t", "--dpop", key).code == .success)
    #expect(try await run("get", url, "--session=plain", "--auth=u:p").code == .success)

    let unproved = try await run("get", url, "--session=bound")
    let unbound = try await run("get", url, "--session=plain", "--dpop", key)

    #expect(unproved.code == .failure && unproved.errors.text.contains("add --dpop FILE"))
    #expect(unbound.code == .failure && unbound.errors.text.contains("--dpop and the credentials of --session"))
    #expect(server.requests.count == 2)
    #expect(try await run("get", url, "--session=bound", "--dpop", key).code == .success)
    #expect(server.requests.last?.fields[.authorization] == "DPoP t")
  }
}
