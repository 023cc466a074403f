@_spi(Toolkit) import MartletSemantics
import Testing

struct PasswordMemoryTests {
  private static let anna = Credential(user: "anna", password: "secret")
  private static let berta = Credential(user: "berta", password: "other")

  private static func url(_ text: String) throws -> URL { try #require(URL(string: text)) }

  private static func digest(_ rest: String, nonce: String = "n") throws -> PasswordChallenge {
    let fields: HTTPFields = [.wwwAuthenticate: "Digest realm=\"r\", qop=\"auth\", nonce=\"\(nonce)\"" + rest]
    return try #require(
      PasswordChallenge.strongest(of: AuthenticationChallenge.challenges(in: fields), realm: nil))
  }

  /// Returns a memory with one accepted answer.
  private static func memory(_ challenge: PasswordChallenge, at text: String) throws -> PasswordMemory {
    var memory = PasswordMemory()
    let url = try url(text)
    memory.adopt(challenge, with: anna, for: url, clientNonce: "c")
    let space = ProtectionSpace(origin: try #require(Origin(url)), realm: challenge.realm)
    let asked = memory.answer(to: (.get, url), in: space)
    let answer = try #require(asked)
    memory.markAccepted(answer, by: url, nextNonce: nil)
    return memory
  }

  private static func digestAnswer(_ memory: inout PasswordMemory, _ text: String) throws -> DigestAnswer? {
    guard case .digest(let answer) = memory.answer(to: (.get, try url(text)), in: nil) else { return nil }
    return answer
  }

  // RFC 7617 §2.2
  @Test(arguments: [
    ("http://a.example/docs/other", true), ("http://a.example/docs/deep/er?x", true), ("http://a.example/docs/", true),
    ("http://a.example/docs", false), ("http://a.example/other", false), ("http://a.example/", false),
    ("https://a.example/docs/other", false), ("http://a.example:81/docs/other", false),
    ("http://b.example/docs/other", false), ("http://sub.a.example/docs/other", false),
  ])
  func basicIsSentWithoutAChallengeBelowTheSamePath(_ text: String, isSent: Bool) throws {
    var memory = try Self.memory(.basic(realm: "r"), at: "http://a.example/docs/index.html")
    #expect(memory.answer(to: (.get, try Self.url(text)), in: nil) == (isSent ? .basic(Self.anna, realm: "r") : nil))
  }

  // RFC 7616 §3.3, domain
  @Test(arguments: [
    ("", "http://a.example/anything", true), ("", "http://b.example/", false),
    (#", domain="/private /docs""#, "http://a.example/private/x", true),
    (#", domain="/private /docs""#, "http://a.example/docs", true),
    (#", domain="/private /docs""#, "http://a.example/other", false),
    (#", domain="http://a.example/in http://b.example/""#, "http://a.example/in/x", true),
    (#", domain="http://a.example/in http://b.example/""#, "http://a.example/out", false),
    (#", domain="http://b.example/""#, "http://b.example/", false),
    (#", domain="/a|b%20c""#, "http://a.example/a%7Cb%20c", true),
  ])
  func digestIsSentWithoutAChallengeInItsDomain(_ rest: String, _ text: String, isSent: Bool) throws {
    var memory = try Self.memory(try Self.digest(rest), at: "http://a.example/private/index.html")
    #expect(try (Self.digestAnswer(&memory, text) != nil) == isSent)
  }

  @Test func nothingIsSentWithoutAChallengeBeforeItWasAccepted() throws {
    var memory = PasswordMemory()
    let url = try Self.url("http://a.example/")
    memory.adopt(.basic(realm: "r"), with: Self.anna, for: url, clientNonce: "")

    #expect(memory.answer(to: (.get, url), in: nil) == nil)
  }

  // RFC 7616 §3.4: nc counts the requests sent with a nonce.
  @Test func aNonceIsNeverUsedTwiceWithTheSameCount() throws {
    var memory = try Self.memory(try Self.digest(""), at: "http://a.example/")
    let url = try Self.url("http://a.example/")

    #expect(try Self.digestAnswer(&memory, "http://a.example/x")?.count == 2)
    memory.adopt(try Self.digest(""), with: Self.anna, for: url, clientNonce: "d")
    let again = try #require(try Self.digestAnswer(&memory, "http://a.example/x"))
    #expect(again.count == 3)
    #expect(again.clientNonce == "c")

    memory.adopt(try Self.digest("", nonce: "m"), with: Self.anna, for: url, clientNonce: "d")
    let renewed = try #require(try Self.digestAnswer(&memory, "http://a.example/x"))
    #expect(renewed.nonce == "m" && renewed.count == 1 && renewed.clientNonce == "d")
  }

  // RFC 7616 §3.5, nextnonce
  @Test func theNextNonceIsUsedWithACountFromOne() throws {
    var memory = try Self.memory(try Self.digest(""), at: "http://a.example/")
    let url = try Self.url("http://a.example/")
    let second = memory.answer(to: (.get, url), in: nil), third = memory.answer(to: (.get, url), in: nil)
    let two = try #require(second), three = try #require(third)

    memory.markAccepted(two, by: url, nextNonce: "next")
    memory.markAccepted(three, by: url, nextNonce: "late")  // an answer with the old nonce

    let answer = try #require(try Self.digestAnswer(&memory, "http://a.example/"))
    #expect(answer.nonce == "next" && answer.count == 1)
    #expect(answer.challenge.nonce == "n" && answer.clientNonce == "c")  // the key of a session is derived from them
  }

  @Test func aRefusedCredentialIsRemovedFromItsSpace() throws {
    var memory = try Self.memory(.basic(realm: "r"), at: "http://a.example/")
    let url = try Self.url("http://a.example/"), origin = try #require(Origin(url))
    let space = ProtectionSpace(origin: origin, realm: "r")

    memory.remove(Self.berta, in: space)
    memory.remove(Self.anna, in: ProtectionSpace(origin: origin, realm: "other"))
    #expect(memory.answer(to: (.get, url), in: nil) == .basic(Self.anna, realm: "r"))
    #expect(memory.answer(to: (.get, url), in: nil, only: UserInformation(Self.berta)) == nil)
    memory.remove(Self.anna, in: space)
    #expect(memory.answer(to: (.get, url), in: nil) == nil)
  }

  @Test(arguments: [("anna", nil, true), ("anna", "secret", true), ("anna", "other", false), ("berta", nil, false)])
  func onlyCredentialsOfTheNamedUserAreSent(_ user: String, _ password: String?, isSent: Bool) throws {
    var memory = try Self.memory(.basic(realm: "r"), at: "http://a.example/")
    let named = UserInformation(user: user, password: password)

    #expect((memory.answer(to: (.get, try Self.url("http://a.example/")), in: nil, only: named) != nil) == isSent)
  }

  @Test func anAcceptedAnswerIsThatOfItsRealmOnly() throws {
    var memory = PasswordMemory()
    let url = try Self.url("http://a.example/")
    for realm in ["one", "two"] { memory.adopt(.basic(realm: realm), with: Self.anna, for: url, clientNonce: "") }

    memory.markAccepted(.basic(Self.anna, realm: "one"), by: url, nextNonce: nil)

    #expect(memory.answer(to: (.get, url), in: nil) == .basic(Self.anna, realm: "one"))
  }

  @Test func theSpaceWithTheLongestPathAnswers() throws {
    var memory = try Self.memory(.basic(realm: "outer"), at: "http://a.example/")
    let inner = try Self.url("http://a.example/in/x")
    memory.adopt(.basic(realm: "inner"), with: Self.berta, for: inner, clientNonce: "")
    memory.markAccepted(.basic(Self.berta, realm: "inner"), by: inner, nextNonce: nil)
    memory.adopt(.basic(realm: "outer"), with: Self.anna, for: inner, clientNonce: "")

    #expect(memory.answer(to: (.get, inner), in: nil) == .basic(Self.berta, realm: "inner"))
    #expect(memory.answer(to: (.get, try Self.url("http://a.example/y")), in: nil) == .basic(Self.anna, realm: "outer"))
  }

  @Test func aPasswordThatIsUsedOutlivesNewerOnes() throws {
    var memory = try Self.memory(.basic(realm: "first"), at: "http://a.example/")
    let first = try Self.url("http://a.example/"), others = try Self.url("http://b.example/")
    for realm in 0..<99 { memory.adopt(.basic(realm: "\(realm)"), with: Self.berta, for: others, clientNonce: "") }
    #expect(memory.answer(to: (.get, first), in: nil) == .basic(Self.anna, realm: "first"))

    memory.adopt(.basic(realm: "last"), with: Self.berta, for: others, clientNonce: "")

    #expect(memory.answer(to: (.get, first), in: nil) == .basic(Self.anna, realm: "first"))
    let space = ProtectionSpace(origin: try #require(Origin(others)), realm: "0")
    #expect(memory.answer(to: (.get, others), in: space) == nil)
  }

  @Test func onlyTheLastHundredSpacesAreKept() throws {
    var memory = try Self.memory(.basic(realm: "first"), at: "http://a.example/")
    let url = try Self.url("http://b.example/")
    for realm in 0..<100 { memory.adopt(.basic(realm: "\(realm)"), with: Self.berta, for: url, clientNonce: "") }

    #expect(memory.answer(to: (.get, try Self.url("http://a.example/")), in: nil) == nil)
  }
}
