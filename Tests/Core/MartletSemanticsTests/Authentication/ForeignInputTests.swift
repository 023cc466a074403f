import MartletSemantics
import Testing

/// No parser stops the program, whatever its input is.
@Suite(.timeLimit(.minutes(5)))
struct ForeignInputTests {
  /// A generator with the same numbers in every run.
  private struct Generator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
      state &+= 0x9E37_79B9_7F4A_7C15
      var z = state
      z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
      z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
      return z ^ (z >> 31)
    }
  }

  private static let pieces = [
    "Digest", "Basic", "Bearer", "realm", "nonce", "algorithm", "qop", "auth", "MD5-sess", "=", "==", ",", " ", "\t",
    "\"", "\\", "a", "é", "e\u{301}", "\u{301}", "\u{1F468}\u{200D}\u{1F469}", ";", "#", "\n", "\r\n", "machine",
    "login",
    "password", "default", "macdef", "/", "*", "\u{0}", "stale=true",
  ]

  @Test func randomTextIsParsedWithoutATrap() throws {
    var generator = Generator(state: 42)
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
