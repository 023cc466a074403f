#if os(Linux)
import MartletEngine
import MartletSemantics
import Synchronization
import TestSupport
import Testing

@testable import MartletSockets

/// Authentication to a proxy for many requests.
struct ProxyAuthenticationTests {
  private typealias Progress = ProxyAuthentication.Progress

  private let get = (method: HTTPMethod.get, target: "http://a.example/x?y")
  private let basic = "Basic YW5uYTpzZWNyZXQ="

  private func make(_ schemes: Set<PasswordScheme> = [.basic, .digest]) -> ProxyAuthentication {
    let count = Counter()
    return ProxyAuthentication(anna(schemes)) { "client\(count.next() == 1 ? "" : "\(count.value)")" }
  }

  private func digest(
    _ nonce: String, stale: Bool = false, algorithm: String = "MD5", realm: String = "squid"
  ) -> HTTPFields {
    [
      .proxyAuthenticate:
        "Digest realm=\"\(realm)\", nonce=\"\(nonce)\", qop=\"auth\", algorithm=\(algorithm)\(stale ? ", stale=true" : "")"
    ]
  }

  /// Nonce and count of an answer.
  private func uses(_ authorization: String?) -> String? {
    let fields: HTTPFields = authorization.map { [.authorization: $0] } ?? [:]
    guard let answer = AuthenticationChallenge.challenges(in: fields, .authorization).first else { return nil }
    return "\(answer.parameters["nonce"] ?? "-") \(answer.parameters["nc"] ?? "-")"
  }

  @Test func theTargetOfAPlainRequestIsItsAbsoluteURL() throws {
    var proxy = make(), progress = Progress()
    #expect(try proxy.authorization(for: get, &progress) == nil)
    #expect(proxy.answers(digest("n1"), &progress))
    let answer = try proxy.authorization(for: get, &progress)
    #expect(answer?.contains("uri=\"http://a.example/x?y\"") == true)
    #expect(answer?.contains("response=\"eb075e8cd1e505b382e287409f388c54\"") == true)
  }

  @Test func laterRequestsAreAnsweredAtOnceWithTheNonceCounted() throws {
    var proxy = make(), first = Progress()
    _ = try proxy.authorization(for: get, &first)
    _ = proxy.answers(digest("n1"), &first)
    #expect(uses(try proxy.authorization(for: get, &first)) == "n1 00000001")
    for expected in ["n1 00000002", "n1 00000003"] {
      var next = Progress()
      #expect(uses(try proxy.authorization(for: get, &next)) == expected)
    }
    // another request learns the same nonce from its own challenge
    var late = Progress()
    #expect(proxy.answers(digest("n1"), &late))
    #expect(uses(try proxy.authorization(for: get, &late)) == "n1 00000004")
  }

  @Test func aStaleOrReplacedNonceIsRenewed() throws {
    var proxy = make(), first = Progress()
    _ = proxy.answers(digest("n1"), &first)
    _ = try proxy.authorization(for: get, &first)

    var second = Progress()
    _ = try proxy.authorization(for: get, &second)
    #expect(proxy.answers(digest("n2"), &second))  // learned by the first, replaced without `stale`
    #expect(uses(try proxy.authorization(for: get, &second)) == "n2 00000001")
    #expect(proxy.answers(digest("n3", stale: true), &second))
    #expect(uses(try proxy.authorization(for: get, &second)) == "n3 00000001")
    #expect(!proxy.answers(digest("n4"), &second))  // its own nonce: the password is wrong
  }

  @Test func anotherRealmWithTheSameNonceIsAnswered() throws {
    var proxy = make(), progress = Progress()
    _ = proxy.answers(digest("n1"), &progress)
    _ = try proxy.authorization(for: get, &progress)
    #expect(proxy.answers(digest("n1", realm: "other"), &progress))
    #expect(try proxy.authorization(for: get, &progress)?.contains("realm=\"other\"") == true)
    #expect(!proxy.answers(digest("n1", realm: "other"), &progress))
  }

  @Test func aProxyThatIsNeverSatisfiedIsAnsweredFourTimes() throws {
    var proxy = make(), progress = Progress(), count = 0
    _ = try proxy.authorization(for: get, &progress)
    while proxy.answers(digest("n\(count)", stale: true), &progress) {
      count += 1
      _ = try proxy.authorization(for: get, &progress)
    }
    #expect(count == 4)
  }

  @Test func whatWasRefusedIsForgotten() throws {
    var proxy = make(), progress = Progress()
    _ = proxy.answers(digest("n1"), &progress)
    _ = try proxy.authorization(for: get, &progress)
    #expect(!proxy.answers(digest("n1"), &progress))
    var next = Progress()
    #expect(try proxy.authorization(for: get, &next) == nil)
  }

  @Test func aRefusalDoesNotForgetWhatAnotherRequestHasLearned() throws {
    var proxy = make(), first = Progress(), second = Progress()
    _ = proxy.answers(digest("n1"), &first)
    _ = try proxy.authorization(for: get, &first)
    _ = proxy.answers(digest("n2"), &second)
    #expect(!proxy.answers(digest("n3"), &first))
    #expect(uses(try proxy.authorization(for: get, &second)) == "n2 00000001")
  }

  @Test func onlyAllowedSchemesAreAnsweredAndTheStrongestFirst() throws {
    let both: HTTPFields = [.proxyAuthenticate: "Basic realm=\"x\", Digest realm=\"x\", nonce=\"n\", qop=\"auth\""]
    let none: HTTPFields = [.proxyAuthenticate: "Negotiate, Bearer realm=\"x\""]
    func answer(_ schemes: Set<PasswordScheme>, _ fields: HTTPFields) throws -> String? {
      var proxy = make(schemes), progress = Progress()
      _ = try proxy.authorization(for: get, &progress)
      guard proxy.answers(fields, &progress) else { return nil }
      return try proxy.authorization(for: get, &progress).map { String($0.prefix { $0 != " " }) }
    }
    #expect(try answer([.basic, .digest], both) == "Digest")
    #expect(try answer([.digest], both) == "Digest")
    #expect(try answer([.digest], [.proxyAuthenticate: "Basic realm=\"x\""]) == nil)
    #expect(try answer([.basic, .digest], [.proxyAuthenticate: "Basic realm=\"x\""]) == "Basic")
    #expect(try answer([.basic], both) == nil)  // it was sent at once and refused
    #expect(try answer([.basic, .digest], none) == nil)
    #expect(try answer([.basic, .digest], digest("n", algorithm: "SHA-256")) == "Digest")
    #expect(try answer([.basic, .digest], digest("n", algorithm: "unknown")) == nil)
    // an origin's challenge does not come from a proxy
    #expect(try answer([.basic, .digest], [.wwwAuthenticate: "Basic realm=\"x\""]) == nil)
  }

  @Test func basicThatWasAskedForIsSentAtOnceFromThenOn() throws {
    var proxy = make(), progress = Progress(), next = Progress()
    #expect(proxy.answers([.proxyAuthenticate: "Basic realm=\"x\""], &progress))
    #expect(try proxy.authorization(for: get, &progress) == basic)
    #expect(try proxy.authorization(for: get, &next) == basic)
    // a proxy that requires Digest from now on
    #expect(proxy.answers(digest("n1"), &next))
    #expect(uses(try proxy.authorization(for: get, &next)) == "n1 00000001")
    // a request that was sent with a Digest answer is not sent with the password afterwards
    #expect(!proxy.answers([.proxyAuthenticate: "Basic realm=\"x\""], &next))
  }

  @Test func theNextNonceOfAResponseIsUsed() throws {
    var proxy = make(), progress = Progress(), next = Progress(), other = Progress()
    _ = proxy.answers(digest("n1"), &progress)
    _ = try proxy.authorization(for: get, &progress)
    _ = try proxy.authorization(for: get, &other)
    proxy.accepted(["Proxy-Authentication-Info": "nextnonce=\"n2\""], progress)
    #expect(uses(try proxy.authorization(for: get, &next)) == "n2 00000001")
    proxy.accepted(["Proxy-Authentication-Info": "nextnonce=\"n9\""], other)  // of an outdated nonce
    proxy.accepted(["Authentication-Info": "nextnonce=\"n9\""], next)  // of the origin
    #expect(uses(try proxy.authorization(for: get, &next)) == "n2 00000002")
  }

  @Test func withoutCredentialsNothingIsSent() throws {
    var proxy = ProxyAuthentication(nil), progress = Progress()
    #expect(try proxy.authorization(for: get, &progress) == nil)
    #expect(!proxy.answers(digest("n1"), &progress))
  }
}
#endif
