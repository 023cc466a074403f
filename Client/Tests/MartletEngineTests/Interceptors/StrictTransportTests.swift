import CallDoubles
import MartletSemantics
import MartletTesting
import Synchronization
import TestSupport
import Testing

@testable import MartletEngine

/// Hosts that require https (RFC 6797).
@Suite(.timeLimit(.minutes(5)))
struct StrictTransportTests {
  private let store = MemoryKeyValueStore()
  private let time = Time()
  private let log = EventLog(.note)

  private final class Time: Sendable {
    private let date = Mutex(Date(timeIntervalSince1970: 1_000_000))

    var now: Date { date.withLock { $0 } }

    func advance(by seconds: Double) { date.withLock { $0 += seconds } }
  }

  /// The server's answers, by URL.
  private func transport(_ answers: [String: HTTPFields] = [:]) -> RecordingTransport {
    RecordingTransport(
      around: MockTransport { request in
        let fields = answers[request.url.absoluteString] ?? [:]
        return .status(fields.contains(.location) ? .movedPermanently : .ok, fields: fields)
      })
  }

  private func security(_ list: String = "") throws -> StrictTransportSecurity {
    StrictTransportSecurity(
      store: store, preloaded: try StrictTransportList(parsing: list), now: { [time] in time.now })
  }

  private func session(_ transport: any Transport, _ security: StrictTransportSecurity? = nil) throws -> HTTPSession {
    var configuration = SessionConfiguration()
    configuration.cache = nil
    configuration.strictTransport = try security ?? self.security()
    configuration.listeners = [log]
    return HTTPSession(transport: transport, configuration: configuration)
  }

  private func sent(_ transport: RecordingTransport) -> [String] {
    transport.records.map { $0.request.url.absoluteString }
  }

  private let policy: HTTPFields = ["Strict-Transport-Security": "max-age=1000"]

  @Test func httpBecomesHTTPSOnceTheHostHasSaidSo() async throws {
    let transport = transport(["https://a.example/": policy])
    let session = try session(transport)
    for text in ["http://a.example/", "https://a.example/", "http://a.example/b?c", "http://a.example:8080/"] {
      _ = try await session.data(for: HTTPRequest(.get, url(text)))
    }
    #expect(
      sent(transport) == [
        "http://a.example/", "https://a.example/", "https://a.example/b?c", "https://a.example:8080/",
      ])
    #expect(log.lines.count == 2)
    #expect(log.lines.allSatisfy { $0.contains("which its Strict-Transport-Security requires") }, "\(log.lines)")
  }

  /// §8.1: a policy in a response over http is ignored.
  @Test func aPolicyOverHTTPIsIgnored() async throws {
    let transport = transport(["http://a.example/": policy])
    let session = try session(transport)
    for _ in 0..<2 { _ = try await session.data(for: HTTPRequest(.get, url("http://a.example/"))) }
    #expect(sent(transport) == ["http://a.example/", "http://a.example/"])
  }

  @Test func subdomainsFollowIfTheyAreIncluded() async throws {
    for (value, expected) in [
      ("max-age=1000", "http://b.a.example/"), ("max-age=1000; includeSubDomains", "https://b.a.example/"),
    ] {
      let transport = transport(["https://a.example/": ["Strict-Transport-Security": value]])
      let session = try session(transport)
      for text in ["https://a.example/", "http://b.a.example/"] {
        _ = try await session.data(for: HTTPRequest(.get, url(text)))
      }
      #expect(sent(transport).last == expected)
    }
  }

  @Test func aPolicyExpiresAndIsWithdrawn() async throws {
    let security = try security()
    try await security.receive(policy, from: url("https://a.example/"))
    #expect(try await security.requiresHTTPS("a.example"))
    time.advance(by: 1000)
    #expect(try await !security.requiresHTTPS("a.example"))
    try await security.receive(policy, from: url("https://a.example/"))
    #expect(try await security.requiresHTTPS("a.example"))
    try await security.receive(["Strict-Transport-Security": "max-age=0"], from: url("https://a.example/"))
    #expect(try await !security.requiresHTTPS("a.example"))
    #expect(store.keys().isEmpty)
  }

  /// §6.1, §8.2: each name has a policy of its own (CVE-2024-9681; curl 22752).
  @Test func thePolicyOfAHostLeavesThatOfItsSuperdomainAlone() async throws {
    let security = try security()
    func receive(_ value: String, from host: String) async throws {
      try await security.receive(["Strict-Transport-Security": value], from: url("https://\(host)/"))
    }
    try await receive("max-age=1000; includeSubDomains", from: "a.example")
    try await receive("max-age=10; includeSubDomains", from: "b.a.example")
    time.advance(by: 10)
    for host in ["a.example", "b.a.example", "c.b.a.example"] {
      #expect(try await security.requiresHTTPS(host), "\(host)")
    }

    try await receive("max-age=1000; includeSubDomains", from: "b.a.example")
    try await receive("max-age=0", from: "a.example")
    #expect(try await !security.requiresHTTPS("a.example"))
    #expect(try await security.requiresHTTPS("b.a.example"))
    try await receive("max-age=0", from: "b.a.example")
    #expect(try await !security.requiresHTTPS("c.b.a.example"))
  }

  /// A name with a dot at its end is the same host (curl 8821). A dot alone is none (curl 12247).
  @Test func aDotAtTheEndOfANameChangesNothing() async throws {
    let security = try security()
    try await security.receive(policy, from: url("https://a.example./"))
    for host in ["a.example", "a.example.", "A.Example"] { #expect(try await security.requiresHTTPS(host)) }
    #expect(try await !security.requiresHTTPS("."))
    #expect(try await security.upgraded(url("http://a.example./b")) == url("https://a.example./b"))
  }

  /// §8.1.1: never for addresses.
  @Test(arguments: ["127.0.0.1", "[::1]"])
  func anAddressHasNoPolicy(_ host: String) async throws {
    let security = try security()
    try await security.receive(policy, from: url("https://\(host)/"))
    #expect(store.keys().isEmpty)
    #expect(try await security.upgraded(url("http://\(host)/")) == url("http://\(host)/"))
  }

  @Test func aRedirectTeachesAndObeys() async throws {
    let transport = transport([
      "https://a.example/": ["Location": "https://b.example/", "Strict-Transport-Security": "max-age=1000"],
      "http://c.example/": ["Location": "http://a.example/d"],
    ])
    let session = try session(transport)
    for text in ["https://a.example/", "http://c.example/"] {
      _ = try await session.data(for: HTTPRequest(.get, url(text)))
    }
    #expect(
      sent(transport) == ["https://a.example/", "https://b.example/", "http://c.example/", "https://a.example/d"])
  }

  @Test func preloadedHostsRequireItAtOnce() async throws {
    let transport = transport()
    let session = try session(transport, security(".a.example"))
    _ = try await session.data(for: HTTPRequest(.get, url("http://x.a.example/")))
    #expect(sent(transport) == ["https://x.a.example/"])
  }

  /// Other interceptors and credentials see the URL that is sent.
  @Test func credentialsAreThoseOfHTTPS() async throws {
    let transport = transport()
    var configuration = SessionConfiguration()
    configuration.strictTransport = try security("a.example")
    configuration.credentials = [
      PasswordSource(
        Credential(user: "u", password: "p"), for: .origin(of: url("https://a.example/")), offer: .preemptive)
    ]
    let session = HTTPSession(transport: transport, configuration: configuration)
    _ = try await session.data(for: HTTPRequest(.get, url("http://a.example/")))
    #expect(transport.records.first?.request.fields[.authorization] != nil)
  }

  /// The store of several processes: what one has learned, the other obeys.
  @Test func policiesAreShared() async throws {
    let (one, other) = (try security(), try security())
    try await one.receive(policy, from: url("https://a.example/"))
    #expect(try await other.requiresHTTPS("a.example"))
    try await other.removeAll()
    #expect(try await !one.requiresHTTPS("a.example"))
  }

  @Test func notEveryResponseWrites() async throws {
    let counting = WriteCountingStore()
    let security = StrictTransportSecurity(store: counting, now: { [time] in time.now })
    for _ in 0..<100 {
      try await security.receive(policy, from: url("https://a.example/"))
      time.advance(by: 1)
    }
    #expect((2...3).contains(counting.writes.withLock { $0 }))  // each twentieth of the time
    try await security.receive(
      ["Strict-Transport-Security": "max-age=1000; includeSubDomains"], from: url("https://a.example/"))
    #expect(try await security.requiresHTTPS("b.a.example"))
  }

  @Test func aStoreThatCannotBeReadSendsNothing() async throws {
    let transport = transport()
    let session = try session(transport, StrictTransportSecurity(store: WriteCountingStore(fails: true)))
    let error = await #expect(throws: HTTPError.self) {
      try await session.data(for: HTTPRequest(.get, url("http://a.example/")))
    }
    #expect(error?.kind == .file)
    #expect(error?.message.contains("it is not known whether it requires https") == true)
    #expect(transport.records.isEmpty)
    _ = try await session.data(for: HTTPRequest(.get, url("https://a.example/")))
  }

  @Test func theStoreIsBounded() async throws {
    let security = StrictTransportSecurity(store: store, hostLimit: 1000)
    for index in 0..<1400 {
      try await security.receive(
        ["Strict-Transport-Security": "max-age=\(1000 + index)"], from: url("https://h\(index).example/"))
    }
    #expect(store.keys().count <= 1100)
    #expect(try await !security.requiresHTTPS("h0.example"))
    #expect(try await security.requiresHTTPS("h1399.example"))
  }

  @Test(arguments: ["", "1", "x 1", "99999999999 2", "99999999999 1 1"])
  func aDamagedValueIsIgnored(_ value: String) async throws {
    store.set(Data(value.utf8), for: "strict-transport a.example")
    #expect(try await !security().requiresHTTPS("a.example"))
  }
}

/// A store that counts its writes, or fails.
private final class WriteCountingStore: KeyValueStore {
  private struct Failure: Error {}

  let writes = Mutex(0)
  private let base = MemoryKeyValueStore()
  private let fails: Bool

  init(fails: Bool = false) { self.fails = fails }

  func value(for key: String) throws -> Data? {
    if fails { throw Failure() }
    return base.value(for: key)
  }

  func set(_ value: Data, for key: String) {
    writes.withLock { $0 += 1 }
    base.set(value, for: key)
  }

  func removeValue(for key: String) { base.removeValue(for: key) }
  func removeAll() { base.removeAll() }
  func keys() -> [String] { base.keys() }
}
