@_spi(Credentials) @testable import MartletEngine
import MartletSemantics
import MartletTesting
import TestSupport
import Testing

@Suite("Cookies that belong to a CSRF token", .timeLimit(.minutes(5)))
struct CookieSessionsTests {
  private let home = url("http://a.example/service/")
  private let jar = CookieJar()

  /// Receives a response with a token, to a request that carried the line. The response sets cookies.
  private func holds(_ line: String?, _ set: String...) async throws -> Bool {
    var fields: HTTPFields = [:]
    for value in set { fields.append(value, for: .setCookie) }
    var response = HTTPResponse(url: home, networkHead: ResponseHead(status: .ok, fields: fields), body: .empty)
    response.sentCookies = line.map(Self.fields)
    return await jar.holdsSession(of: response, in: .init())
  }

  private static func fields(_ line: String) -> HTTPFields { line.isEmpty ? [:] : [.cookie: line] }

  /// The cookies in the jar after a response to a request that carried the line.
  private func after(
    _ set: String, sentWith line: String?, to target: URL? = nil, _ method: HTTPMethod = .get,
    _ status: HTTPStatus = .ok
  ) async throws -> String? {
    _ = try await jar.store(
      from: ResponseHead(status: status, fields: [.setCookie: set]), for: target ?? home,
      in: Cookie.Context(method: method), sentWith: line.map(Self.fields))
    return try await jar.cookieHeader(for: home)
  }

  @Test func aResponseToARequestFromBeforeRemoveAllSetsNoCookies() async throws {
    let url = try #require(URL(string: "https://example.com/"))
    let (jar, call) = (CookieJar(), Call())
    let head = ResponseHead(status: .ok, fields: [.setCookie: "id=1"])

    try await jar.removeAll()
    let outcomes = try await jar.store(
      from: head, for: url, in: Cookie.Context(), sentWith: [:], begun: .init(call.id))
    #expect(outcomes.map(\.refusal?.reason) == [.otherSession])
    #expect(try await jar.cookieHeader(for: url) == nil)

    _ = try await jar.store(from: head, for: url, in: Cookie.Context(), sentWith: [:], begun: .init(Call().id))
    #expect(try await jar.cookieHeader(for: url) == "id=1")
  }

  @Test func onlyResponsesOfTheSameSessionReplaceThem() async throws {
    #expect(try await after("id=1", sentWith: "") == "id=1")
    #expect(try await after("id=2", sentWith: "") == "id=2")
    #expect(try await holds("", "id=2"))

    #expect(try await after("id=3", sentWith: "") == "id=2")
    #expect(try await after("id=3", sentWith: "id=1; x=2") == "id=2")
    #expect(try await after("id=; Max-Age=0", sentWith: "id=1") == "id=2")
    #expect(try await after("id=4", sentWith: "x=1; id=2") == "id=4")
    #expect(try await after("id=5; Path=/", sentWith: nil) == "id=4; id=5")
    #expect(try await after("id=; Max-Age=0", sentWith: "id=4; id=5") == "id=5")
    #expect(try await after("id=6", sentWith: "id=5") == "id=6; id=5")
  }

  @Test func aRequestThatCouldNotCarryThemMayReplaceThem() async throws {
    #expect(try await after("id=1; Path=/service", sentWith: "") == "id=1")
    #expect(try await holds("id=1"))
    let logon = url("http://a.example/logon")
    #expect(try await after("id=2; Path=/service", sentWith: "", to: logon) == "id=2")
  }

  @Test func aReplacedValueIsPairedWithNoTokenUntilTheNextOne() async throws {
    _ = try await after("sid=A", sentWith: "")
    #expect(try await holds("", "sid=A"))
    #expect(try await after("sid=N", sentWith: "sid=A") == "sid=N")
    #expect(try await after("sid=L", sentWith: "sid=A", .post, .unauthorized) == "sid=L")
    #expect(try await holds("sid=L"))
    #expect(try await after("sid=X", sentWith: "sid=A") == "sid=L")
  }

  @Test func theLastCookieIsKeptOfASessionThatChangesItWithEveryResponse() async throws {
    _ = try await after("sid=A", sentWith: "")
    #expect(try await holds("", "sid=A"))
    #expect(try await after("sid=B", sentWith: "sid=A") == "sid=B")
    #expect(try await after("sid=C", sentWith: "sid=A") == "sid=C")
  }

  @Test func aSignOutThatWasSentBeforeTheCookieChangedRemovesIt() async throws {
    _ = try await after("sid=A", sentWith: "")
    #expect(try await holds("", "sid=A"))
    #expect(try await after("sid=B", sentWith: "sid=A") == "sid=B")
    #expect(try await after("sid=; Max-Age=0", sentWith: "sid=A") == nil)
  }

  @Test(
    arguments: [
      ("POST", 200, true), ("POST", 302, true), ("PUT", 204, true), ("POST", 401, false), ("POST", 403, false),
      ("POST", 500, false), ("GET", 200, false), ("GET", 302, false), ("HEAD", 200, false),
    ] as [(String, Int, Bool)])
  func theCookieOfALoginThatCarriedNoneIsStored(method: String, status: Int, isTaken: Bool) async throws {
    _ = try await after("sid=A", sentWith: "")
    #expect(try await holds("", "sid=A"))
    let method = try #require(HTTPMethod(rawValue: method))
    #expect(try await after("sid=L", sentWith: "", method, HTTPStatus(status)) == (isTaken ? "sid=L" : "sid=A"))
  }

  @Test func aTokenOfAnotherSessionIsPairedWithTheCookieInTheJar() async throws {
    _ = try await after("sid=B", sentWith: "")
    #expect(try await !holds("", "sid=A"))
    #expect(try await after("sid=X", sentWith: "") == "sid=B")
    #expect(try await holds("sid=B"))
  }

  @Test func aRefusalNamesItsReason() async throws {
    _ = try await after("id=1", sentWith: "")
    _ = try await holds("id=1")
    let head = ResponseHead(status: .ok, fields: [.setCookie: "id=2"])
    let outcomes = try await jar.store(from: head, for: home, in: .init(), sentWith: [:])
    #expect(outcomes.map(\.refusal?.reason) == [.otherSession])
    #expect(outcomes.first?.refusal?.description.contains("CSRF") == true)
  }

  @Test(
    arguments: [
      ("", ["id=1"], "id=1", true), ("id=1", [], "id=1", true), ("id=0", ["id=1"], "id=1", true),
      ("id=1; x=2", ["x=3"], "id=1; x=3", true), ("x=0; id=1", ["x=; Max-Age=0"], "id=1", true),
      ("", ["id=1"], "id=2", false), ("id=1", [], "id=2", false), ("id=0", ["id=1"], "id=0", false),
      ("", [], "id=1", false),
      ("id=1", [], "", false), (nil, ["id=1"], "id=2", true),
    ] as [(String?, [String], String, Bool)])
  func theSessionIsTheSameIfItsCookiesAreThoseOfTheJar(
    line: String?, set: [String], now: String, isSame: Bool
  ) async throws {
    for pair in now.split(separator: "; ") { try await jar.store(setCookie: [String(pair)], for: home) }
    var fields: HTTPFields = [:]
    for value in set { fields.append(value, for: .setCookie) }
    var response = HTTPResponse(url: home, networkHead: ResponseHead(status: .ok, fields: fields), body: .empty)
    response.sentCookies = line.map(Self.fields)
    #expect(await jar.holdsSession(of: response, in: .init()) == isSame)
  }
}
