import Foundation
@_spi(Stores) @testable import MartletEngine
@_spi(Toolkit) import MartletSemantics
import Synchronization
import TestSupport
import Testing

/// The line of the last request, which a jar keeps for the next one.
@Suite(.timeLimit(.minutes(5)))
struct CookieLineTests {
  private static let home = url("https://www.example.com/dir/page")

  @Test(arguments: [
    ("https://www.example.com/dir/page", "strict=1; dir=1; a=1; secure=1"),
    ("https://www.example.com/dir/other?query", "strict=1; dir=1; a=1; secure=1"),
    ("https://www.example.com/other", "a=1; secure=1"),
    ("https://example.com/dir/page", nil),
    ("http://www.example.com/dir/page", "strict=1; dir=1; a=1"),
    ("https://www.example.com:8443/dir/page", "strict=1; dir=1; a=1; secure=1"),
  ])
  func aLineThatIsKeptIsSentOnlyWithRequestsThatHaveTheSameCookies(_ next: String, _ line: String?) async throws {
    let jar = CookieJar()
    let lines = ["strict=1; SameSite=Strict", "dir=1; Path=/dir", "a=1; Path=/", "secure=1; Path=/; Secure"]
    try await jar.store(setCookie: lines, for: Self.home)
    #expect(jar.immediateLine(for: HTTPRequest(.get, Self.home), in: .init()) != nil)

    #expect(jar.immediateLine(for: HTTPRequest(.get, next), in: .init())?.fields[.cookie] == line)
    #expect(try await jar.cookieHeader(for: url(next)) == line)
  }

  @Test
  func aLineThatIsKeptIsNotSentInAnotherContext() async throws {
    let jar = CookieJar()
    try await jar.store(setCookie: ["strict=1; Path=/; SameSite=Strict", "a=1; Path=/"], for: Self.home)
    let request = HTTPRequest(.get, Self.home)
    #expect(jar.immediateLine(for: request, in: .init())?.fields == [.cookie: "strict=1; a=1"])

    #expect(jar.immediateLine(for: request, in: Cookie.Context(isSameSite: false))?.fields == [:])
    #expect(jar.immediateLine(for: request, in: .init())?.fields == [.cookie: "strict=1; a=1"])
  }

  @Test
  func aLineThatIsKeptEndsWithItsCookiesAndWithEveryChange() async throws {
    let time = Mutex(Date(timeIntervalSince1970: 1_800_000_000))
    let jar = CookieJar(now: { time.withLock { $0 } })
    let request = HTTPRequest(.get, Self.home)
    func line() -> String? { jar.immediateLine(for: request, in: .init())?.fields[.cookie] }
    try await jar.store(setCookie: ["a=1; Path=/; Max-Age=10", "b=1; Path=/"], for: Self.home)
    #expect(line() == "a=1; b=1")

    time.withLock { $0 += 9.9 }
    #expect(line() == "a=1; b=1")
    time.withLock { $0 += 0.1 }
    #expect(line() == "b=1")
    try await jar.store(setCookie: ["b=2; Path=/"], for: Self.home)
    #expect(line() == "b=2")
    try await jar.store(setCookie: ["c=1; Path=/"], for: url("https://other.example/"))
    #expect(line() == "b=2")
    try await jar.removeAll()
    #expect(line() == nil)
    try await jar.store(setCookie: ["d=1; Path=/"], for: Self.home)
    #expect(line() == "d=1")
  }

  @Test
  func theTimesOfALineThatIsKeptDecideWhichCookieIsRemoved() async throws {
    let time = Mutex(Date(timeIntervalSince1970: 1_800_000_000))
    let jar = CookieJar(limits: Cookie.Limits(total: 2), now: { time.withLock { $0 } })
    try await jar.store(setCookie: ["a=1"], for: Self.home)
    time.withLock { $0 += 1 }
    try await jar.store(setCookie: ["b=1"], for: url("https://b.example/"))
    for _ in 0..<3 {
      time.withLock { $0 += 1 }
      #expect(jar.immediateLine(for: HTTPRequest(.get, Self.home), in: .init())?.fields == [.cookie: "a=1"])
    }
    time.withLock { $0 += 1 }
    try await jar.store(setCookie: ["c=1"], for: url("https://c.example/"))

    #expect(Set(try await jar.allCookies().map(\.name)) == ["a", "c"])
  }

  /// The cookies of a site with many hosts are found by their domains.
  @Test
  func ofASiteWithManyCookiesARequestGetsTheSameAsOfOneWithFew() async throws {
    let (store, many) = (MemoryCookieStore(), CookieJar())
    let jar = CookieJar(store: store)
    let hosts = ["example.com", "a.example.com", "b.a.example.com", "aexample.com.example.com"]
    for index in 0..<120 {
      let host = index < 40 ? hosts[index % 4] : "h\(index).example.com"
      let lines = ["n\(index)=1; Path=/\(index % 3 == 0 ? "dir" : "")", "d\(index)=1; Domain=\(host)"]
      for jar in [jar, many] { try await jar.store(setCookie: lines, for: url("https://\(host)/dir/")) }
    }
    // Changes in the middle, at the end and of the order.
    for jar in [jar, many] {
      try await jar.store(setCookie: ["n1=2; Path=/", "n5=; Max-Age=0; Path=/"], for: url("https://a.example.com/"))
      try await jar.removeCookies { $0.name.hasSuffix("7") }
    }
    #expect(try await store.cookies(in: "example.com").count > 200)

    for host in hosts + ["c.b.a.example.com", "h50.example.com", "none.example.com"] {
      let request = HTTPRequest(.get, url("https://\(host)/dir/page"))
      let all = CookieList(try await store.cookies(in: "example.com"))
      let target = try #require(CookieRequest(request.url))
      let expected = CookieList.header(all.cookies(for: target, in: .init(), now: .now))
      #expect(jar.immediateLine(for: request, in: .init())?.fields[.cookie] == expected)
      #expect(try await many.cookieHeader(for: request.url) == expected)
      let found = store.immediateCookies(in: "example.com", for: host)
      #expect(found.count < 60)
      #expect(store.immediateCookies(in: "example.com").count == all.cookies.count)
    }
  }
}
