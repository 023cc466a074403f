import MartletSemantics
import Testing

@Suite("Digest challenges (RFC 7616 §3.3)")
struct DigestChallengeTests {
  private func strongest(_ line: String, realm: String? = nil) -> String? {
    let challenges = AuthenticationChallenge.challenges(in: [.wwwAuthenticate: line])
    switch PasswordChallenge.strongest(of: challenges, realm: realm) {
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
      // what cannot be answered: unknown algorithms, no nonce, auth-int alone
      ("Digest nonce=a, algorithm=SHA-1024, Basic realm=r", "Basic r"),
      ("Digest realm=a, Basic realm=r", "Basic r"),
      (#"Digest nonce=a, qop="auth-int", Basic realm=r"#, "Basic r"),
      (#"Digest nonce=a, qop="new, auth-int""#, nil),
      ("Negotiate, Bearer realm=r", nil),
      ("", nil),
      // unknown qualities beside auth are ignored; without any it is the old digest
      (#"Digest nonce=a, qop="auth-int,AUTH""#, "md5 a"), (#"Digest nonce=a, qop="""#, "md5 a"),
      (#"Digest nonce=a, qop="new auth""#, "md5 a"),
    ] as [(String, String?)])
  func theStrongestThatCanBeAnsweredIsChosen(_ line: String, expected: String?) {
    #expect(strongest(line) == expected)
  }

  @Test func onlyTheWantedRealmIsAnswered() {
    #expect(strongest("Digest realm=a, nonce=n, Basic realm=b", realm: "b") == "Basic b")
    #expect(strongest("Digest realm=a, nonce=n, Basic realm=b", realm: "c") == nil)
  }

  @Test func aHashThatTheSystemLacksIsPassedOver() {
    let line = "Digest nonce=a, algorithm=MD5, Basic realm=r"
    let challenges = AuthenticationChallenge.challenges(in: [.wwwAuthenticate: line])
    #expect(PasswordChallenge.strongest(of: challenges, realm: nil) { $0 != .md5 } == .basic(realm: "r"))
  }

  @Test func flagsAreReadInAnyCase() throws {
    let line = #"digest nonce="n", stale=TRUE, charset=utf-8, userhash="True", opaque="o", algorithm=md5-SESS"#
    let challenge = try #require(
      AuthenticationChallenge.challenges(in: [.wwwAuthenticate: line]).first.flatMap(DigestChallenge.init))

    #expect(challenge.isStale && challenge.isUTF8 && challenge.hashesUser && challenge.isSession)
    #expect(challenge.opaque == "o" && challenge.realm == "" && !challenge.hasQuality)
  }
}
