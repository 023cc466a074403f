import MartletSemantics
import Testing

@Suite(.timeLimit(.minutes(5)))
struct MethodAndStatusTests {
  // RFC 9110 §9.2.1 and §9.2.2; RFC 5789 §2 for PATCH, RFC 10008 §2 for QUERY.
  @Test(arguments: [
    ("GET", true, true), ("HEAD", true, true), ("OPTIONS", true, true), ("TRACE", true, true), ("PUT", false, true),
    ("DELETE", false, true), ("POST", false, false), ("PATCH", false, false), ("CONNECT", false, false),
    ("PROPFIND", true, true), ("QUERY", true, true), ("query", false, false), ("get", false, false),
    ("FROBNICATE", false, false),
  ])
  func methodIsSafeOrIdempotent(_ name: String, isSafe: Bool, isIdempotent: Bool) throws {
    let method = try #require(HTTPMethod(rawValue: name))

    #expect(method.isSafe == isSafe)
    #expect(method.isIdempotent == isIdempotent)
    #expect(method.description == name)
  }

  @Test func constantsAreTheTokensOfTheRFC() {
    let constants: [HTTPMethod] = [.get, .head, .post, .put, .delete, .options, .trace, .patch]

    #expect(constants.map(\.rawValue) == ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH"])
  }

  @Test(arguments: ["", "G T", "GET\r\n", "GÉT", "GET/", "\0"])
  func textThatIsNotATokenIsNotAMethod(_ text: String) {
    #expect(HTTPMethod(rawValue: text) == nil)
  }

  // RFC 9110 §9.1: the method token is case-sensitive.
  @Test func methodsAreCaseSensitive() {
    #expect(HTTPMethod(rawValue: "get") != .get)
  }

  @Test func aMethodLiteralThatIsNotATokenStopsTheProgram() async {
    await #expect(processExitsWith: .failure) { _ = HTTPMethod(stringLiteral: "G T") }
  }

  // RFC 9110 §15: the first digit defines the class; outside 100…599 is invalid.
  @Test(
    arguments: [
      (99, .invalid), (100, .informational), (199, .informational), (200, .successful), (299, .successful),
      (300, .redirection), (399, .redirection), (400, .clientError), (499, .clientError), (500, .serverError),
      (599, .serverError), (600, .invalid), (0, .invalid), (-404, .invalid), (1000, .invalid),
    ] as [(Int, HTTPStatus.Class)])
  func firstDigitIsTheClass(_ code: Int, expected: HTTPStatus.Class) {
    let status = HTTPStatus(code)

    #expect(status.class == expected)
    #expect(status.isInformational == (expected == .informational))
    #expect(status.isSuccessful == (expected == .successful))
    #expect(status.isRedirection == (expected == .redirection))
    #expect(status.isClientError == (expected == .clientError))
    #expect(status.isServerError == (expected == .serverError))
  }

  @Test func statusReadsAsNumberAndPhrase() {
    #expect("\(HTTPStatus.notFound)" == "404 Not Found")
    #expect("\(HTTPStatus.multiStatus)" == "207 Multi-Status")
    #expect("\(HTTPStatus(299))" == "299")
    #expect(HTTPStatus(299).reasonPhrase == "")
    #expect(HTTPStatus.ok < .notFound)
    #expect(HTTPStatus.ok == 200)
  }

  @Test func versionsAreOrdered() {
    #expect([HTTPVersion.http3, .http1_1, .http2, .http1_0].sorted() == [.http1_0, .http1_1, .http2, .http3])
    #expect("\(HTTPVersion.http1_1)" == "HTTP/1.1")
  }
}
