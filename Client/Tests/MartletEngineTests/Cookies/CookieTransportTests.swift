@_spi(Credentials) @testable import MartletEngine
import CallDoubles
import MartletSemantics
import MartletTesting
import Synchronization
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5)))
struct CookieTransportTests {
  private static let home = url("https://www.example.com/dir/page")

  /// A transport that sets these cookies and records requests.
  private static func recording(_ lines: String..., status: HTTPStatus = .ok) -> RecordingTransport {
    var fields = HTTPFields()
    for line in lines { fields.append(line, for: .setCookie) }
    return RecordingTransport(around: MockTransport { [fields] _ in MockResponse(status: status, fields: fields) })
  }

  @Test
  func sessionsStoreCookiesByDefault() async throws {
    let transport = Self.recording("a=1; Path=/", "b=2; Path=/dir")
    let session = HTTPSession(transport: transport)

    _ = try await session.data(for: HTTPRequest(.get, Self.home))
    _ = try await session.data(for: HTTPRequest(.post, Self.home))
    _ = try await session.data(for: HTTPRequest(.get, url("http://example.com/")))

    #expect(transport.records.map(\.request.fields[values: .cookie]) == [[], ["b=2; a=1"], []])
  }

  /// Most servers answer 400 to more.
  @Test
  func whatIsTooLongForServersIsReportedAndNotSent() async throws {
    let (transport, log) = (Self.recording(), EventLog())
    var configuration = SessionConfiguration()
    configuration.listeners = [log]
    for number in 0..<180 {
      let value = String(repeating: "v", count: 4000)
      try await configuration.cookies?.set(Cookie(name: "n\(number)", value: value, domain: "www.example.com"))
    }
    let session = HTTPSession(transport: transport, configuration: configuration)

    for _ in 0..<2 { _ = try await session.data(for: HTTPRequest(.get, Self.home)) }

    let sent = transport.records.compactMap(\.request.fields[.cookie])
    #expect(sent.map(\.utf8.count) == [8008, 8008])
    #expect(log.lines.filter { $0.contains("note: 178 cookies for this URL were not sent") }.count == 2)
  }

  @Test
  func sessionsOfOneConfigurationShareAJarAndOthersDoNot() async throws {
    let transport = Self.recording("a=1")
    let configuration = SessionConfiguration()

    _ = try await HTTPSession(transport: transport, configuration: configuration).data(for: .init(.get, Self.home))
    _ = try await HTTPSession(transport: transport, configuration: configuration).data(for: .init(.get, Self.home))
    _ = try await HTTPSession(transport: transport).data(for: .init(.get, Self.home))

    #expect(transport.records.map(\.request.fields[.cookie]) == [nil, "a=1", nil])
    #expect(try await configuration.cookies?.allCookies().count == 1)
  }

  @Test
  func sessionsWithoutJarStoreNoCookies() async throws {
    let transport = Self.recording("a=1")
    var configuration = SessionConfiguration()
    configuration.cookies = nil
    let session = HTTPSession(transport: transport, configuration: configuration)

    let (_, response) = try await session.data(for: HTTPRequest(.get, Self.home))
    _ = try await session.data(for: HTTPRequest(.get, Self.home))

    #expect(response.fields[values: .setCookie] == ["a=1"])
    #expect(transport.records.map(\.request.fields[.cookie]) == [nil, nil])
  }

  @Test
  func aRequestCanIgnoreCookies() async throws {
    let transport = Self.recording("a=2")
    let configuration = SessionConfiguration()
    try await configuration.cookies?.store(setCookie: ["a=1"], for: Self.home)
    let session = HTTPSession(transport: transport, configuration: configuration)
    var request = HTTPRequest(.get, Self.home)
    request.options.handlesCookies = false

    _ = try await session.data(for: request)

    #expect(transport.records.map(\.request.fields[.cookie]) == [nil])
    #expect(try await configuration.cookies?.cookieHeader(for: Self.home) == "a=1")
  }

  @Test
  func aCookieLineOfTheCallerIsNotChanged() async throws {
    let transport = Self.recording("b=3")
    let configuration = SessionConfiguration()
    try await configuration.cookies?.store(setCookie: ["a=1", "b=2"], for: Self.home)
    let session = HTTPSession(transport: transport, configuration: configuration)

    _ = try await session.data(for: HTTPRequest(.get, Self.home, fields: [.cookie: "mine=1"]))
    _ = try await session.data(for: HTTPRequest(.get, Self.home))

    #expect(transport.records.map(\.request.fields[values: .cookie]) == [["mine=1"], ["a=1; b=3"]])
  }

  @Test
  func theContextOfTheRequestDecidesWhichCookiesAreSent() async throws {
    let transport = Self.recording("new=1; SameSite=Lax")
    let configuration = SessionConfiguration()
    try await configuration.cookies?.store(
      setCookie: ["strict=1; SameSite=Strict", "lax=1; SameSite=Lax", "none=1; SameSite=None; Secure"], for: Self.home)
    let session = HTTPSession(transport: transport, configuration: configuration)
    var request = HTTPRequest(.get, Self.home)
    request.options.cookieContext = Cookie.Context(isSameSite: false)
    let log = EventLog()
    request.options.listeners = [log]

    _ = try await session.data(for: request)
    request.options.cookieContext.isTopLevelNavigation = true
    request.method = .post
    _ = try await session.data(for: request)
    request.method = .get
    _ = try await session.data(for: request)

    #expect(transport.records.map(\.request.fields[.cookie]) == ["none=1", "none=1", "lax=1; none=1; new=1"])
    #expect(log.lines.filter { $0.hasPrefix("refused") } == ["refused new: crossSite"])
  }

  @Test
  func storedAndRefusedCookiesAreReported() async throws {
    let transport = ScriptedTransport(
      MockResponse(
        status: .ok,
        fields: [.setCookie: "ab=1", .setCookie: "a=2; Domain=other.example", .setCookie: " c =3; Path=/x"]))
    let log = EventLog([.cookiesStored, .cookieRefused])
    var request = HTTPRequest(.get, Self.home)
    request.options.listeners = [log]

    _ = try await HTTPSession(transport: transport).data(for: request)

    #expect(log.lines == ["refused a: domainMismatch", "stored ab, c"])
  }

  @Test
  func everyRequestOfARedirectChainHasItsOwnCookies() async throws {
    let transport = RecordingTransport(
      around: MockTransport { request in
        switch request.url.path {
        case "/1":
          MockResponse(
            status: .found,
            fields: [.location: "https://b.example.com/2", .setCookie: "a=1; Domain=example.com", .setCookie: "h=1"])
        case "/2": MockResponse(status: .found, fields: [.location: "https://example.org/3", .setCookie: "b=2"])
        case "/3": MockResponse(status: .found, fields: [.location: "https://b.example.com/4", .setCookie: "c=3"])
        default: MockResponse(status: .ok)
        }
      })
    let session = HTTPSession(transport: transport)

    _ = try await session.data(for: HTTPRequest(.get, url("https://a.example.com/1")))

    #expect(transport.records.map(\.request.fields[.cookie]) == [nil, "a=1", nil, "a=1; b=2"])
  }

  @Test(arguments: [HTTPStatus.notFound, .internalServerError, .unauthorized, .notModified, .noContent])
  func responsesWithErrorStatusSetCookies(_ status: HTTPStatus) async throws {
    let configuration = SessionConfiguration()
    let session = HTTPSession(transport: Self.recording("a=1", status: status), configuration: configuration)
    _ = try await session.data(for: HTTPRequest(.get, Self.home))
    #expect(try await configuration.cookies?.cookieHeader(for: Self.home) == "a=1")
  }

  @Test
  func aResponseThatDidNotComeOverTheNetworkSetsNoCookies() async throws {
    let configuration = SessionConfiguration()
    let stored = TestTransport { _ in .text("stored", fields: [.setCookie: "a=1"]) }
    _ = try await HTTPSession(transport: stored, configuration: configuration).data(for: HTTPRequest(.get, Self.home))
    #expect(try await configuration.cookies?.allCookies() == [])
  }

  @Test
  func cookiesAreReadFromTheNetworkHeadAndNotFromAChangedOne() async throws {
    var configuration = SessionConfiguration()
    configuration.interceptors = [
      TestInterceptor(review: { outcome, _ in
        var response = try outcome.get()
        response.fields[.setCookie] = "b=2"
        return .replace(response)
      })
    ]
    let session = HTTPSession(transport: Self.recording("a=1"), configuration: configuration)
    _ = try await session.data(for: HTTPRequest(.get, Self.home))
    #expect(try await configuration.cookies?.cookieHeader(for: Self.home) == "a=1")
  }

  @Test
  func informationalResponsesSetNoCookies() async throws {
    let configuration = SessionConfiguration()
    let transport = MockTransport { _ in
      var response = MockResponse(status: .ok)
      response.interim = [ResponseHead(status: .earlyHints, fields: [.setCookie: "a=1"])]
      return response
    }
    _ = try await HTTPSession(transport: transport, configuration: configuration).data(
      for: HTTPRequest(.get, Self.home))
    #expect(try await configuration.cookies?.allCookies() == [])
  }

  @Test
  func aStoreThatFailsFailsNoRequest() async throws {
    var configuration = SessionConfiguration()
    configuration.cookies = CookieJar(store: FailingCookieStore())
    let log = EventLog()
    configuration.listeners = [log]
    let transport = Self.recording("a=1")

    let (_, response) = try await HTTPSession(transport: transport, configuration: configuration)
      .data(for: HTTPRequest(.get, Self.home))

    #expect(response.status == .ok)
    #expect(log.lines.filter { $0.hasPrefix("note: the cookie store failed") }.count == 2)
  }

  @Test
  func aDamagedStoreFailsNoRequest() async throws {
    let store = MemoryCookieStore()
    try await store.update("example.com") {
      $0 = [Cookie(name: "a", value: "b\r\nX: y", domain: "www.example.com")]
    }
    var configuration = SessionConfiguration()
    configuration.cookies = CookieJar(store: store)
    let log = EventLog()
    configuration.listeners = [log]
    let transport = Self.recording()

    _ = try await HTTPSession(transport: transport, configuration: configuration).data(for: .init(.get, Self.home))

    #expect(transport.records.map(\.request.fields[.cookie]) == [nil])
    #expect(log.lines.contains { $0.hasPrefix("note: the cookie store holds") })
  }

  /// A store that cannot be read on demand, but can be changed.
  private final class FlakyStore: CookieStore {
    struct Failure: Error {}
    let memory = MemoryCookieStore()
    let cannotRead = Mutex(false)

    func cookies(in site: String) async throws -> [Cookie] { try await memory.cookies(in: site) }
    func update<Result: Sendable>(
      _ site: String, _ change: @escaping @Sendable (inout [Cookie]) -> Result
    ) async throws -> Result { try await memory.update(site, change) }
    func count() async throws -> Int {
      if cannotRead.withLock({ $0 }) { throw Failure() }
      return try await memory.count()
    }
    func allCookies() async throws -> [String: [Cookie]] { try await memory.allCookies() }
    func removeAll() async throws { try await memory.removeAll() }
  }

  @Test(arguments: [false, true])
  func cookiesAreStoredIfThoseOfTheRequestCouldNotBeRead(isDamaged: Bool) async throws {
    let store = FlakyStore()
    let jar = CookieJar(store: store)
    try await jar.store(setCookie: ["id=1"], for: Self.home)
    var paired = HTTPResponse(url: Self.home, networkHead: ResponseHead(status: .ok), body: .empty)
    paired.sentCookies = [.cookie: "id=1"]
    #expect(await jar.holdsSession(of: paired, in: .init()))
    if isDamaged {
      try await store.update("example.com") {
        $0.append(Cookie(name: "a", value: "b\r\nX: y", domain: "www.example.com"))
      }
    }
    store.cannotRead.withLock { $0 = !isDamaged }
    var configuration = SessionConfiguration()
    configuration.cookies = jar

    _ = try await HTTPSession(transport: Self.recording("id=2"), configuration: configuration)
      .data(for: HTTPRequest(.get, Self.home))

    #expect(try await store.cookies(in: "example.com").first { $0.name == "id" }?.value == "2")
  }

  @Test
  func aDumpOfTheResponseShowsNoCookie() async throws {
    var configuration = SessionConfiguration()
    let jar = CookieJar()
    configuration.cookies = jar
    try await jar.store(setCookie: ["id=confidential-1"], for: Self.home)
    let (_, response) = try await HTTPSession(
      transport: Self.recording("id=confidential-2"), configuration: configuration
    ).data(for: HTTPRequest(.get, Self.home))
    var text = ""
    dump(response, to: &text)
    #expect(response.sentCookies?[.cookie] == "id=confidential-1")
    #expect(!text.contains("confidential"))
  }

  @Test
  func storedResponsesSetNoCookiesButTheirValidationDoes() async throws {
    let transport = RecordingTransport(
      around: MockTransport { request in
        switch request.url.path {
        case "/fresh": MockResponse(fields: [.cacheControl: "max-age=3600", .setCookie: "a=1"])
        case _ where request.fields.contains(.ifNoneMatch):
          MockResponse(status: .notModified, fields: [.eTag: "\"1\"", .setCookie: "b=2"])
        default: MockResponse(fields: [.cacheControl: "no-cache", .eTag: "\"1\"", .setCookie: "b=1"])
        }
      })
    let configuration = SessionConfiguration()
    let session = HTTPSession(transport: transport, configuration: configuration)
    for path in ["fresh", "confirmed"] {
      _ = try await session.data(for: .init(.get, url("https://www.example.com/\(path)")))
    }
    try await configuration.cookies?.removeAll()

    for path in ["fresh", "confirmed"] {
      _ = try await session.data(for: .init(.get, url("https://www.example.com/\(path)")))
    }

    #expect(transport.records.count == 3)
    #expect(try await configuration.cookies?.cookieHeader(for: url("https://www.example.com/")) == "b=2")
  }
}
