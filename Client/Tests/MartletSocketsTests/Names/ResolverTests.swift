#if os(Linux)
import Dispatch
import Glibc
@_spi(Toolkit) @_spi(Transports) import MartletEngine
@_spi(Toolkit) import MartletSemantics
@_spi(Toolkit) import MartletTesting
import Synchronization
import TestSupport
import Testing

@testable import MartletSockets

/// The addresses of hosts.
@Suite(.timeLimit(.minutes(5)))
struct ResolverTests {
  /// A look-up whose threads are blocked until they are released. Each name has the address 192.0.2.7.
  private final class HeldLookUp: Sendable {
    let started = Awaitable<[String]>([])
    private let release = DispatchSemaphore(value: 0)

    var source: Resolver.Source {
      .blocking { host in
        self.started.update { $0.append(host) }
        self.release.wait()
        return host.hasSuffix(".invalid")
          ? .failure(LookUpFailure(message: "Name or service not known")) : .success([IPAddress(.v4, 0xC000_0207)])
      }
    }

    func releaseOne() { release.signal() }
    func hosts(_ count: Int) async throws -> [String] { try await started.wait { $0.count >= count ? $0 : nil } }
  }

  /// A resolver whose look-up answers at once.
  private func resolver(
    _ log: Log<String> = Log(), overrides: ResolveOverrides = .none,
    now: @escaping @Sendable () -> UInt64 = { 0 }
  ) -> Resolver {
    let source = Resolver.Source.blocking { host in
      log.append(host)
      if host == "nothing.invalid" { return .failure(LookUpFailure(message: "Name or service not known")) }
      return .success(host == "empty.example" ? [] : [IPAddress(.v4, 0xC000_0207)])
    }
    return Resolver(source, overrides: overrides, now: now)
  }

  private func texts(_ resolver: Resolver, _ host: String, port: Int = 80) async throws -> [String] {
    try await resolver.addresses(of: host, port: port).map(\.description)
  }

  // MARK: - Without a look-up

  /// Name servers that do not answer are out of reach if the machine has no address in a network.
  @Test(arguments: [
    (EAI_AGAIN, false, "NetworkIsDown"), (EAI_AGAIN, true, "nil"), (EAI_NONAME, false, "UnknownHostName"),
    (EAI_FAIL, false, "nil"),
  ])
  func aLookUpWithoutANetworkSaysSo(code: Int32, hasAddress: Bool, expected: String) {
    let failure = SystemLookUp.failure(code, 0, hasAddress: { hasAddress })
    #expect(failure.underlying.map { "\(type(of: $0))" } ?? "nil" == expected)
  }

  @Test func literalsAndLocalhostAreKnownAtOnce() async throws {
    let log = Log<String>(), resolver = resolver(log)
    let table = [
      ("192.0.2.1", ["192.0.2.1:80"]), ("2001:DB8::1", ["[2001:db8::1]:80"]), ("[::1]", ["[::1]:80"]),
      ("fe80::1%1", ["[fe80::1%1]:80"]), ("localhost", ["[::1]:80", "127.0.0.1:80"]),
      ("LocalHost.", ["[::1]:80", "127.0.0.1:80"]), ("a.b.localhost", ["[::1]:80", "127.0.0.1:80"]),
    ]
    for (host, expected) in table {
      guard case .known(let result) = resolver.lookUp(host, port: 80, then: { _ in }) else {
        Issue.record("\(host) is looked up")
        continue
      }
      #expect(try result.get().map(\.description) == expected)
    }
    #expect(log.entries.isEmpty)
    #expect(try await texts(resolver, "notlocalhost") == ["192.0.2.7:80"])
  }

  @Test func whatCannotBeAHostIsNotLookedUp() async throws {
    let log = Log<String>(), resolver = resolver(log)
    let table = [
      ("", "1 to 253 bytes"), (".", "1 to 253 bytes"), (String(repeating: "a", count: 254), "1 to 253 bytes"),
      ("a\0.example", "1 to 253 bytes"), ("abc.onion", "RFC 7686"), ("abc.onion.", "RFC 7686"),
      ("::g", "not a valid IPv6 address"), ("fe80::1%none0", "zone"),
    ]
    for (host, reason) in table {
      let error = await #expect(throws: HTTPError.self) { try await texts(resolver, host) }
      #expect(error?.kind == .cannotResolveHost)
      #expect(error?.phase == .resolving)
      #expect(error?.message.contains(reason) == true, "\(error?.message ?? "")")
    }
    for port in [-1, 65_536] {
      let error = await #expect(throws: HTTPError.self) { try await texts(resolver, "a.example", port: port) }
      #expect(error?.kind == .invalidRequest)
    }
    #expect(log.entries.isEmpty)
  }

  @Test func overridesTakePrecedence() async throws {
    let overrides = try ResolveOverrides([
      "A.example": ["127.0.0.5"], "a.example:8443": ["::1", "127.0.0.6"], "localhost": ["127.0.0.7"],
    ])
    let resolver = resolver(overrides: overrides)
    #expect(try await texts(resolver, "a.Example") == ["127.0.0.5:80"])
    #expect(try await texts(resolver, "a.example", port: 8443) == ["[::1]:8443", "127.0.0.6:8443"])
    #expect(try await texts(resolver, "localhost") == ["127.0.0.7:80"])
    #expect(try await texts(resolver, "b.a.example") == ["192.0.2.7:80"])
    for wrong in [["a": []], ["a": ["b"]], ["": ["::1"]], ["a": ["::1", "127.1"]]] {
      let error = #expect(throws: HTTPError.self) { try ResolveOverrides(wrong) }
      #expect(error?.kind == .invalidRequest)
    }
  }

  // MARK: - Look-ups

  @Test func equalLookUpsAreSharedAndKept() async throws {
    let log = Log<String>(), time = Counter()
    let resolver = resolver(log, now: { UInt64(time.value) })
    #expect(try await texts(resolver, "a.example") == ["192.0.2.7:80"])
    #expect(try await texts(resolver, "A.Example", port: 443) == ["192.0.2.7:443"])
    #expect(log.entries == ["a.example"])
    time.raise(to: 60_000_000_000)
    #expect(try await texts(resolver, "a.example") == ["192.0.2.7:80"])
    #expect(log.entries == ["a.example", "a.example"])
  }

  @Test func callersOfTheSameNameWaitForOneLookUp() async throws {
    let held = HeldLookUp(), resolver = Resolver(held.source, now: { 0 })
    let results = Awaitable<[String]>([])
    for port in [80, 443] {
      let answer = resolver.lookUp("a.example", port: port) { result in
        results.update { $0 += (try? result.get())?.map(\.description) ?? ["failed"] }
      }
      guard case .pending = answer else {
        Issue.record("known too early")
        continue
      }
    }
    _ = try await held.hosts(1)
    held.releaseOne()
    let texts = try await results.wait { $0.count == 2 ? $0 : nil }
    #expect(Set(texts) == ["192.0.2.7:80", "192.0.2.7:443"])
    #expect(held.started.value == ["a.example"])
  }

  @Test func theNumberOfLookUpsAtTheSameTimeIsLimited() async throws {
    let held = HeldLookUp(), resolver = Resolver(held.source, now: { 0 })
    let done = Awaitable(0)
    for number in 0..<40 { _ = resolver.lookUp("\(number).example", port: 80) { _ in done.update { $0 += 1 } } }
    for released in 0..<8 {
      let hosts = try await held.hosts(32 + released)
      #expect(hosts.count == 32 + released)
      held.releaseOne()
      _ = try await done.wait { $0 > released ? true : nil }
    }
    for _ in 0..<32 { held.releaseOne() }
    _ = try await done.wait { $0 == 40 ? true : nil }
  }

  /// Names whose servers do not answer do not prevent other look-ups, once their callers have given up.
  @Test func slowNamesThatNothingWaitsForAreReplaced() async throws {
    let held = HeldLookUp(), resolver = Resolver(held.source, now: { 0 })
    let slow = (0..<40).map { number in Task { try await texts(resolver, "slow\(number).example") } }
    _ = try await held.hosts(32)
    let other = Task { try await texts(resolver, "other.example") }
    for task in slow { task.cancel() }
    for task in slow { _ = await task.result }
    let started = try await held.started.wait { $0.contains("other.example") ? $0 : nil }
    for _ in started { held.releaseOne() }
    #expect(try await other.value == ["192.0.2.7:80"])
  }

  @Test func aFailureNamesTheHostAndTheReason() async throws {
    let log = Log<String>(), time = Counter()
    let resolver = resolver(log, now: { UInt64(time.value) })
    for host in ["nothing.invalid", "nothing.invalid", "empty.example"] {
      let error = await #expect(throws: HTTPError.self) { try await texts(resolver, host) }
      #expect(error?.kind == .cannotResolveHost)
      #expect(error?.phase == .resolving)
      #expect(error?.isUnsent == true)
      #expect(error?.message.hasPrefix("\(host): cannot resolve the host: ") == true)
    }
    #expect(log.entries == ["nothing.invalid", "empty.example"])
    time.raise(to: 1_000_000_000)
    await #expect(throws: HTTPError.self) { try await texts(resolver, "nothing.invalid") }
    #expect(log.entries.count == 3)
  }

  @Test func aCancelledCallerIsFreedAtOnce() async throws {
    let held = HeldLookUp(), resolver = Resolver(held.source, now: { 0 })
    let task = Task { try await texts(resolver, "a.example") }
    _ = try await held.hosts(1)
    task.cancel()
    let error = await #expect(throws: HTTPError.self) { try await task.value }
    #expect(error?.kind == .cancelled)
    // the look-up continues, and its result is kept
    let other = Task { try await texts(resolver, "a.example") }
    held.releaseOne()
    #expect(try await other.value == ["192.0.2.7:80"])
    #expect(held.started.value == ["a.example"])
  }

  @Test func theCompletionOfACancelledLookUpIsNotCalled() async throws {
    let held = HeldLookUp(), resolver = Resolver(held.source, now: { 0 })
    let called = Log<String>()
    let answer = resolver.lookUp("a.example", port: 80) { _ in called.append("first") }
    guard case .pending(let first) = answer else {
      Issue.record("known too early")
      return
    }
    resolver.cancel(first)
    let second = Task { try await texts(resolver, "a.example") }
    held.releaseOne()
    #expect(try await second.value == ["192.0.2.7:80"])
    #expect(called.entries.isEmpty)
  }

  @Test func aResolverLivesAsLongAsItsLookUp() async throws {
    let held = HeldLookUp()
    var resolver: Resolver? = Resolver(held.source, now: { 0 })
    let done = Awaitable(false)
    weak let released = resolver
    _ = resolver?.lookUp("a.example", port: 80) { _ in done.update { $0 = true } }
    _ = try await held.hosts(1)
    resolver = nil
    held.releaseOne()
    _ = try await done.wait { $0 ? true : nil }
    try await until { released == nil }
  }

  // MARK: - The caller's resolver

  @Test func anAsyncResolverIsAsked() async throws {
    let resolver = Resolver(
      .async({ host in host == "a.example" ? [.loopback4] : [] }, limit: .seconds(5), clock: ManualClock()), now: { 0 })
    #expect(try await texts(resolver, "a.example") == ["127.0.0.1:80"])
    await #expect(throws: HTTPError.self) { try await texts(resolver, "b.example") }
  }

  @Test func anAsyncResolverHasATimeLimit() async throws {
    let clock = ManualClock()
    let gate = Gate()
    let resolver = Resolver(
      .async(
        { _ in
          await withCheckedContinuation { continuation in
            Task {
              try? await gate.wait()
              continuation.resume()
            }
          }
          return [.loopback4]
        }, limit: .seconds(5), clock: clock), now: { 0 })
    let task = Task { try await texts(resolver, "a.example") }
    try await clock.sleepers(1)
    clock.advance(by: .seconds(5))
    let error = await #expect(throws: HTTPError.self) { try await task.value }
    #expect(error?.kind == .cannotResolveHost)
    #expect(error?.message.contains("longer than 5 s") == true)
    gate.open()
  }

  @Test func theErrorOfAnAsyncResolverIsKept() async throws {
    struct Secret: Error { let token = "secret" }
    let resolver = Resolver(.async({ _ in throw Secret() }, limit: .seconds(5), clock: ManualClock()), now: { 0 })
    let error = await #expect(throws: HTTPError.self) { try await texts(resolver, "a.example") }
    #expect(error?.kind == .cannotResolveHost)
    #expect(error?.underlying is Secret)
    #expect(error?.description.contains("secret") == false)
  }

  // MARK: - The system's resolver

  @Test func theSystemResolvesNotationsOfAddressesAndRefusesInvalidNames() async throws {
    let resolver = Resolver()
    #expect(try await texts(resolver, "127.1") == ["127.0.0.1:80"])
    let error = await #expect(throws: HTTPError.self) { try await texts(resolver, "nothing.invalid") }
    #expect(error?.kind == .cannotResolveHost)
  }
}
#endif
