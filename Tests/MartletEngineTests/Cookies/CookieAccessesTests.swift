@testable import MartletEngine
import MartletSemantics
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(5)))
struct CookieAccessesTests {
  /// Whoever visits site after site must not fill the memory with sites that have no cookies any more.
  @Test func whatWasEvictedIsForgotten() async throws {
    let jar = CookieJar(limits: CookieLimits(total: 3))
    for number in 0..<20 {
      let page = url("https://site\(number).example/")
      try await jar.store(setCookie: ["a=1"], for: page)
      #expect(try await jar.cookieHeader(for: page) == "a=1")
    }

    let remembered = (0..<20).filter { number in
      jar.accesses.withLock { !$0.take(jar.site(of: "site\(number).example")).isEmpty }
    }
    #expect(remembered == [17, 18, 19])
  }
}
