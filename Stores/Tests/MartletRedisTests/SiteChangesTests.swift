import MartletEngine
import MartletSemantics
import MartletTesting
import Synchronization
import Testing

@testable import MartletRedis

@Suite(.timeLimit(.minutes(5)))
struct SiteChangesTests {
  private let changes = SiteChanges()

  @Test func readingDoesNotWaitForReading() async throws {
    let inside = AsyncStream<Void>.makeStream()
    let gate = AsyncStream<Void>.makeStream()
    let first = Task { [changes] in
      try await changes.read("a") {
        inside.continuation.yield()
        for await _ in gate.stream { break }
        return 1
      }
    }
    for await _ in inside.stream { break }
    #expect(try await changes.read("a") { 2 } == 2)
    gate.continuation.yield()
    #expect(try await first.value == 1)
  }

  @Test func readingWaitsForAChangeOfItsSiteOnly() async throws {
    let inside = AsyncStream<Void>.makeStream()
    let gate = AsyncStream<Void>.makeStream()
    let isChanged = SharedFlag()
    let change = Task { [changes] in
      try await changes.run("a") {
        inside.continuation.yield()
        for await _ in gate.stream { break }
        isChanged.value.store(true, ordering: .releasing)
      }
    }
    for await _ in inside.stream { break }
    #expect(try await changes.read("b") { isChanged.value.load(ordering: .acquiring) } == false)
    let reader = Task { [changes] in try await changes.read("a") { isChanged.value.load(ordering: .acquiring) } }
    gate.continuation.yield()
    #expect(try await reader.value)
    try await change.value
  }

  @Test func theEndOfTheChangesOfAllSitesCanBeAwaited() async throws {
    await changes.waitForAll()
    let inside = AsyncStream<Void>.makeStream()
    let gate = AsyncStream<Void>.makeStream()
    let isChanged = SharedFlag()
    let change = Task { [changes] in
      try await changes.run("a") {
        inside.continuation.yield()
        for await _ in gate.stream { break }
        isChanged.value.store(true, ordering: .releasing)
      }
    }
    for await _ in inside.stream { break }
    try await changes.run("b") {}
    let end = Task.immediate { [changes] in
      await changes.waitForAll()
      return isChanged.value.load(ordering: .acquiring)
    }
    gate.continuation.yield()
    #expect(await end.value)
    try await change.value
  }

  @Test func whatWasReadBeforeAChangeIsReadAgain() async throws {
    let calls = Mutex(0)
    let value = Mutex(1)
    let result = try await changes.read("a") { [changes] in
      let known = value.withLock { $0 }
      let isFirst = calls.withLock { calls in
        calls += 1
        return calls == 1
      }
      if isFirst { try await changes.run("a") { value.withLock { $0 = 2 } } }
      return known
    }
    #expect(result == 2)
    #expect(calls.withLock { $0 } == 2)
  }

  @Test func changesAreMadeInTheirOrderAndAnErrorEndsOne() async throws {
    struct Failed: Error {}
    await #expect(throws: Failed.self) { try await changes.run("a") { throw Failed() } }
    await #expect(throws: Failed.self) { try await changes.read("a") { throw Failed() } }
    #expect(try await changes.run("a") { 3 } == 3)
  }
}

@Suite(.timeLimit(.minutes(5)))
struct CookieChangesTests {
  /// The change is decided, but not yet stored: the server does not know its script.
  @Test(arguments: ["EVAL", "HGETALL"])
  func aRemovalAndAListingFollowTheChangesThatHaveBegun(command: String) async throws {
    let commands = Mutex<[String]>([])
    let server = try FakeServer { words, _ in
      if let command = words.first { commands.withLock { $0.append(command) } }
      return switch words.first {
      case "HGET": "$-1\r\n"
      case "HMGET": "*2\r\n$-1\r\n$-1\r\n"
      case "EVALSHA": ""  // The test answers.
      case "EVAL": ":1\r\n"
      case "HGETALL": "*0\r\n"
      default: FakeServer.usual(words)
      }
    }
    let store = RedisCookieStore(try server.client())
    let cookie = Cookie(name: "a", value: "1", domain: "example.com", expires: .distantFuture)
    let change = Task { try await store.update("example.com") { $0 = [cookie] } }
    try await server.receive("EVALSHA")

    let work = Task.immediate {
      if command == "EVAL" { try await store.removeAll() } else { _ = try await store.allCookies() }
    }
    server.send("-NOSCRIPT No matching script.\r\n", over: 0)
    try await change.value
    try await work.value

    #expect(commands.withLock { $0 }.suffix(3) == ["EVALSHA", "EVAL", command])
    #expect(server.connectionCount == 1)
  }
}
