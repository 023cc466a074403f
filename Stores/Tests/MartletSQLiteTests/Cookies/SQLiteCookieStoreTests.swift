import Foundation
import MartletEngine
import MartletSQLite
import MartletSemantics
import MartletTesting
import Testing

@Suite(.timeLimit(.minutes(5)))
struct SQLiteCookieStoreTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private func open(_ sessionCookies: SQLiteCookieStore.SessionCookies = .transient) throws -> SQLiteCookieStore {
    try SQLiteCookieStore(at: folder.file("cookies.sqlite"), sessionCookies: sessionCookies)
  }

  @Test func persistentCookiesOutliveTheStore() async throws {
    do { try await open().update("example.com") { $0 = [cookie("a"), session("b")] } }
    let store = try open()
    #expect(try await store.cookies(in: "example.com") == [cookie("a")])
    #expect(try await store.count() == 1)
  }

  @Test func sessionCookiesOutliveTheStoreIfPersistent() async throws {
    do { try await open(.persistent).update("example.com") { $0 = [cookie("a"), session("b")] } }
    #expect(Set(try await open(.persistent).cookies(in: "example.com")) == [cookie("a"), session("b")])
  }

  @Test func storedSessionCookiesAreRemovedIfTransient() async throws {
    do { try await open(.persistent).update("example.com") { $0 = [cookie("a"), session("b")] } }
    #expect(try await open().cookies(in: "example.com") == [cookie("a")])
    #expect(try await open(.persistent).cookies(in: "example.com") == [cookie("a")])
    #expect(try await open().count() == 1)
  }

  @Test func sessionCookiesDoNotReachTheDisk() async throws {
    let store = try open()
    try await store.update("example.com") { $0 = [session("a", "TheSecretValue"), cookie("b")] }
    for name in try folder.names() {
      #expect(try Data(contentsOf: folder.file(name)).range(of: Data("TheSecretValue".utf8)) == nil, "\(name)")
    }
    #expect(try await store.count() == 2)
  }

  @Test func expiredCookiesAreRemovedOnOpening() async throws {
    let expired = Cookie(name: "old", value: "x", domain: "example.com", expires: Date(timeIntervalSinceNow: -10))
    do {
      let store = try open()
      try await store.update("example.com") { $0 = [expired, cookie("a")] }
      #expect(try await store.count() == 2)
    }
    let store = try open()
    #expect(try await store.cookies(in: "example.com") == [cookie("a")])
    #expect(try await store.count() == 1)
  }

  /// A session cookie of one store, and a persistent cookie that another store keeps under the same name.
  @Test func thereIsOneCookieOfEachIdentity() async throws {
    let (first, second) = (try open(), try open())
    let earlier = Date(timeIntervalSinceNow: -10)
    try await first.update("example.com") {
      $0 = [
        Cookie(name: "a", value: "session", domain: "example.com", created: earlier),
        Cookie(name: "b", value: "session", domain: "example.com"),
      ]
    }
    try await second.update("example.com") {
      $0 = [
        Cookie(name: "a", value: "date", domain: "example.com", expires: .distantFuture),
        Cookie(name: "b", value: "date", domain: "example.com", expires: .distantFuture, created: earlier),
      ]
    }

    let found = try await first.cookies(in: "example.com")
    #expect(Dictionary(found.map { ($0.name, $0.value) }) { $0 + $1 } == ["a": "date", "b": "session"])
    #expect(try await first.allCookies()["example.com"]?.count == 2)
    try await first.update("example.com") { $0.removeAll { $0.name == "a" } }
    #expect(try await first.cookies(in: "example.com").map(\.name) == ["b"])
  }

  @Test func storesOfOneFileShareCookies() async throws {
    let (first, second) = (try open(), try open())
    try await first.update("example.com") { $0 = [cookie("a")] }
    #expect(try await second.cookies(in: "example.com") == [cookie("a")])
    try await second.update("example.com") { $0.append(cookie("b")) }
    #expect(try await first.count() == 2)
  }

  /// A cookie of the file and one of the memory, which are always changed together.
  @Test func aChangeIsCompleteWhileOthersRead() async throws {
    let store = try open()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<4 {
        group.addTask {
          while !Task.isCancelled {
            let values = try await store.cookies(in: "example.com").map(\.value)
            #expect(Set(values).count <= 1, "half a change was read")
            await Task.yield()
          }
        }
      }
      for number in 1...500 {
        try await store.update("example.com") { $0 = [cookie("a", "\(number)"), session("b", "\(number)")] }
        #expect(try await store.cookies(in: "example.com").map(\.value) == ["\(number)", "\(number)"])
      }
      group.cancelAll()
      try await group.waitForAll()
    }
  }

  /// A store takes its own changes from memory. Changes of others before, between and after them are not lost.
  @Test(arguments: [SQLiteCookieStore.SessionCookies.transient, .persistent])
  func ownChangesAndThoseOfOthersAreAllSeen(sessionCookies: SQLiteCookieStore.SessionCookies) async throws {
    let (first, second) = (try open(sessionCookies), try open(sessionCookies))
    try await withThrowingTaskGroup(of: Void.self) { group in
      for (own, store) in [first, second].enumerated() {
        group.addTask {
          for number in 0..<200 {
            let site = "site\(number % 7).example"
            try await store.update(site) { cookies in
              cookies.removeAll { $0.name == "s\(own)" }
              cookies += [cookie("s\(own)", "\(number)"), cookie("n\(own)-\(number)")]
            }
            let seen = try await store.cookies(in: site)
            #expect(seen.contains { $0.name == "s\(own)" && $0.value == "\(number)" }, "an own change is not seen")
          }
        }
      }
      try await group.waitForAll()
    }

    let fresh = try await open(sessionCookies).allCookies().mapValues(Set.init)
    #expect(fresh.values.reduce(0) { $0 + $1.count } == 400 + 14)
    for store in [first, second] {
      let copy = try await store.allCookies().mapValues(Set.init)
      #expect(copy == fresh)
      #expect(try await store.count() == 414)
    }
  }

  @Test func processesShareCookiesWithAtomicChanges() async throws {
    let file = folder.file("cookies.sqlite")
    let store = try open()
    let others = try (0..<2).map { _ in try OtherProcess("count", file.path, "300") }
    for _ in 0..<300 {
      try await store.update("example.com") { cookies in
        let number = cookies.first.flatMap { Int($0.value) } ?? 0
        cookies = [Cookie(name: "count", value: String(number + 1), domain: "example.com", expires: .distantFuture)]
      }
    }
    for other in others { #expect(other.end()) }
    #expect(try await store.cookies(in: "example.com").map(\.value) == ["900"])
    #expect(try await store.count() == 1)
  }

  @Test func aKilledProcessLeavesCompleteChangesOnly() async throws {
    let file = folder.file("cookies.sqlite")
    for round in 0..<8 {
      let process = try OtherProcess("pairs", file.path)
      var said = 0
      while said < 1 + round * 7 { said = try #require(process.next()) }
      said = max(said, process.kill() ?? 0)

      let values = try await open().cookies(in: "example.com").compactMap { Int($0.value) }
      #expect(values.count == 2)
      #expect(Set(values).count == 1, "half a change was kept")
      #expect(values.allSatisfy { $0 == said || $0 == said + 1 }, "a change that was made is lost")
    }
    #expect(try folder.names().allSatisfy { $0.hasPrefix("cookies.sqlite") && !$0.contains("damaged") })
  }
}
