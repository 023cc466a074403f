import MartletSemantics
import TestSupport
import Testing

/// `Strict-Transport-Security` (RFC 6797).
struct StrictTransportPolicyTests {
  typealias Policy = StrictTransportPolicy

  @Test(
    arguments: [
      // the examples of §6.2
      ("max-age=31536000", Policy(maximumAge: 31_536_000)),
      ("max-age=15768000 ; includeSubDomains", Policy(maximumAge: 15_768_000, includesSubdomains: true)),
      (#"max-age="31536000""#, Policy(maximumAge: 31_536_000)),
      ("max-age=0", Policy(maximumAge: 0)),
      ("max-age=0; includeSubDomains", Policy(maximumAge: 0, includesSubdomains: true)),
      // §6.1: the order does not matter, names are case-insensitive, unknown directives are ignored
      ("includesubdomains;MAX-AGE=1", Policy(maximumAge: 1, includesSubdomains: true)),
      ("max-age=1; preload", Policy(maximumAge: 1)), (#"max-age=1; x="a;b""#, Policy(maximumAge: 1)),
      (" ; max-age=1 ;; ", Policy(maximumAge: 1)),
      // a value beyond what can be counted
      ("max-age=99999999999999999999", Policy(maximumAge: 1 << 31)),
      // what does not conform is ignored as a whole
      ("max-age=1; max-age=2", nil), ("max-age=1; includeSubDomains; includeSubDomains", nil), ("max-age", nil),
      ("max-age=", nil), ("max-age=-1", nil), ("max-age=1.5", nil), ("max-age=1d", nil), ("includeSubDomains", nil),
      ("", nil), ("max-age=1; includeSubDomains=1", nil), ("max-age=1; a b", nil),
    ] as [(String, Policy?)])
  func theFieldIsParsed(_ value: String, _ policy: Policy?) {
    #expect(Policy(in: ["Strict-Transport-Security": value]) == policy)
  }

  /// §8.1: only the first of several fields counts.
  @Test func theFirstFieldCounts() {
    var fields: HTTPFields = [:]
    fields.append("max-age=1", forName: "Strict-Transport-Security")
    fields.append("max-age=2", forName: "Strict-Transport-Security")
    #expect(Policy(in: fields) == Policy(maximumAge: 1))
    #expect(Policy(in: [:]) == nil)
  }

  @Test(arguments: [
    ("a.b.example", ["a.b.example", "b.example", "example"]), ("example", ["example"]), ("Example.", ["example"]),
    ("127.0.0.1", []), ("::1", []), ("", []), (".", []),
  ])
  func theHostAndItsSuperdomainsMayHaveAPolicy(_ host: String, _ names: [String]) {
    #expect(Policy.candidates(for: host) == names)
  }

  /// §8.3.
  @Test(
    arguments: [
      ("http://example.com/a?b=%20c#d", "https://example.com/a?b=%20c#d"),
      ("http://example.com:80/", "https://example.com/"),
      ("http://example.com:8080/", "https://example.com:8080/"),
      ("http://u:p@example.com/%2F", "https://u:p@example.com/%2F"),
      ("ws://example.com/socket", "wss://example.com/socket"), ("HTTP://example.com", "https://example.com"),
      ("https://example.com/", nil), ("ftp://example.com/", nil), ("/path", nil),
    ] as [(String, String?)])
  func httpBecomesHTTPS(_ text: String, _ upgraded: String?) throws {
    #expect(Policy.upgraded(url(text))?.absoluteString == upgraded)
  }

  @Test func aListHasHostsWithAndWithoutSubdomains() throws {
    let list = try StrictTransportList(
      parsing: "# ours\r\n\n.example.com\n  login.example.net  \n.Bücher.example\nexample.com")
    #expect(list.count == 3)
    for host in ["example.com", "a.b.example.com", "EXAMPLE.com.", "login.example.net", "a.xn--bcher-kva.example"] {
      #expect(list.contains(host), "\(host)")
    }
    for host in ["example.net", "a.login.example.net", "badexample.com", "com", "127.0.0.1", ""] {
      #expect(!list.contains(host), "\(host)")
    }
  }

  @Test(arguments: ["a\nexample.com/path", "\n127.0.0.1", "\n:80", "a\na b", "a\n..a", "\nu@h", "a\nh:443"])
  func aLineThatIsNoHostIsNamed(_ text: String) {
    let error = #expect(throws: StrictTransportList.InvalidLine.self) { try StrictTransportList(parsing: text) }
    #expect(error?.number == 2)
    #expect(error?.description.hasPrefix("line 2 is not a host") == true)
  }
}
