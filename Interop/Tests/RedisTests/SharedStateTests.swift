import Foundation
import Martlet
import MartletRedis
import MartletTesting
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(5)))
struct SharedTokenTests {
  private let redis: RedisConfiguration

  init() throws { redis = try RedisServer.shared.get().configuration() }

  private func shared(_ client: RedisClient? = nil) -> RedisSharedToken {
    var token = RedisSharedToken(client ?? RedisClient(redis), name: "api")
    token.waitLimit = .seconds(20)
    return token
  }

  @Test func aRefreshTokenOfTheFleetIsUsedOnce() async throws {
    let issuer = Issuer()
    try await shared().use(AccessToken("t0", refreshToken: "r0"))
    let processes = (0..<8).map { _ in shared().refresh { try await issuer.renew($0) } }
    for round in 0..<5 {
      let old = AccessToken("t\(round)", refreshToken: "r\(round)")
      let tokens = try await withThrowingTaskGroup(of: String?.self) { group in
        for refresh in processes { group.addTask { try await refresh(old)?.value } }
        return try await group.reduce(into: Set<String?>()) { $0.insert($1) }
      }
      #expect(tokens == ["t\(round + 1)"])
    }
    #expect(issuer.reused == 0)
    #expect(issuer.issued == 5)
  }

  @Test func aProcessThatComesLateGetsTheNewerToken() async throws {
    let (one, other) = (shared(), shared())
    try await one.use(AccessToken("old", refreshToken: "r"))
    let late = one.refresh { _ in
      try await other.use(AccessToken("newer"))  // in the time in which the first was renewing
      return AccessToken("late")
    }
    #expect(try await late(AccessToken("old"))?.value == "newer")
    #expect(try await other.token()?.value == "newer")
  }

  @Test func aTokenThatIsRenewedDuringASignOutIsNotKept() async throws {
    let (one, other) = (shared(), shared())
    try await one.use(AccessToken("old", refreshToken: "r"))
    let late = one.refresh { _ in
      try await other.use(nil)
      return AccessToken("late")
    }
    #expect(try await late(AccessToken("old")) == nil)
    #expect(try await other.token() == nil)
  }

  @Test func anotherProcessDoesNotUndoASignOut() async throws {
    let (one, other) = (shared(), shared())
    let token = AccessToken("old", refreshToken: "r")
    try await one.use(token)
    #expect(try await other.token()?.value == "old")
    try await one.use(nil)
    let refresh = other.refresh { old in
      #expect(old == nil)
      return old.map { _ in AccessToken("renewed") }
    }
    #expect(try await refresh(token) == nil)
    #expect(try await one.token() == nil)
  }

  @Test func aTokenThatCouldNotBeStoredIsStoredBeforeTheNextRenewal() async throws {
    let server = try RedisServer()
    let redis = try server.configuration()
    var one = RedisSharedToken(RedisClient(redis), name: "api")
    (one.waitLimit, one.whenUnavailable) = (.milliseconds(200), .renewAlone)
    let other = RedisSharedToken(RedisClient(redis), name: "api")
    let issuer = Issuer()
    let refresh = one.refresh { try await issuer.renew($0) }
    let t0 = AccessToken("t0", refreshToken: "r0")
    try await one.use(t0)

    _ = try server.command("CONFIG", "SET", "maxmemory", "1")  // every write is refused
    #expect(try await refresh(t0)?.value == "t1")
    #expect(try await other.token()?.value == "t0")
    _ = try server.command("CONFIG", "SET", "maxmemory", "0")
    #expect(try await refresh(t0)?.value == "t1")
    #expect(try await other.token()?.value == "t1")
    #expect(issuer.issued == 1)
  }

  @Test func aTokenThatWasNotStoredDoesNotReplaceANewerOne() async throws {
    let server = try RedisServer()
    let redis = try server.configuration()
    var one = RedisSharedToken(RedisClient(redis), name: "api")
    (one.waitLimit, one.whenUnavailable) = (.milliseconds(200), .renewAlone)
    let other = RedisSharedToken(RedisClient(redis), name: "api")
    let t0 = AccessToken("t0")
    try await one.use(t0)
    #expect(try await one.token()?.value == "t0")
    _ = try server.command("CONFIG", "SET", "maxmemory", "1")
    #expect(try await one.refresh { _ in AccessToken("alone") }(t0)?.value == "alone")
    _ = try server.command("CONFIG", "SET", "maxmemory", "0")
    try await other.use(AccessToken("newer"))
    #expect(try await one.refresh { _ in AccessToken("unneeded") }(t0)?.value == "newer")
    #expect(try await other.token()?.value == "newer")
  }

  @Test func aServerThatRestsForAMomentIsAskedAgain() async throws {
    let server = try RedisServer()
    let one = shared(RedisClient(try server.configuration()))
    let t0 = AccessToken("t0", refreshToken: "r0")
    try await one.use(t0)
    _ = try server.command("CONFIG", "SET", "maxmemory", "1")
    async let renewed = one.refresh { _ in AccessToken("t1", refreshToken: "r1") }(t0)
    while try server.refusals() < 2 {}
    _ = try server.command("CONFIG", "SET", "maxmemory", "0")
    #expect(try await renewed?.value == "t1")
    #expect(try await one.token()?.value == "t1")
  }

  @Test func anExpiredTokenIsRenewedAndAFreshOneTaken() async throws {
    try await shared().use(AccessToken("expired", expires: .now.addingTimeInterval(-10), refreshToken: "newest"))
    let refresh = shared().refresh { old in
      #expect(old?.refreshToken == "newest")
      return AccessToken("fresh", expires: .now.addingTimeInterval(3_600))
    }
    #expect(try await refresh(AccessToken("older"))?.value == "fresh")
    let other = shared().refresh { _ in
      Issue.record("it was renewed again")
      return nil
    }
    #expect(try await other(AccessToken("older"))?.value == "fresh")
  }

  @Test func aRenewalThatFailsIsTriedByTheNext() async throws {
    struct Refused: Error {}
    await #expect(throws: Refused.self) { try await shared().refresh { _ in throw Refused() }(nil) }
    #expect(try await shared().refresh { _ in AccessToken("new") }(nil)?.value == "new")
  }

  @Test func whatIsNoLeaseDoesNotHoldUpARenewal() async throws {
    _ = try RedisServer.shared.get().command("SET", "\(redis.prefix)t:{api}:lease", "garbage")
    var shared = shared()
    shared.peerWaitLimit = .zero
    #expect(try await shared.refresh { _ in AccessToken("new") }(nil)?.value == "new")
  }

  @Test func aSealedTokenIsForItsReaders() async throws {
    let seal = try RedisSeal(key: Data(repeating: 9, count: 32))
    var sealed = RedisSharedToken(RedisClient(redis), name: "sealed", seal: seal)
    var open = RedisSharedToken(RedisClient(redis), name: "sealed")
    (sealed.waitLimit, open.waitLimit) = (.seconds(20), .seconds(20))
    try await sealed.use(AccessToken("secret"))
    #expect(try await sealed.token()?.value == "secret")
    #expect(try await open.token() == nil)
  }

  /// An authorization server whose refresh tokens can be used once.
  private final class Issuer: Sendable {
    private let used = Mutex<[String?]>([])

    func renew(_ old: AccessToken?) async throws -> AccessToken? {
      let count = used.withLock { used in
        used.append(old?.refreshToken)
        return used.count
      }
      await Task.yield()
      return AccessToken("t\(count)", refreshToken: "r\(count)")
    }

    var issued: Int { used.withLock { $0.count } }
    var reused: Int { used.withLock { $0.count - Set($0).count } }
  }
}

@Suite(.timeLimit(.minutes(5)))
struct SharedRateLimitTests {
  private let redis: RedisConfiguration

  init() throws { redis = try RedisServer.shared.get().configuration() }

  @Test func theBurstIsThatOfAllProcesses() async throws {
    let stores = (0..<4).map { _ in RedisRateLimitStore(RedisClient(redis)) }
    var remaining: [Int] = []
    var refused = 0
    for number in 0..<12 {
      switch try await stores[number % 4].apply(.take(interval: .seconds(1_000), burst: 10, wait: .zero), to: "a") {
      case .allowed(let delay, let left, _):
        #expect(delay == .zero)
        remaining.append(left)
      case .refused(let delay):
        refused += 1
        #expect(delay > .seconds(900) && delay <= .seconds(1_000))
      }
    }
    #expect(remaining == [9, 8, 7, 6, 5, 4, 3, 2, 1, 0])
    #expect(refused == 2)
  }

  @Test func whatWaitsHasItsPlace() async throws {
    let store = RedisRateLimitStore(RedisClient(redis))
    var delays: [Double] = []
    for _ in 0..<4 {
      guard
        case .allowed(let delay, _, _) = try await store.apply(
          .take(interval: .seconds(100), burst: 1, wait: .seconds(1_000)), to: "a")
      else { continue }
      delays.append((Double(delay.components.seconds) / 100).rounded(.up))
    }
    #expect(delays == [0, 1, 2, 3])
    guard
      case .allowed(.zero, 0, _) = try await store.apply(
        .take(interval: .seconds(100), burst: 1, wait: .zero), to: "b")
    else {
      Issue.record("another name has another limit")
      return
    }
  }

  @Test func placesThatAreGivenBackAreTakenAgain() async throws {
    let (one, other) = (RedisRateLimitStore(RedisClient(redis)), RedisRateLimitStore(RedisClient(redis)))
    func take(_ store: RedisRateLimitStore) async throws -> RateLimitPlace? {
      let change = RateLimitChange.take(interval: .seconds(100), burst: 2, wait: .seconds(1_000))
      guard case .allowed(_, _, let place) = try await store.apply(change, to: "given back") else { return nil }
      return place
    }
    var places: [RateLimitPlace] = []
    for number in 0..<6 { places.append(try #require(try await take(number % 2 == 0 ? one : other))) }
    for index in [3, 4, 3] { _ = try await one.apply(.giveBack(places[index]), to: "given back") }
    // the earlier one first, with its time
    for index in [3, 4] {
      let place = try #require(try await take(other))
      #expect((place.start, place.arrival) == (places[index].start, places[index].arrival))
    }
    for index in [4, 2, 5, 3] { _ = try await other.apply(.giveBack(places[index]), to: "given back") }
    let next = try #require(try await take(one))
    #expect((next.start, next.arrival) == (places[2].start, places[2].arrival))
  }

  @Test func extremeValuesAreNoErrors() async throws {
    let store = RedisRateLimitStore(RedisClient(redis))
    for interval in [Duration.zero, .seconds(1), .seconds(Int64.max)] {
      for _ in 0..<2 {
        let change = RateLimitChange.take(interval: interval, burst: .max, wait: .seconds(Int64.max))
        guard case .allowed(.zero, let remaining, _) = try await store.apply(change, to: "extreme \(interval)") else {
          Issue.record("refused")
          return
        }
        #expect(remaining >= 0)
      }
    }
  }

  @Test func aPauseHoldsForAllAndALongerOneStays() async throws {
    let (one, other) = (RedisRateLimitStore(RedisClient(redis)), RedisRateLimitStore(RedisClient(redis)))
    _ = try await one.apply(.pause(.seconds(1_000)), to: "a")
    _ = try await one.apply(.pause(.seconds(1)), to: "a")
    guard case .refused(let delay) = try await other.apply(.take(interval: .zero, burst: 1, wait: .zero), to: "a")
    else {
      Issue.record("the pause was not obeyed")
      return
    }
    #expect(delay > .seconds(900))
  }
}

@Suite(.timeLimit(.minutes(5)))
struct SharedCookieTests {
  @Test func changesOfSeveralProcessesAreMadeOneAfterAnother() async throws {
    let configuration = try RedisServer.shared.get().configuration()
    let stores = (0..<4).map { _ in RedisCookieStore(RedisClient(configuration), sessionCookies: .shared) }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for store in stores {
        group.addTask {
          for _ in 0..<25 {
            try await store.update("example.com") { cookies in
              let number = cookies.first.flatMap { Int($0.value) } ?? 0
              cookies = [cookie("count", "\(number + 1)")]
            }
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(try await stores[0].cookies(in: "example.com").map(\.value) == ["100"])
    #expect(try await stores[1].count() == 1)
  }

  /// Each jar stands for a process. The response of the second one is under way while the user signs out in the first.
  @Test(arguments: ["", "anna"]) func aSignOutRefusesTheCookiesOfLateResponses(user: String) async throws {
    let configuration = try RedisServer.shared.get().configuration()
    let jars = (0..<2).map { _ in CookieJar(store: RedisCookieStore(RedisClient(configuration))) }
    let (gate, arrived) = (Gate(), Gate())
    var options = SessionConfiguration()
    options.cookies = jars[1]
    let transport = MockTransport { _ in
      arrived.open()
      try await gate.wait()
      return MockResponse(fields: ["Set-Cookie": "id=1; Path=/; Max-Age=3600"])
    }
    let session = HTTPSession(transport: transport, configuration: options)
    var request = HTTPRequest(.get, try #require(URL(string: "https://www.example.com/")))
    request.options.partition = user
    let late = Task { [request] in try await session.data(for: request) }
    try await arrived.wait()

    if user.isEmpty { try await jars[0].removeAll() } else { try await jars[0].removePartition(user) }
    gate.open()
    _ = try await late.value

    #expect(try await jars[0].partition(user).allCookies().isEmpty)
    _ = try await session.data(for: request)
    #expect(try await jars[0].partition(user).allCookies().count == 1)
  }

  @Test func sessionCookiesStayInTheirProcessUnlessTheyAreShared() async throws {
    let configuration = try RedisServer.shared.get().configuration()
    let stores = (0..<2).map { _ in RedisCookieStore(RedisClient(configuration)) }
    try await stores[0].update("example.com") { $0 = [cookie("a"), session("b")] }
    #expect(Set(try await stores[0].cookies(in: "example.com").map(\.name)) == ["a", "b"])
    #expect(try await stores[1].cookies(in: "example.com").map(\.name) == ["a"])
    #expect(try await stores[1].count() == 1)
  }

  @Test(arguments: [true, false]) func aSealedValueCannotBeMovedToAnotherStore(isCookie: Bool) async throws {
    let server = try RedisServer()
    let redis = RedisClient(try server.configuration())
    let seal = try RedisSeal(key: Data(repeating: 5, count: 32))
    if isCookie {
      let (one, other) = (
        RedisCookieStore(redis, name: "one", seal: seal), RedisCookieStore(redis, name: "other", seal: seal)
      )
      try await one.update("example.com") { $0 = [cookie("a")] }
      try server.move("one", "other")
      #expect(try await other.cookies(in: "example.com").isEmpty)
    } else {
      let (one, other) = (
        RedisKeyValueStore(redis, name: "one", seal: seal), RedisKeyValueStore(redis, name: "other", seal: seal)
      )
      try await one.set(Data("secret".utf8), for: "a")
      try server.move("one", "other")
      #expect(try await other.keys() == ["a"])
      #expect(try await other.value(for: "a") == nil)
    }
  }

  @Test func aCSRFTokenIsKeptByURL() async throws {
    let values = RedisKeyValueStore(RedisClient(try RedisServer.shared.get().configuration()))
    let url = try #require(URL(string: "https://example.com/odata/"))
    #expect(try await values.token(for: url) == nil)
    try await values.setToken("token", for: url)
    #expect(try await values.token(for: url) == "token")
    try await values.setToken(nil, for: url)
    #expect(try await values.token(for: url) == nil)
  }
}
