@_spi(Toolkit) import MartletEngine
@_spi(Credentials) import MartletSemantics
import TestSupport
import Testing

@Suite("Digest answers with the system's hashes (RFC 7616 §3.4, §3.9)")
struct MessageDigestTests {
  private static let nonce = "7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v"
  private static let clientNonce = "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ"
  private static let mufasa = Credential(user: "Mufasa", password: "Circle of Life")

  private static func answer(
    _ challenge: String, _ credential: Credential = mufasa, clientNonce: String = clientNonce, nonce: String? = nil,
    count: UInt32 = 1, method: HTTPMethod = .get, _ text: String = "http://www.example.org/dir/index.html"
  ) throws -> DigestAnswer {
    let challenges = AuthenticationChallenge.challenges(in: [.wwwAuthenticate: challenge])
    let challenge = try #require(challenges.first.flatMap(DigestChallenge.init))
    let session = DigestSession(challenge, clientNonce: clientNonce, nonce: nonce, count: count)
    return DigestAnswer(in: session, with: credential, for: (method, url(text)))
  }

  private static func parameters(_ answer: DigestAnswer) throws -> FieldParameters {
    let value = try #require(try answer.authorization(hash: MessageDigest.hash))
    let fields: HTTPFields = [.authorization: value]
    return try #require(AuthenticationChallenge.challenges(in: fields, .authorization).first).parameters
  }

  private static func challenge(_ rest: String) -> String {
    #"Digest realm="http-auth@example.org", nonce="\#(nonce)", opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS""#
      + rest
  }

  @Test(arguments: [
    // §3.9.1
    (#", qop="auth, auth-int", algorithm=MD5"#, "8ca523f5e9506fed4657c9700eebdbec"),
    (
      #", qop="auth, auth-int", algorithm=SHA-256"#,
      "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1"
    ),
    // computed with another implementation of the hashes
    (#", qop=auth"#, "8ca523f5e9506fed4657c9700eebdbec"),
    (
      #", qop=auth, algorithm=SHA-512-256"#, "430d05014cecc49cab6fbe03176d41a1da86cbfe24a16580e22aaad928d960d0"
    ),
    (#", qop=auth, algorithm=MD5-sess"#, "e783283f46242139c486a698fec7211d"),
    (
      #", qop=auth, algorithm=SHA-256-sess"#, "2fd51b3a77ad75bad6afad6003e818d767133c46d9e2749e7f5232ae1ea3efd7"
    ),
    (
      #", qop=auth, algorithm=SHA-512-256-sess"#, "3f2a34f923c38b0fb26dce2fdfc2ce326c23cecf86fbb1444f3e51fbbc2cb92e"
    ),
    // RFC 2069, without a quality of protection
    (#", algorithm=MD5"#, "7b2cc3b30e75b4777ea31027084363fd"),
    (#", algorithm=SHA-256"#, "a1306b0595a6c7fe96c448631fb5cfbd5107bd1fe1da729d978dd7446b812363"),
  ])
  func responsesAreThoseOfTheRFC(_ rest: String, expected: String) throws {
    #expect(try Self.parameters(try Self.answer(Self.challenge(rest)))["response"] == expected)
  }

  @Test func allParametersAreSentBack() throws {
    let value = try Self.answer(Self.challenge(", qop=auth, algorithm=MD5")).authorization(hash: MessageDigest.hash)
    #expect(
      value == """
        Digest username="Mufasa", realm="http-auth@example.org", nonce="\(Self.nonce)", uri="/dir/index.html", \
        algorithm=MD5, response="8ca523f5e9506fed4657c9700eebdbec", \
        opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS", qop=auth, nc=00000001, cnonce="\(Self.clientNonce)"
        """)
  }

  @Test func theExampleOfRFC2617IsAnswered() throws {
    let challenge = """
      Digest realm="testrealm@host.com", qop="auth,auth-int", nonce="dcd98b7102dd2f0e8b11d0f600bfb0c093", \
      opaque="5ccc069c403ebaf9f0171e9517f40e41"
      """
    let credential = Credential(user: "Mufasa", password: "Circle Of Life")
    let parameters = try Self.parameters(try Self.answer(challenge, credential, clientNonce: "0a4f113b"))

    #expect(parameters["response"] == "6629fae49393a05397450978507c4ef1")
    #expect(parameters["algorithm"] == nil)  // not sent if the server named none: old servers do not support it
  }

  // §3.9.2 with the figures of erratum 4897
  @Test func theUserNameIsHashedOrEncoded() throws {
    let challenge = """
      Digest realm="api@example.org", qop="auth", algorithm=SHA-512-256, \
      nonce="5TsQWLVdgBdmrQ0XsxbDODV+57QdFR34I9HAbC/RVvkK", opaque="HRPCssKJSGjCrkzDg8OhwpzCiGPChXYjwrI2QmXDnsOS", \
      charset=UTF-8
      """
    let credential = Credential(user: "Jäsøn Doe", password: "Secret, or not?")
    func parameters(_ rest: String) throws -> FieldParameters {
      try Self.parameters(
        try Self.answer(
          challenge + rest, credential, clientNonce: "NTg6RKcb9boFIAS3KrFK9BGeh+iDa/sm6jUMp2wds69v",
          "http://api.example.org/doe.json"))
    }
    let response = "3798d4131c277846293534c3edc11bd8a5e4cdcbff78b05db9d95eeb1cec68a5"
    let hashed = try parameters(", userhash=true")
    let encoded = try parameters("")

    #expect(hashed["response"] == response)
    #expect(hashed["username"] == "793263caabb707a56211940d90411ea4a575adeccb7e360aeb624ed06ece9b0b")
    #expect(hashed["userhash"] == "true" && hashed["username*"] == nil)
    #expect(encoded["response"] == response)
    #expect(encoded["username*"] == "UTF-8''J%C3%A4s%C3%B8n%20Doe")
    #expect(encoded["username"] == nil && encoded["userhash"] == nil)
  }

  @Test func theCountIsWrittenWithEightDigits() throws {
    let answer = try Self.answer(Self.challenge(", qop=auth"), nonce: "next", count: 0xAB)
    let parameters = try Self.parameters(answer)
    #expect(parameters["nc"] == "000000ab")
    #expect(parameters["nonce"] == "next")
  }

  // The key of a session is derived from its first nonce (§3.4.2), and stays the same with another nonce.
  @Test func theKeyOfASessionIsDerivedFromItsFirstNonce() throws {
    let first = try Self.answer(Self.challenge(", algorithm=MD5-sess"), nonce: "next")
    let other = try Self.answer(
      Self.challenge(", algorithm=MD5-sess").replacing(Self.nonce, with: "next"), nonce: "next")
    #expect(try Self.parameters(first)["response"] != Self.parameters(other)["response"])
  }

  @Test(
    arguments: [
      ("http://a", .get, "/"), ("http://a?x=y", .get, "/?x=y"), ("http://a//b", .get, "//b"),
      ("http://a/b%20c/../d?e=%2F#f", .get, "/b%20c/../d?e=%2F"), ("http://a/?", .get, "/?"),
      // RFC 9112 §3.2.4
      ("http://a", .options, "*"), ("http://a#f", .options, "*"), ("http://a/", .options, "/"),
      ("http://a?", .options, "/?"), ("http://a?x", .options, "/?x"), ("http://a", "options", "/"),
    ] as [(String, HTTPMethod, String)])
  func theTargetIsThatOfTheRequestLine(_ text: String, method: HTTPMethod, expected: String) {
    #expect(DigestAnswer.target(of: url(text), for: method) == expected)
  }

  /// §3.4.3, computed with another implementation of the hashes.
  @Test(arguments: [
    (", algorithm=MD5", Data("hello".utf8), "23fef4d928a3e9fa6e0b0de51288c997"),
    (", algorithm=MD5", Data(0...255), "3020cfbe48c6d9002a1678b701da6586"),
    (", algorithm=MD5-sess", Data("hello".utf8), "1f00ae1cf4fdcb90e9cfc3b1e22118b7"),
    (
      ", algorithm=SHA-256", Data("hello".utf8), "c98b95dbdb463c4483e324bced57d591946a6f84098142757b1333c52c47d62e"
    ),
    (
      ", algorithm=SHA-256-sess", Data(0...255), "ab3269c7aad8e803fc91f21589d8d0a723201d426da7049bb01268d15735804d"
    ),
  ])
  func answerCoversTheBodyIfTheServerRequiresThat(_ rest: String, _ body: Data, expected: String) throws {
    var answer = try Self.answer(Self.challenge(#", qop="auth-int""# + rest), method: .post)
    answer.body = body
    let parameters = try Self.parameters(answer)
    #expect(parameters["response"] == expected)
    #expect(parameters["qop"] == "auth-int" && parameters["nc"] == "00000001")
    // the server's proof would cover the body of its response
    let info = try #require(AuthenticationInfo([.authenticationInfo: "rspauth=\"\(expected)\""]))
    #expect(answer.isProven(by: info, hash: MessageDigest.hash) == nil)
  }

  @Test(arguments: [
    (", algorithm=MD5", "8804a53d3640a40a4f73cea12c5ba451"),
    (", algorithm=SHA-256", "8bdf6f15638e260831e905028de5450562816d093c9bfc5c13d3a46adcdde940"),
  ])
  func answerCoversAnEmptyBodyToo(_ rest: String, expected: String) throws {
    let answer = try Self.answer(Self.challenge(#", qop="new, AUTH-INT""# + rest))
    #expect(try Self.parameters(answer)["response"] == expected)
  }

  @Test func quotesAreEscaped() throws {
    let credential = Credential(user: #"an"na\"#, password: "x")
    let answer = try Self.answer(#"Digest realm="a \"b\"", nonce="n""#, credential)
    let value = try #require(try answer.authorization(hash: MessageDigest.hash))
    #expect(value.contains(#"username="an\"na\\""#))
    #expect(value.contains(#"realm="a \"b\"""#))
  }

  @Test func withoutTheHashThereIsNoAnswer() throws {
    #expect(try Self.answer(Self.challenge("")).authorization { _, _ in nil } == nil)
  }

  @Test func aControlCharacterIsRefused() throws {
    let answer = try Self.answer(Self.challenge(""), Credential(user: "a\nb", password: "secret"))
    #expect(throws: CredentialError.self) { try answer.authorization(hash: MessageDigest.hash) }
  }

  // §3.5: the server's proof is the response without a method.
  @Test(
    arguments: [
      (#"rspauth="9b712497bc9f91499fbcca1dfc5f09a5""#, true),
      (#"qop=auth, rspauth="9B712497BC9F91499FBCCA1DFC5F09A5", nc=00000001, cnonce="\#(clientNonce)""#, true),
      (#"rspauth="00000000000000000000000000000000""#, false),
      // no proof for this answer
      (#"rspauth="""#, nil), (#"nextnonce="x""#, nil),
      (#"rspauth="00000000000000000000000000000000", nc=00000002"#, nil),
      (#"rspauth="00000000000000000000000000000000", cnonce="other""#, nil),
      (#"rspauth="00000000000000000000000000000000", qop=auth-int"#, nil),
    ] as [(String, Bool?)])
  func theServersProofIsChecked(_ line: String, expected: Bool?) throws {
    let answer = try Self.answer(Self.challenge(", qop=auth"))
    let info = try #require(AuthenticationInfo([.authenticationInfo: line]))
    #expect(answer.isProven(by: info, hash: MessageDigest.hash) == expected)
  }

  @Test func theNextNonceIsParsed() {
    #expect(AuthenticationInfo([.authenticationInfo: #"nextnonce="a,b", qop=auth"#])?.nextNonce == "a,b")
    #expect(AuthenticationInfo([.authenticationInfo: #"nextnonce="""#])?.nextNonce == nil)
    #expect(AuthenticationInfo([:]) == nil)
  }
}
