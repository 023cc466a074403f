@_spi(Credentials) @_spi(Toolkit) import MartletSemantics
import Testing

@Suite("Password challenges: Digest (RFC 7616 §3.3) and Basic")
struct PasswordChallengeTests {
  private func strongest(_ line: String, realm: String? = nil, knowsBody: Bool = false) -> String? {
    let challenges = AuthenticationChallenge.challenges(in: [.wwwAuthenticate: line])
    switch PasswordChallenge.strongest(of: challenges, realm: realm, knowsBody: knowsBody) {
    case .basic(let realm): return "Basic \(realm)"
    case .digest(let challenge): return "\(challenge.algorithm) \(challenge.nonce)"
    case nil: return nil
    }
  }

  @Test(
    arguments: [
      // the strongest algorithm, among equals the first, Digest before Basic
      ("Digest nonce=a, algorithm=MD5, Digest nonce=b, algorithm=SHA-256", "sha256 b"),
      ("Digest nonce=a, algorithm=SHA-512-256, Digest nonce=b, algorithm=SHA-256", "sha512_256 a"),
      ("Digest nonce=a, algorithm=SHA-256-sess, Digest nonce=b, algorithm=sha-256", "sha256 a"),
      ("Basic realm=r, Digest nonce=a", "md5 a"),
      ("Negotiate, Basic realm=r", "Basic r"),
      // unsupported: unknown algorithms, no nonce, only auth-int if the body is not known
      ("Digest nonce=a, algorithm=SHA-1024, Basic realm=r", "Basic r"),
      ("Digest realm=a, Basic realm=r", "Basic r"),
      (#"Digest nonce=a, qop="auth-int", Basic realm=r"#, "Basic r"),
      (#"Digest nonce=a, qop="new, auth-int""#, nil),
      ("Negotiate, Bearer realm=r", nil),
      ("", nil),
      // unknown values of qop are ignored if auth is among them; without qop RFC 2069 applies
      (#"Digest nonce=a, qop="auth-int,AUTH""#, "md5 a"), (#"Digest nonce=a, qop="""#, "md5 a"),
      (#"Digest nonce=a, qop="new auth""#, "md5 a"),
    ] as [(String, String?)])
  func theStrongestSupportedChallengeIsChosen(_ line: String, expected: String?) {
    #expect(strongest(line) == expected)
  }

  @Test(
    arguments: [
      (#"Digest nonce=a, qop="auth-int", Basic realm=r"#, "md5 a"), (#"Digest nonce=a, qop="new, auth-int""#, "md5 a"),
      (#"Digest nonce=a, qop="auth-int", Digest nonce=b, algorithm=SHA-256, qop="auth""#, "sha256 b"),
      (#"Digest nonce=a, qop="auth-conf", Basic realm=r"#, "Basic r"), (#"Digest nonce=a, qop="auth-int-x""#, nil),
    ] as [(String, String?)])
  func qualityThatCoversTheBodyIsChosenWhereTheBodyIsKnown(_ line: String, expected: String?) {
    #expect(strongest(line, knowsBody: true) == expected)
  }

  @Test func onlyTheGivenRealmIsAnswered() {
    #expect(strongest("Digest realm=a, nonce=n, Basic realm=b", realm: "b") == "Basic b")
    #expect(strongest("Digest realm=a, nonce=n, Basic realm=b", realm: "c") == nil)
  }

  @Test(
    arguments: [
      ("Digest realm=a, nonce=n, Basic realm=b", [.digest], .digest), ("Digest realm=a, Basic realm=b", [.digest], nil),
      ("Digest realm=a, nonce=n, algorithm=X, Basic realm=b", [.digest], nil),
      (#"Digest realm=a, nonce=n, qop="auth-int", Basic realm=b"#, [.digest], nil),
      ("Digest realm=a, nonce=n, Basic realm=b", [.basic], .basic), ("Digest realm=a, nonce=n", [.basic], nil),
      ("Digest realm=a, nonce=n, Basic realm=b", [], nil),
    ] as [(String, Set<PasswordScheme>, PasswordScheme?)])
  func onlyAllowedSchemesAreAnswered(_ line: String, _ schemes: Set<PasswordScheme>, expected: PasswordScheme?) {
    let challenges = AuthenticationChallenge.challenges(in: [.wwwAuthenticate: line])
    #expect(PasswordChallenge.strongest(of: challenges, allowing: schemes, realm: nil)?.scheme == expected)
  }

  @Test func aChallengeWithAnUnavailableHashIsSkipped() {
    let line = "Digest nonce=a, algorithm=MD5, Basic realm=r"
    let challenges = AuthenticationChallenge.challenges(in: [.wwwAuthenticate: line])
    #expect(PasswordChallenge.strongest(of: challenges, realm: nil) { $0 != .md5 } == .basic(realm: "r"))
  }

  @Test func flagsAreCaseInsensitive() throws {
    let line = #"digest nonce="n", stale=TRUE, charset=utf-8, userhash="True", opaque="o", algorithm=md5-SESS"#
    let challenge = try #require(
      AuthenticationChallenge.challenges(in: [.wwwAuthenticate: line]).first.flatMap(DigestChallenge.init))

    #expect(challenge.isStale && challenge.isUTF8 && challenge.hashesUser && challenge.isSession)
    #expect(challenge.opaque == "o" && challenge.realm == "" && !challenge.hasQualityOfProtection)
  }
}

@Suite("The Basic scheme (RFC 7617)")
struct BasicSchemeTests {
  @Test(arguments: [
    ("Aladdin", "open sesame", "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="),  // §2
    ("test", "123£", "Basic dGVzdDoxMjPCow=="),  // §2.1
    ("", "", "Basic Og=="), ("anna", "a:b:c", "Basic YW5uYTphOmI6Yw=="),
  ])
  func userAndPasswordAreEncoded(_ user: String, _ password: String, expected: String) throws {
    #expect(try BasicScheme.authorization(for: Credential(user: user, password: password)) == expected)
  }

  @Test(arguments: [("a:b", "secret"), ("a\nb", "secret"), ("a", "sec\u{7F}ret"), ("a", "sec\rret"), ("a\0", "secret")])
  func colonsInUserNamesAndControlCharactersAreErrors(_ user: String, _ password: String) {
    let error = #expect(throws: CredentialError.self) {
      try BasicScheme.authorization(for: Credential(user: user, password: password))
    }
    #expect(error?.description.contains("secret") == false)
  }

  // §2.2: all paths at or deeper than the last symbolic element of the path.
  @Test(arguments: [
    ("http://example.com/docs/index.html", "/docs/"), ("http://example.com/docs/", "/docs/"),
    ("http://example.com/a?b=/c/d", "/"), ("http://example.com", "/"), ("http://example.com/a/b/c", "/a/b/"),
  ])
  func theProtectionSpaceIsAPathPrefix(_ text: String, expected: String) throws {
    #expect(BasicScheme.protectedPath(of: try #require(URL(string: text))) == expected)
  }

  @Test func descriptionsOfCredentialsContainNoSecrets() {
    let credential = Credential(user: "anna", password: "secret")
    var dumped = ""
    dump([credential], to: &dumped)
    let shown = "\(credential) \(String(reflecting: credential)) \(dumped)"
    #expect(!shown.contains("secret") && !shown.contains("anna"))
  }
}
