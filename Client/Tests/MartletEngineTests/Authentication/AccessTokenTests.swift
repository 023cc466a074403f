import Foundation
import MartletEngine
import MartletSemantics
import MartletTesting
import Testing

@Suite struct AccessTokenTests {
  private func token(_ json: String) throws -> AccessToken {
    try JSONDecoder().decode(AccessToken.self, from: Data(json.utf8))
  }

  @Test func responseOfATokenEndpointIsAToken() throws {
    let before = Date.now
    let token = try token(
      #"{"access_token": "a", "token_type": "DPoP", "expires_in": 3600, "refresh_token": "r", "scope": "x y", "z": 1}"#)
    #expect(token.value == "a" && token.type == "DPoP" && token.refreshToken == "r")
    let expires = try #require(token.expires)
    #expect(expires >= before.addingTimeInterval(3600) && expires <= Date.now.addingTimeInterval(3600))
  }

  @Test func onlyTheTokenIsRequired() throws {
    #expect(try token(#"{"access_token": "a"}"#) == AccessToken("a"))
    #expect(throws: DecodingError.self) { try token(#"{"token_type": "Bearer"}"#) }
  }

  @Test(arguments: [
    AccessToken("a"),
    AccessToken("a", type: "DPoP", expires: Date(timeIntervalSince1970: 1_800_000_000), refreshToken: "r"),
  ])
  func storedTokenIsReadAsItWas(_ token: AccessToken) throws {
    let stored = try JSONEncoder().encode(token)
    #expect(try JSONDecoder().decode(AccessToken.self, from: stored) == token)
  }

  @Test(
    arguments: [
      ("1800000000", 1_800_000_000), (#""1800000000""#, 1_800_000_000), (#""2027-01-15T08:00:00Z""#, 1_800_000_000),
      (#""2027-01-15T08:00:00.500Z""#, 1_800_000_000.5), (#""2027-01-15T09:00:00+01:00""#, 1_800_000_000),
      (#""tomorrow""#, nil), ("true", nil), ("null", nil), ("[]", nil),
    ] as [(String, Double?)])
  func theDateOfExpiryIsReadAsServersWriteIt(_ json: String, _ seconds: Double?) throws {
    let token = try token(#"{"access_token": "a", "expires_at": \#(json)}"#)

    #expect(token.expires == seconds.map { Date(timeIntervalSince1970: $0) })
  }

  /// RFC 6749 §A.12. A program that keeps only the refresh token writes an expired token without a value.
  @Test func anEmptyTokenIsReadOnlyForItsRefreshToken() throws {
    let kept = AccessToken("", expires: Date(timeIntervalSince1970: 0), refreshToken: "r")
    #expect(try JSONDecoder().decode(AccessToken.self, from: JSONEncoder().encode(kept)) == kept)
    for members in [
      "", #", "refresh_token": "r""#, #", "expires_at": 0"#, #", "expires_at": 0, "refresh_token": """#,
      #", "expires_at": "9999-01-01T00:00:00Z", "refresh_token": "r""#,
    ] {
      #expect(throws: DecodingError.self, "\(members)") { try token(#"{"access_token": ""\#(members)}"#) }
    }
  }

  @Test func descriptionsOfADecodedTokenShowNothing() throws {
    let token = try token(#"{"access_token": "secret", "refresh_token": "secret"}"#)
    var dumped = ""
    dump(token, to: &dumped)
    #expect(!"\(token) \(String(reflecting: token)) \(dumped)".contains("secret"))
  }
}

@Suite struct ErrorKindTests {
  @Test func kindIsAPatternBesideOtherErrors() throws {
    func caught(_ error: any Error) -> String {
      do { throw error } catch HTTPError.Kind.connectTimeout {
        return "connect"
      } catch let error as HTTPError where error.isTimeout {
        return "timeout"
      } catch HTTPError.Kind.cancelled {
        return "cancelled"
      } catch { return "other" }
    }
    #expect(caught(HTTPError(.connectTimeout, "")) == "connect")
    #expect(caught(HTTPError(.responseTimeout, "")) == "timeout")
    #expect(caught(HTTPError(.cancelled, "")) == "cancelled")
    #expect(caught(CancellationError()) == "other")
  }

  @Test func kindIsAPatternWhereTheErrorIsTyped() {
    func fail() throws(HTTPError) { throw HTTPError(.file, "") }
    do { try fail() } catch HTTPError.Kind.file {
    } catch { Issue.record("the kind is \(error.kind)") }
  }
}
