import MartletSemantics
import Testing

@Suite("Challenges (RFC 9110 §11)")
struct AuthenticationChallengeTests {
  /// Returns each challenge as `scheme|parameter|…` or `scheme|token68`.
  private func summary(_ lines: [String]) -> [String] {
    var fields = HTTPFields()
    for line in lines { fields.append(line, for: .wwwAuthenticate) }
    return AuthenticationChallenge.challenges(in: fields).map { challenge in
      let parameters = challenge.parameters.map { "\($0.name.canonicalName)=\($0.value)" }
      return ([challenge.scheme] + (challenge.token68.map { [$0] } ?? parameters)).joined(separator: "|")
    }
  }

  @Test(
    arguments: [
      // §11.6.1: one challenge, several in one line
      (#"Basic realm="simple""#, ["Basic|realm=simple"]),
      (
        #"Basic realm="simple", Newauth realm="apps", type=1, title="Login to \"apps\"""#,
        ["Basic|realm=simple", #"Newauth|realm=apps|type=1|title=Login to "apps""#]
      ),
      (
        #"Newauth realm="apps", type=1, title="Login to \"apps\"", Basic realm="simple""#,
        [#"Newauth|realm=apps|type=1|title=Login to "apps""#, "Basic|realm=simple"]
      ),
      // a scheme alone; commas in quotes; empty elements (§5.6.1.2); white space around the equals sign (BWS)
      ("Negotiate", ["Negotiate"]),
      ("Negotiate, NTLM", ["Negotiate", "NTLM"]),
      (#"Digest qop="auth,auth-int", nonce="a,b""#, ["Digest|qop=auth,auth-int|nonce=a,b"]),
      (#", Basic , , realm="a",, charset="UTF-8" ,"#, ["Basic|realm=a|charset=UTF-8"]),
      ("Basic realm = \"a\" , charset\t=\t\"UTF-8\"", ["Basic|realm=a|charset=UTF-8"]),
      // §11.2: token68, with its padding; or parameters, whose values may be tokens
      ("Negotiate YIIJvwYGKwYBBQUCo==", ["Negotiate|YIIJvwYGKwYBBQUCo=="]),
      ("Negotiate a-._~+/1=, Basic realm=x", ["Negotiate|a-._~+/1=", "Basic|realm=x"]),
      // §11.2: a parameter's name occurs once; the first counts
      ("Basic realm=a, REALM=b", ["Basic|realm=a"]),
      // syntax errors of real servers
      ("Basic realm=My Site", ["Basic|realm=My Site"]),
      ("Basic realm=", ["Basic|realm="]),
      (#"Basic realm="""#, ["Basic|realm="]),
      (#"Digest realm="a" nonce="b" qop=auth"#, ["Digest|realm=a|nonce=b|qop=auth"]),
      (#"Basic realm="open"#, ["Basic|realm=open"]),
      (#"Basic, realm="a""#, ["Basic|realm=a"]),
      ("bAsIc ReAlM=a", ["bAsIc|realm=a"]),
      // invalid text is ignored
      ("realm=a", []), ("", []), ("=", []), ("@#, \u{7F}", []), (#""Basic""#, []), ("Basic/x", []),
      ("a=b, Basic realm=c", ["Basic|realm=c"]),
    ] as [(String, [String])])
  func aLineIsParsed(_ line: String, expected: [String]) {
    #expect(summary([line]) == expected)
  }

  @Test func aValueMayBeFollowedByThousandsWithoutACommaBetweenThem() throws {
    let fields: HTTPFields = [.wwwAuthenticate: "Basic " + String(repeating: #"a="""#, count: 60_000)]
    let challenges = AuthenticationChallenge.challenges(in: fields)
    #expect(challenges.count == 1)
    #expect(challenges.first?.parameters.map { $0.value } == [""])
  }

  @Test(arguments: [" ", ", "]) func theFirstOfEachNameCountsAmongThousands(separator: String) throws {
    let names = (0..<10_000).map { "n\($0)" }
    let parameters = (names + names).enumerated().map { "\($1)=\"\($0)\"" }
    let fields: HTTPFields = [.wwwAuthenticate: "Basic " + parameters.joined(separator: separator)]
    let challenge = try #require(AuthenticationChallenge.challenges(in: fields).first)
    #expect(challenge.parameters.map { $0.name.rawName } == names)
    #expect(challenge.parameters["n9999"] == "9999")
  }

  @Test func eachChallengeHasItsOwnNames() {
    #expect(summary([#"Basic realm="a", Digest realm="b""#]) == ["Basic|realm=a", "Digest|realm=b"])
  }

  @Test func severalLinesAreOneList() {
    #expect(
      summary([#"Digest realm="a""#, #"nonce="n", Basic realm="b"#, "Bearer"])
        == ["Digest|realm=a|nonce=n", "Basic|realm=b", "Bearer"])
  }

  @Test func schemesAreCaseInsensitive() throws {
    let challenge = try #require(AuthenticationChallenge.challenges(in: [.wwwAuthenticate: "DIGEST x=y"]).first)
    #expect(challenge.isScheme("Digest"))
    #expect(!challenge.isScheme("Dig"))
    #expect(challenge.realm == nil)
  }

  @Test func credentialsAreParsedLikeChallenges() {
    let fields: HTTPFields = [.authorization: #"Digest username="a", response="b""#]
    let read = AuthenticationChallenge.challenges(in: fields, .authorization)
    #expect(read.first?.parameters["username"] == "a")
  }

  @Test func descriptionsContainOnlySchemeAndRealm() throws {
    let fields: HTTPFields = [.wwwAuthenticate: #"Digest realm="a", nonce="hidden", Negotiate hidden"#]
    let challenges = AuthenticationChallenge.challenges(in: fields)
    #expect(challenges.count == 2)
    for challenge in challenges {
      var dumped = ""
      dump(challenge, to: &dumped)
      #expect(!"\(challenge) \(dumped) \(String(reflecting: challenge))".contains("hidden"))
    }
  }

  @Test(arguments: [
    (#"Bearer realm="example""#, ["", "", "", "true"]),
    (
      #"Bearer realm="example", error="invalid_token", error_description="The access token expired""#,
      ["invalid_token", "The access token expired", "", "true"]
    ),
    (
      #"bearer error=insufficient_scope, scope="openid profile""#,
      ["insufficient_scope", "", "openid profile", "false"]
    ),
    (#"Bearer error="invalid_request""#, ["invalid_request", "", "", "false"]),
    (#"Bearer error="something_new""#, ["something_new", "", "", "true"]),
    (#"DPoP error="invalid_token", algs="ES256 PS256""#, ["invalid_token", "", "", "true"]),
    (#"dpop error="use_dpop_nonce""#, ["use_dpop_nonce", "", "", "false"]),
    (#"DPoP error="invalid_dpop_proof""#, ["invalid_dpop_proof", "", "", "true"]),
  ])
  func bearerErrorsAreParsed(_ line: String, expected: [String]) throws {
    let challenge = try #require(AuthenticationChallenge.challenges(in: [.wwwAuthenticate: line]).first)
    let error = try #require(BearerError(challenge))
    #expect([error.code, error.message ?? "", error.scope ?? "", "\(error.mayBeSolvedByNewToken)"] == expected)
  }

  @Test func anotherSchemeHasNoBearerError() throws {
    let challenge = try #require(AuthenticationChallenge.challenges(in: [.wwwAuthenticate: "Basic realm=a"]).first)
    #expect(BearerError(challenge) == nil)
  }
}
