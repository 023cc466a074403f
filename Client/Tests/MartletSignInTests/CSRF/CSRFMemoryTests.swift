import CallDoubles
import MartletEngine
import MartletSemantics
@testable import MartletSignIn
import MartletTesting
import TestSupport
import Testing

@Suite("The memory of CSRF tokens", .timeLimit(.minutes(5)))
struct CSRFMemoryTests {
  private static func page(_ number: Int) -> URL { url("http://a.example/pages/\(number)") }

  @Test func theURLsThatWereUsedLastAreKnown() {
    let tokens = CSRFTokens(CSRFOptions())
    for number in 0..<1000 { tokens.recordUse(of: "token", for: Self.page(number)) }
    #expect(tokens.isUsed("token", for: Self.page(0)))

    tokens.recordUse(of: "token", for: Self.page(1000))

    #expect(tokens.isUsed("token", for: Self.page(0)))
    #expect(!tokens.isUsed("token", for: Self.page(1)))
  }

  @Test func theStoreInMemoryKeepsTheTokensThatWereUsedLast() async throws {
    let store = MemoryCSRFTokenStore()
    for number in 0..<1000 { try await store.setToken("\(number)", for: Self.page(number)) }
    #expect(try await store.token(for: Self.page(0)) == "0")

    try await store.setToken("1000", for: Self.page(1000))

    #expect(try await store.token(for: Self.page(0)) == "0")
    #expect(try await store.token(for: Self.page(1)) == nil)
    try await store.setToken(nil, for: Self.page(0))
    #expect(try await store.token(for: Self.page(0)) == nil)
  }

  /// As long as a URL is known, the number of its last fetch shows that the response is old.
  @Test func theTokenOfAnOldResponseIsNotUsedForAForgottenURL() async throws {
    let gate = Gate(), arrived = Gate()
    let server = CSRFServer { request in
      guard request.url.path.hasSuffix("old") else { return nil }
      arrived.open()
      try await gate.wait()
      return .text("page").with("X-CSRF-Token", "old")
    }
    var configuration = SessionConfiguration()
    configuration.cookies = nil
    configuration.options.responseTimeout = nil  // The first request waits for a thousand others.
    let interceptor = CSRFInterceptor { request in
      request.url.path.hasPrefix("/service/") ? CSRFServer.root : request.url
    }
    configuration.interceptors = [interceptor, SessionCookie()]
    let session = HTTPSession(
      transport: MockTransport { try await server.respond(to: $0) }, configuration: configuration)
    let old = Task { try await session.data(for: HTTPRequest(.get, url("http://a.example/service/old"))) }
    try await arrived.wait()
    #expect(try await session.data(for: CSRFServer.post()).1.status == .created)

    for number in 0..<1000 { _ = try await session.data(for: HTTPRequest(.post, Self.page(number))) }
    gate.open()
    _ = try await old.value

    #expect(try await session.data(for: CSRFServer.post()).1.status == .created)
    #expect(server.refusals == 0)
    #expect(server.fetches.count == 1002, "the URL was forgotten")
  }

  @Test func thePathsThatWereUsedLastGetATokenFromTheStart() async throws {
    let server = CSRFServer()
    let session = server.session()
    func isSentAtOnce(_ number: Int) async throws -> Bool {
      let (_, response) = try await session.data(for: HTTPRequest(.post, Self.page(number)))
      #expect(response.status == .created)
      return response.history.isEmpty
    }
    for number in 0..<100 { #expect(try await !isSentAtOnce(number)) }
    #expect(try await isSentAtOnce(0))

    #expect(try await !isSentAtOnce(100))

    #expect(try await isSentAtOnce(0))
    #expect(try await !isSentAtOnce(1))
  }
}
