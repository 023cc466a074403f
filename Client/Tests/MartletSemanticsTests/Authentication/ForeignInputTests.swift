import MartletSemantics
import TestSupport
import Testing

/// No parser stops the program, whatever its input is.
@Suite(.timeLimit(.minutes(5)))
struct ForeignInputTests {
  private static let pieces = [
    "Digest", "Basic", "Bearer", "realm", "nonce", "algorithm", "qop", "auth", "MD5-sess", "=", "==", ",", " ", "\t",
    "\"", "\\", "a", "é", "e\u{301}", "\u{301}", "\u{1F468}\u{200D}\u{1F469}", ";", "#", "\n", "\r\n", "machine",
    "login",
    "password", "default", "macdef", "/", "*", "\u{0}", "stale=true",
  ]

  @Test func randomTextIsParsedWithoutATrap() throws {
    var generator = SeededGenerator(seed: 42)
    let url = try #require(URL(string: "http://a.example/"))
    var answered = 0
    for _ in 0..<20_000 {
      let text = (0..<Int.random(in: 0...24, using: &generator))
        .map { _ in Self.pieces.randomElement(using: &generator) ?? "" }.joined()
      var fields = HTTPFields()
      fields.append(text, for: .wwwAuthenticate)
      fields.append(text, for: .authenticationInfo)
      let challenges = AuthenticationChallenge.challenges(in: fields)
      for challenge in challenges { _ = (BearerError(challenge), "\(challenge)") }
      if let challenge = PasswordChallenge.strongest(of: challenges, realm: nil) {
        var memory = PasswordMemory()
        memory.adopt(challenge, with: Credential(user: text, password: text), for: url, clientNonce: text)
        answered += 1
      }
      _ = AuthenticationInfo(fields)
      _ = try? Netrc(parsing: text)
    }
    #expect(answered > 10)
  }
}
