import Foundation
import Martlet
import Synchronization
import Testing

/// The state of a session: cookies and answers.
@Suite("Cookies and the cache", .timeLimit(.minutes(2)))
struct StateTests {
  let server: Httpbin
  let session = makeSession()

  init() throws { server = try Httpbin.shared.get() }

  @Test func cookiesComeBack() async throws {
    let set = try await session.echo(HTTPRequest(.get, server("/cookies/set?a=1&b=%22x%20y%22")))
    let again = try await session.echo(HTTPRequest(.get, server("/cookies")))
    let deleted = try await session.echo(HTTPRequest(.get, server("/cookies/delete?a")))

    #expect(set.cookies?["a"] == "1" && again.cookies == set.cookies)
    #expect(deleted.cookies?["a"] == nil && deleted.cookies?["b"] != nil)
    #expect(try await makeSession().echo(HTTPRequest(.get, server("/cookies"))).cookies == [:])
  }

  @Test func aFreshAnswerIsGivenAgain() async throws {
    let log = Sent()
    let session = makeSession { $0.listeners = [log] }
    let (first, _) = try await session.data(for: HTTPRequest(.get, server("/cache/60?one")))
    let (second, response) = try await session.data(for: HTTPRequest(.get, server("/cache/60?one")))

    #expect(first == second && response.networkHead == nil && log.count == 1)
  }

  @Test func aStaleAnswerIsAskedAbout() async throws {
    let log = Sent()
    let session = makeSession { $0.listeners = [log] }
    let target = server("/response-headers?ETag=%22v1%22&Cache-Control=no-cache&one")
    for _ in 0..<2 { _ = try await session.data(for: HTTPRequest(.get, target)) }

    #expect(log.count == 2 && log.conditions == [nil, "\"v1\""])
  }

  /// The requests that were sent over the network.
  private final class Sent: EventListener {
    private let heads = Mutex<[RequestHead]>([])
    var count: Int { heads.withLock { $0.count } }
    var conditions: [String?] { heads.withLock { $0 }.map { $0.fields[.ifNoneMatch] } }

    func receive(_ event: Event, in call: Call) {
      if case .sending(let head) = event { heads.withLock { $0.append(head) } }
    }
  }
}
