import Foundation
@_spi(Stores) @testable import MartletEngine
import MartletSemantics
import MartletTesting
import Synchronization
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5)))
struct CookieJarTests {
  private static let home = url("https://www.example.com/dir/page")

  @Test
  func cookiesAreSentInOneLine() async throws {
    let jar = CookieJar()
    try await jar.store(
      setCookie: ["a=1", "b=2; Path=/", "c=3; Domain=example.com", "d=4; Path=/other"], for: Self.home)

    #expect(try await jar.cookieHeader(for: Self.home) == "a=1; c=3; b=2")
    #expect(try await jar.cookies(for: url("https://other.example.com/dir/")).map(\.name) == ["c"])
    #expect(try await jar.cookieHeader(for: url("https://example.org/")) == nil)
    #expect(try await jar.cookieHeader(for: url("data:,x")) == nil)
  }

  @Test
  func refusalsAreReturned() async throws {
    let jar = CookieJar()
    let refusals = try await jar.store(
      setCookie: ["a=1", "b=2; Domain=com", "c\u{1}", "a=2; Domain=other.example.com", "__Host-d=3"], for: Self.home)

    #expect(refusals.map(\.reason) == [.publicSuffix, .controlCharacter, .domainMismatch, .prefix])
    #expect(try await jar.store(setCookie: ["a=1"], for: url("data:,x")).map(\.reason) == [.noHost])
    #expect(try await jar.allCookies().map(\.name) == ["a"])
  }

  /// Limits that are changed later have the same minimum.
  @Test(arguments: [Int.min, -1, 0, 1, .max])
  func extremeLimitsAreAtLeastOne(_ limit: Int) async throws {
    var limits = Cookie.Limits()
    (limits.perDomain, limits.total) = (limit, limit)
    #expect(limits == Cookie.Limits(perDomain: limit, total: limit))

    let jar = CookieJar(limits: limits)
    try await jar.store(setCookie: ["a=1", "b=2", "c=3"], for: Self.home)
    try await jar.store(setCookie: ["d=4"], for: url("https://example.org/"))

    #expect(try await jar.allCookies().count == (limit == .max ? 4 : 1))
  }

  @Test
  func cookiesAreReadFromFields() async throws {
    let jar = CookieJar()
    let fields: HTTPFields = [.setCookie: "a=1, b=2", "Server": "x", "set-cookie": "c=3"]

    try await jar.store(from: fields, for: Self.home)

    #expect(try await jar.cookieHeader(for: Self.home) == "a=1, b=2; c=3")
  }

  @Test(arguments: [
    ("com", true), ("co.uk", true), ("github.io", true), ("unknown-top-level", true), ("example.com", false),
    ("me.github.io", false), ("www.ck", false), ("other.ck", true), ("xn--55qx5d.cn", true), ("xn--fiqs8s", true),
    ("a.xn--55qx5d.cn", false), ("com.", true), ("127.0.0.1", false), ("::1", false), ("", false), ("localhost", true),
  ])
  func systemKnowsThePublicSuffixes(_ domain: String, isSuffix: Bool) {
    #expect(PublicSuffixes.system.contains(domain) == isSuffix)
  }

  @Test
  func siteIsTheRegistrableDomainOfTheSystemsList() {
    #expect(PublicSuffixes.system.site(of: "a.b.example.co.uk") == "example.co.uk")
    #expect(PublicSuffixes.system.site(of: "x.me.github.io") == "me.github.io")
    #expect(PublicSuffixes.system.site(of: "github.io") == "github.io")
    #expect(PublicSuffixes.system.site(of: "localhost") == "localhost")
  }

  @Test
  func theListOfPublicSuffixesCanBeReplaced() async throws {
    let jar = CookieJar(publicSuffixes: PublicSuffixes { $0 == "shop.example.com" || $0 == "com" })
    let shop = url("http://a.shop.example.com/")
    #expect(
      try await jar.store(setCookie: ["a=1; Domain=shop.example.com"], for: shop).map(\.reason) == [.publicSuffix])
    #expect(
      try await jar.store(setCookie: ["b=1; Domain=a.shop.example.com", "c=2; Domain=example.com"], for: shop) == [])
    #expect(try await jar.cookieHeader(for: shop) == "b=1; c=2")
    #expect(try await jar.cookieHeader(for: url("http://example.com/")) == "c=2")
  }

  @Test(arguments: [
    ("https://a.example.com/x", "https://b.example.com:8443/", true),
    ("http://example.com/", "http://example.com/", true),
    ("https://example.com/", "http://example.com/", false), ("https://example.com/", "https://example.org/", false),
    ("https://a.github.io/", "https://b.github.io/", false), ("https://a.github.io/", "https://x.a.github.io/", true),
    ("http://127.0.0.1/", "http://127.0.0.1:81/", true), ("data:,x", "data:,x", false),
  ])
  func sameSiteIsSchemeAndRegistrableDomain(_ one: String, _ two: String, isSame: Bool) {
    #expect(CookieJar().isSameSite(url(one), as: url(two)) == isSame)
  }

  @Test
  func sessionCookiesAndDomainsAreRemoved() async throws {
    let jar = CookieJar()
    try await jar.store(setCookie: ["a=1", "b=2; Max-Age=99", "c=3; Domain=example.com"], for: Self.home)
    try await jar.store(setCookie: ["d=4; Max-Age=99"], for: url("https://example.org/"))

    try await jar.removeSessionCookies()
    #expect(try await jar.allCookies().map(\.name) == ["b", "d"])

    try await jar.removeCookies(inDomain: ".EXAMPLE.com")
    #expect(try await jar.allCookies().map(\.name) == ["d"])

    try await jar.removeCookies(inDomain: "ample.org")
    #expect(try await jar.allCookies().count == 1)

    try await jar.removeAll()
    #expect(try await jar.allCookies().isEmpty)
  }

  @Test
  func cookiesCanBeSetAndRemovedWithoutRequests() async throws {
    let jar = CookieJar()
    let cookie = Cookie(name: "id", value: "1", domain: ".Example.com", isHostOnly: false)

    try await jar.set(cookie)
    #expect(try await jar.cookieHeader(for: Self.home) == "id=1")
    try await jar.set(Cookie(name: "id", value: "2", domain: "example.com", isHostOnly: false))
    #expect(try await jar.cookieHeader(for: Self.home) == "id=2")
    try await jar.remove(cookie)
    #expect(try await jar.cookieHeader(for: Self.home) == nil)
    await #expect(throws: Cookie.Refusal.self) {
      try await jar.set(Cookie(name: "id", value: "a\nb", domain: "example.com"))
    }
  }

  @Test
  func settingAnExpiredCookieRemovesTheOneItReplaces() async throws {
    let jar = CookieJar()
    try await jar.set(Cookie(name: "id", value: "1", domain: "example.com"))
    try await jar.set(Cookie(name: "id", value: "1", domain: "example.com", expires: .distantPast))
    #expect(try await jar.allCookies().isEmpty)
  }

  @Test
  func expiryUsesTheClockOfTheJar() async throws {
    let time = Mutex(Date(timeIntervalSince1970: 1_800_000_000))
    let jar = CookieJar(now: { time.withLock { $0 } })
    try await jar.store(setCookie: ["a=1; Max-Age=10"], for: Self.home)
    time.withLock { $0 += 10 }
    #expect(try await jar.cookieHeader(for: Self.home) == nil)
    #expect(try await jar.allCookies() == [])
  }

  @Test
  func jarsWithOneStoreShareItsCookies() async throws {
    let store = MemoryCookieStore()
    try await CookieJar(store: store).store(setCookie: ["a=1"], for: Self.home)
    #expect(try await CookieJar(store: store).cookieHeader(for: Self.home) == "a=1")
  }

  @Test(.timeLimit(.minutes(5)))
  func aLongCookieFileOfOneSiteIsImportedInLinearTime() async throws {
    let jar = CookieJar()
    let text = (0..<20_000).map { "x\($0).example.com\tFALSE\t/\tFALSE\t0\ta\tb" }.joined(separator: "\n")

    let problems = try await jar.importNetscape(text)

    #expect(problems.isEmpty)
    #expect(try await jar.allCookies().count == 3300)
    #expect(try await jar.cookieHeader(for: url("http://x19999.example.com/")) == "a=b")
  }

  @Test
  func aWrittenCookieFileIsReadableByItsOwnerAndReplacesALink() async throws {
    let folder = try TemporaryFolder()
    let target = try folder.write(Data("kept".utf8), to: "target")
    let file = folder.file("cookies.txt")
    try FileManager.default.createSymbolicLink(at: file, withDestinationURL: target)
    let jar = CookieJar()
    try await jar.store(setCookie: ["a=1"], for: Self.home)

    try await jar.exportNetscape(to: file)

    #expect(try String(contentsOf: file, encoding: .utf8) == (try await jar.exportNetscape()))
    #expect(try String(contentsOf: target, encoding: .utf8) == "kept")
    let attributes = try FileManager.default.attributesOfItem(atPath: file.path)
    #expect(attributes[.posixPermissions] as? Int == 0o600)
  }

  @Test
  func cookieFilesAreImportedAndExported() async throws {
    let jar = CookieJar(now: { Date(timeIntervalSince1970: 1_800_000_000) })
    let text = """
      www.example.com\tFALSE\t/\tTRUE\t1800000100\ta\t1
      #HttpOnly_.example.com\tTRUE\t/dir\tFALSE\t0\tb\t2
      .localhost\tTRUE\t/\tFALSE\t0\tc\t3
      www.example.com\tFALSE\t/\tFALSE\t1700000000\tended\t4
      www.example.com\tFALSE\t/\tFALSE\t0\t__Host-d\t5
      nonsense
      """

    let problems = try await jar.importNetscape(text)

    #expect(problems.map(\.line) == [5, 6])
    #expect(problems[0].description.contains("__Host-d") && !problems[0].description.contains("5'"))
    #expect(try await jar.cookieHeader(for: Self.home) == "b=2; a=1")
    #expect(try await jar.cookieHeader(for: url("http://localhost/")) == "c=3")
    #expect(
      try await jar.exportNetscape().split(separator: "\n").suffix(3).sorted() == [
        "#HttpOnly_.example.com\tTRUE\t/dir\tFALSE\t0\tb\t2", "localhost\tFALSE\t/\tFALSE\t0\tc\t3",
        "www.example.com\tFALSE\t/\tTRUE\t1800000100\ta\t1",
      ])
  }

  // MARK: - Limits

  @Test
  func theLeastRecentlyUsedCookieOfADomainIsRemoved() async throws {
    let time = Mutex(Date(timeIntervalSince1970: 1_800_000_000))
    let jar = CookieJar(limits: Cookie.Limits(perDomain: 3), now: { time.withLock { $0 } })
    func tick() { time.withLock { $0 += 1 } }
    for path in ["a", "b", "c"] {
      tick()
      try await jar.store(setCookie: ["\(path)=1; Path=/\(path)"], for: Self.home)
    }
    tick()
    #expect(try await jar.cookieHeader(for: url("https://www.example.com/a")) == "a=1")
    tick()

    try await jar.store(setCookie: ["d=1; Path=/d"], for: Self.home)

    #expect(try await jar.allCookies().map(\.name) == ["a", "c", "d"])
  }

  @Test
  func theLeastRecentlyUsedCookieOfAllIsRemoved() async throws {
    let time = Mutex(Date(timeIntervalSince1970: 1_800_000_000))
    let jar = CookieJar(limits: Cookie.Limits(total: 3), now: { time.withLock { $0 } })
    func tick() { time.withLock { $0 += 1 } }
    for name in ["a", "b", "c"] {
      tick()
      try await jar.store(setCookie: ["\(name)=1"], for: url("https://\(name).com/"))
    }
    tick()
    #expect(try await jar.cookieHeader(for: url("https://a.com/")) == "a=1")
    tick()
    try await jar.store(setCookie: ["d=1"], for: url("https://d.com/"))

    #expect(try await jar.allCookies().map(\.name) == ["a", "c", "d"])
  }

  @Test
  func atMost3300CookiesAreStored() async throws {
    let jar = CookieJar()
    for site in 0..<33 {
      for half in [0..<50, 50..<100] {
        let lines = half.map { "n\($0)=1; Path=/\($0)" }
        try await jar.store(setCookie: lines, for: url("https://site\(site).com/"))
      }
    }
    #expect(try await jar.allCookies().count == 3300)

    try await jar.store(setCookie: ["n99=1; Path=/99"], for: url("https://site33.com/"))

    #expect(try await jar.allCookies().count == 3000)
    #expect(try await jar.cookieHeader(for: url("https://site33.com/99")) == "n99=1")
    #expect(try await jar.cookieHeader(for: url("https://site0.com/0")) == nil)
  }

  @Test
  func atMost180CookiesOfADomainAreStored() async throws {
    let jar = CookieJar()
    for first in stride(from: 0, to: 200, by: 50) {
      try await jar.store(setCookie: (first..<first + 50).map { "n\($0)=1" }, for: Self.home)
    }
    #expect(Set(try await jar.allCookies().map(\.name)) == Set((20..<200).map { "n\($0)" }))
    #expect(try await jar.cookies(for: Self.home).map(\.name) == (20..<170).map { "n\($0)" })
  }

  @Test
  func aResponseSetsAtMost50Cookies() async throws {
    let jar = CookieJar()
    let refusals = try await jar.store(setCookie: (0..<60).map { "n\($0)=1" }, for: Self.home)
    #expect(refusals.map(\.reason) == Array(repeating: .tooMany, count: 10))
    #expect(try await jar.cookies(for: Self.home).map(\.name) == (0..<50).map { "n\($0)" })
  }

  /// The times of access of removed cookies would otherwise fill the memory.
  @Test
  func timesOfAccessAreRemovedWithTheirCookies() async throws {
    let jar = CookieJar(limits: Cookie.Limits(total: 3))
    for number in 0..<20 {
      let page = url("https://site\(number).example/")
      try await jar.store(setCookie: ["a=1"], for: page)
      #expect(try await jar.cookieHeader(for: page) == "a=1")
    }

    let remembered = (0..<20).filter { number in
      jar.memory.accesses.withLock { !$0.take(jar.site(of: "site\(number).example")).isEmpty }
    }
    #expect(remembered == [17, 18, 19])
  }

  // MARK: - The store

  @Test
  func sendingCookiesWritesTheStoreOnceAnHour() async throws {
    let time = Mutex(Date(timeIntervalSince1970: 1_800_000_000))
    let store = CountingStore()
    let jar = CookieJar(store: store, now: { time.withLock { $0 } })
    try await jar.store(setCookie: ["a=1"], for: Self.home)
    for _ in 0..<240 {
      time.withLock { $0 += 60 }
      #expect(try await jar.cookieHeader(for: Self.home) == "a=1")
    }
    #expect(store.updates == 1 + 3)
    #expect(try await jar.allCookies().map(\.lastAccessed) == [time.withLock { $0 }])
  }

  @Test
  func cookiesInMemoryNeedNoAwaitExceptWhenTheirTimesAreDueToBeWritten() async throws {
    let time = Mutex(Date(timeIntervalSince1970: 1_800_000_000))
    let jar = CookieJar(now: { time.withLock { $0 } })
    let request = HTTPRequest(.get, Self.home)
    #expect(jar.immediateLine(for: request, in: .init())?.fields == [:])
    try await jar.store(setCookie: ["a=1"], for: Self.home)
    #expect(jar.immediateLine(for: request, in: .init())?.fields == [.cookie: "a=1"])
    #expect(jar.immediateLine(for: HTTPRequest(.get, "https://example.org/"), in: .init())?.fields == [:])

    time.withLock { $0 += 3601 }
    #expect(jar.immediateLine(for: request, in: .init()) == nil)
    #expect(try await jar.cookieHeader(for: Self.home) == "a=1")
    #expect(jar.immediateLine(for: request, in: .init())?.fields == [.cookie: "a=1"])
    #expect(CookieJar(store: CountingStore()).immediateLine(for: request, in: .init()) == nil)
  }

  @Test
  func manyTasksUseOneJar() async throws {
    let jar = CookieJar()
    try await withThrowingTaskGroup { group in
      for number in 0..<64 {
        group.addTask {
          try await jar.store(setCookie: ["n\(number)=1", "same=\(number)"], for: Self.home)
          _ = try await jar.cookieHeader(for: Self.home)
        }
      }
      try await group.waitForAll()
    }
    #expect(try await jar.allCookies().count == 65)
  }

  @Test
  func theErrorOfTheStoreIsThrown() async throws {
    let jar = CookieJar(store: FailingCookieStore())
    await #expect(throws: FailingCookieStore.Failure.self) { try await jar.cookieHeader(for: Self.home) }
    await #expect(throws: FailingCookieStore.Failure.self) { try await jar.store(setCookie: ["a=1"], for: Self.home) }
    // For a refused cookie, the store is not called.
    #expect(try await jar.store(setCookie: ["a=1; Domain=com"], for: Self.home).count == 1)
  }
}

/// Counts updates.
final class CountingStore: CookieStore {
  private let base = MemoryCookieStore()
  private let count = Mutex(0)
  var updates: Int { count.withLock { $0 } }

  func cookies(in site: String) async throws -> [Cookie] { try await base.cookies(in: site) }

  func update<Result: Sendable>(
    _ site: String, _ change: @escaping @Sendable (inout [Cookie]) -> Result
  ) async throws -> Result {
    count.withLock { $0 += 1 }
    return try await base.update(site, change)
  }

  func count() async throws -> Int { try await base.count() }
  func allCookies() async throws -> [String: [Cookie]] { try await base.allCookies() }
  func removeAll() async throws { try await base.removeAll() }
}

/// A store whose operations all fail.
struct FailingCookieStore: CookieStore {
  struct Failure: Error {}

  func cookies(in site: String) async throws -> [Cookie] { throw Failure() }
  func update<Result: Sendable>(
    _ site: String, _ change: @escaping @Sendable (inout [Cookie]) -> Result
  ) async throws -> Result { throw Failure() }
  func count() async throws -> Int { throw Failure() }
  func allCookies() async throws -> [String: [Cookie]] { throw Failure() }
  func removeAll() async throws { throw Failure() }
}
