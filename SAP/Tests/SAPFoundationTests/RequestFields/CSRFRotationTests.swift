import Foundation
import MartletTesting
import SAPFoundation
import Testing
import TestServers

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

@Suite("CSRF tokens that writes use up, with observers", .timeLimit(.minutes(5)))
struct CSRFRotationTests {
  private static let rules: [@Sendable (inout RotatingServer.Rules) -> Void] = [
    { _ in }, { $0.returnsTokens = true }, { ($0.writesPerToken, $0.endsSessions) = (3, true) },
  ]

  @Test(arguments: rules.indices) func twentyWritesAtOnceAreAllAcceptedOnce(rule: Int) async throws {
    let server = try RotatingServer {
      Self.rules[rule](&$0)
      $0.together = 20
    }
    let configuration = SAPURLSession.plain
    configuration.httpMaximumConnectionsPerHost = 20
    let session = SAPURLSession(configuration: configuration)
    session.register(CSRFTokenObserver(rootUrl: server.root))

    await withTaskGroup(of: Int?.self) { group in
      for number in 0..<20 {
        group.addTask { await session.post(server.root.appending(path: "Orders"), "\(number)").status }
      }
      for await status in group { #expect(status == 201) }
    }

    #expect(Set(server.accepted).count == 20)
    #expect(server.accepted.count == 20)
    #expect(server.sent.values.allSatisfy { $0 <= 5 }, "\(server.sent)")
  }

  @Test func aServerThatGaveNoTokenIsAskedAgainForTheNextWrite() async throws {
    let server = try LoopbackServer { request in
      request.method == .post
        ? .text("no", status: .forbidden).with("X-CSRF-Token", "Required") : .text("no token")
    }
    let session = SAPURLSession(configuration: SAPURLSession.plain)
    session.register(CSRFTokenObserver(rootUrl: server.url))
    #expect(await session.post(server.url("/orders")).status == 403)
    #expect(server.requests.map(\.method) == [.head, .get, .post])
    #expect(await session.post(server.url("/orders")).status == 403)
    #expect(server.requests.map(\.method) == [.head, .get, .post, .head, .get, .post])
  }

  @Test func aSignOutDeletesTheTokenOfTheRootThatAnEarlierRunStored() throws {
    final class Store: CSRFTokenStoring {
      let tokens = Shared<[URL: String]>([:])
      func store(token: String, for url: URL) { tokens.change { $0[url] = token } }
      func token(for url: URL) -> String? { tokens.value[url] }
      func deleteToken(for url: URL) { tokens.change { $0[url] = nil } }
    }
    let root = try #require(URL(string: "https://a.example/service/"))
    let store = Store()
    store.store(token: "from an earlier run", for: root)
    let session = SAPURLSession.observed(by: CSRFTokenObserver(rootUrl: root, tokenStore: store))

    session.clearCredentials()

    #expect(store.tokens.value.isEmpty)
  }
}
