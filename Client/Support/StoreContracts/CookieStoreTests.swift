import MartletEngine
import MartletSemantics
import MartletTesting
import Testing

/// The contract of cookie stores. The stores, `all`, are those of the target that the suite is compiled in.
@Suite(.timeLimit(.minutes(5)))
struct CookieStoreTests {
  typealias Making = StoreFactory<any CookieStore>

  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  @Test(arguments: all) func anEmptyStoreHasNothing(_ making: Making) async throws {
    let store = try making.store(folder)
    #expect(try await store.cookies(in: "example.com") == [])
    #expect(try await store.count() == 0)
    #expect(try await store.allCookies() == [:])
    try await store.removeAll()
  }

  @Test(arguments: all) func everyPropertyIsKept(_ making: Making) async throws {
    let store = try making.store(folder)
    let cookies = Self.allKinds
    try await store.update("example.com") { $0 = cookies }
    let found = try await store.cookies(in: "example.com")
    #expect(found.count == cookies.count)
    #expect(Set(found) == Set(cookies))
  }

  @Test(arguments: all) func aChangeSeesTheStoredCookies(_ making: Making) async throws {
    let store = try making.store(folder)
    try await store.update("example.com") { $0 = [cookie("a"), session("b")] }
    let names = try await store.update("example.com") { cookies in
      cookies.removeAll { $0.name == "a" }
      cookies.append(cookie("c"))
      return cookies.map(\.name)
    }
    #expect(Set(names) == ["b", "c"])
    #expect(Set(try await store.cookies(in: "example.com").map(\.name)) == ["b", "c"])
  }

  @Test(arguments: all) func aValueCanBeReplaced(_ making: Making) async throws {
    let store = try making.store(folder)
    try await store.update("example.com") { $0 = [cookie("a", "1"), session("b", "1")] }
    try await store.update("example.com") { $0 = $0.map { cookie in with(cookie) { $0.value = "2" } } }
    #expect(try await store.cookies(in: "example.com").map(\.value) == ["2", "2"])
    #expect(try await store.count() == 2)
  }

  @Test(arguments: all) func aSessionCookieCanGetADateAndLoseIt(_ making: Making) async throws {
    let store = try making.store(folder)
    try await store.update("example.com") { $0 = [session("a")] }
    for date in [Date.distantFuture, nil] {
      try await store.update("example.com") { $0 = $0.map { cookie in with(cookie) { $0.expires = date } } }
      #expect(try await store.cookies(in: "example.com").map(\.expires) == [date])
      #expect(try await store.count() == 1)
    }
  }

  @Test(arguments: all) func cookiesAreIdentifiedByNameDomainAndPath(_ making: Making) async throws {
    let store = try making.store(folder)
    let cookies = [
      Cookie(name: "a", value: "1", domain: "example.com", expires: .distantFuture),
      Cookie(name: "a", value: "2", domain: "example.com", isHostOnly: false, expires: .distantFuture),
      Cookie(name: "a", value: "3", domain: "www.example.com", expires: .distantFuture),
      Cookie(name: "a", value: "4", domain: "example.com", path: "/x", expires: .distantFuture),
      Cookie(name: "A", value: "5", domain: "example.com", expires: .distantFuture),
    ]
    try await store.update("example.com") { $0 = cookies }
    #expect(Set(try await store.cookies(in: "example.com")) == Set(cookies))
  }

  @Test(arguments: all) func sitesAreSeparate(_ making: Making) async throws {
    let store = try making.store(folder)
    try await store.update("example.com") { $0 = [cookie("a"), session("b")] }
    try await store.update("example.org") { $0 = [cookie("a")] }
    try await store.update("example.com") { $0 = [] }
    #expect(try await store.cookies(in: "example.com") == [])
    #expect(try await store.cookies(in: "example.org").map(\.name) == ["a"])
    #expect(try await store.allCookies().keys.sorted() == ["example.org"])
  }

  @Test(arguments: all) func partitionsOfAJarAreSeparate(_ making: Making) async throws {
    let jar = CookieJar(store: try making.store(folder))
    let url = try #require(URL(string: "https://www.example.com/"))
    let jars = [jar, jar.partition("anna"), jar.partition("ben")]
    for (number, jar) in jars.enumerated() {
      try await jar.store(setCookie: ["id=\(number)", "kept=\(number); Max-Age=60"], for: url)
    }
    for (number, jar) in jars.enumerated() {
      #expect(try await jar.cookieHeader(for: url) == "id=\(number); kept=\(number)")
      #expect(try await jar.allCookies().map(\.value) == ["\(number)", "\(number)"])
    }

    try await jars[1].removeAll()
    #expect(try await jars[0].allCookies().count == 2)
    #expect(try await jars[1].cookieHeader(for: url) == nil)
    #expect(try await jars[2].cookieHeader(for: url) == "id=2; kept=2")
  }

  @Test(arguments: all) func cookiesAreCountedAndListedBySite(_ making: Making) async throws {
    let store = try making.store(folder)
    try await store.update("example.com") { $0 = [cookie("a"), session("b")] }
    try await store.update("example.org") { $0 = [session("c")] }
    #expect(try await store.count() == 3)
    let all = try await store.allCookies().mapValues { Set($0.map(\.name)) }
    #expect(all == ["example.com": ["a", "b"], "example.org": ["c"]])
  }

  @Test(arguments: all) func removingAllRemovesEveryKey(_ making: Making) async throws {
    let store = try making.store(folder)
    try await store.update("example.com") { $0 = [cookie("a"), session("b")] }
    try await store.removeAll()
    #expect(try await store.count() == 0)
    #expect(try await store.allCookies() == [:])
  }

  @Test(arguments: all) func changesOfManyTasksAreSerialized(_ making: Making) async throws {
    let store = try making.store(folder)
    try await withThrowingTaskGroup { group in
      for _ in 0..<8 {
        group.addTask {
          for _ in 0..<25 {
            try await store.update("example.com") { cookies in
              let number = cookies.first.flatMap { Int($0.value) } ?? 0
              cookies = [cookie("count", String(number + 1)), session("same", String(number + 1))]
            }
            let values = Set(try await store.cookies(in: "example.com").map(\.value))
            #expect(values.count == 1, "a change was seen half done")
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(try await store.cookies(in: "example.com").map(\.value) == ["200", "200"])
  }

  private static let allKinds: [Cookie] = [
    Cookie(name: "plain", value: "1", domain: "example.com"),
    Cookie(name: "", value: "nameless", domain: "example.com"),
    Cookie(name: "empty", value: "", domain: "example.com"),
    Cookie(name: "é", value: "ü \"quoted\" a=b", domain: "xn--bcher-kva.example.com", path: "/ä"),
    Cookie(
      name: "all", value: "x", domain: "example.com", isHostOnly: false, path: "/a/b", expires: .distantFuture,
      isSecure: true, isHTTPOnly: true, sameSite: .strict, created: Date(timeIntervalSince1970: 1_234_567_890.123_456)),
    Cookie(
      name: "none", value: "x", domain: "example.com", expires: Date(timeIntervalSinceNow: 1e6), isSecure: true,
      sameSite: .none),
    with(Cookie(name: "lax", value: "x", domain: "example.com", sameSite: .lax)) {
      $0.lastAccessed = Date(timeIntervalSinceReferenceDate: -0.1)
    },
  ]
}

func cookie(_ name: String, _ value: String = "x") -> Cookie {
  Cookie(
    name: name, value: value, domain: "example.com", expires: .distantFuture, created: Date(timeIntervalSince1970: 1))
}

func session(_ name: String, _ value: String = "x") -> Cookie {
  Cookie(name: name, value: value, domain: "example.com", created: Date(timeIntervalSince1970: 2))
}

func with<Value>(_ value: Value, _ change: (inout Value) -> Void) -> Value {
  var value = value
  change(&value)
  return value
}
