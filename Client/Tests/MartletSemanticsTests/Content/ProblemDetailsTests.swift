import MartletSemantics
import TestSupport
import Testing

/// RFC 9457, a row for each sentence.
@Suite struct ProblemDetailsTests {
  private static let credit = #"""
    {"type": "https://example.com/probs/out-of-credit", "title": "You do not have enough credit.",
     "detail": "Your current balance is 30, but that costs 50.", "instance": "/account/12345/msgs/abc", "balance": 30,
     "accounts": ["/account/12345", "/account/67890"], "status": 403}
    """#

  private static func problem(_ text: String, _ type: String = "application/problem+json") -> ProblemDetails? {
    ProblemDetails(Data(text.utf8), fields: [.contentType: type])
  }

  /// §3, with the example of the RFC.
  @Test func allMembersAreRead() throws {
    let problem = try #require(Self.problem(Self.credit, "application/problem+json; charset=utf-8"))
    #expect(problem.type == "https://example.com/probs/out-of-credit" && problem.status == .forbidden)
    #expect(problem.title == "You do not have enough credit." && problem.instance == "/account/12345/msgs/abc")
    #expect(problem.detail == "Your current balance is 30, but that costs 50.")
    #expect(problem.member("balance", as: Int.self) == 30)
    #expect(problem.member("accounts", as: [String].self) == ["/account/12345", "/account/67890"])
    #expect(problem.member("balance", as: String.self) == nil && problem.member("none", as: Int.self) == nil)
  }

  /// §3.1: members of another type are ignored; §3.1.1: a missing type is about:blank; §3.1.2: the status.
  @Test(
    arguments: [
      ("{}", "about:blank", nil, nil), (#"{"type": null}"#, "about:blank", nil, nil),
      (#"{"type": 3, "title": ["a"], "status": "403"}"#, "about:blank", nil, nil),
      (#"{"type": "probs/x", "title": "a", "status": 99}"#, "probs/x", "a", nil),
      (#"{"type": "urn:x", "title": "", "status": 422.0}"#, "urn:x", "", 422),
      (#"{"status": 1000}"#, "about:blank", nil, nil), (#"{"status": 4.5, "detail": {}}"#, "about:blank", nil, nil),
    ] as [(String, String, String?, Int?)])
  func membersOfAnotherTypeAreIgnored(_ text: String, _ type: String, _ title: String?, _ status: Int?) throws {
    let problem = try #require(Self.problem(text))
    #expect(problem.type == type && problem.title == title && problem.status?.code == status)
    #expect(problem.detail == nil && problem.instance == nil)
  }

  @Test(arguments: [
    (credit, "application/json"), (credit, "text/plain"), (credit, "application/problem+xml"), (credit, "x"),
    ("[]", "application/problem+json"), ("", "application/problem+json"), ("{", "application/problem+json"),
  ])
  func otherBodiesAreNoProblem(_ text: String, _ type: String) { #expect(Self.problem(text, type) == nil) }

  @Test func aLongBodyIsNotRead() {
    let text = #"{"title": "\#(String(repeating: "a", count: 1 << 20))"}"#
    let problem = Self.problem(text)
    #expect(problem == nil)
  }

  @Test func textsAndMembersAreNotShown() throws {
    let text = #"{"type": "https://a.example/?token=hidden", "title": "t", "detail": "hidden", "instance": "hidden"}"#
    let problem = try #require(Self.problem(text))
    #expect(!showsSecret(problem) && "\(problem)".hasSuffix(": t"))
  }
}
