import CallDoubles
import MartletEngine
import MartletSemantics
import MartletSignIn
import MartletTesting
import Synchronization
import TestSupport
import Testing

/// Calls that are sent again for several reasons, and waits for each other.
@Suite("Credentials, CSRF tokens, redirects and retries in one call", .timeLimit(.minutes(5)))
struct InterplayTests {
  private static let root = url("http://a.example/service/")

  @Test func oneCallIsSentAgainForEveryReason() async throws {
    let isFirst = Mutex(true)
    let transport = RecordingTransport(
      around: MockTransport { request in
        guard request.url.host() == "a.example" else { return .text("elsewhere") }
        guard request.fields[.authorization] == "Bearer new" else { return .status(.unauthorized) }
        if request.fields["X-CSRF-Token"] == "Fetch" { return .text("").with("X-CSRF-Token", "t") }
        guard request.fields["X-CSRF-Token"] == "t" else {
          return .status(.forbidden).with("X-CSRF-Token", "Required")
        }
        if isFirst.withLock({ first in
          defer { first = false }
          return first
        }) {
          return .status(.serviceUnavailable, fields: [.retryAfter: "0"])
        }
        return request.url.path.hasSuffix("moved")
          ? .redirect(to: "http://b.example/", status: 307) : .redirect(to: "/service/moved", status: 307)
      })
    let refreshes = Mutex(0)
    var configuration = SessionConfiguration()
    configuration.interceptors = [CSRFInterceptor(root: Self.root)]
    configuration.credentials = [
      TokenSource(AccessToken("old"), for: .origin(of: Self.root)) { _ in
        refreshes.withLock { $0 += 1 }
        return AccessToken("new")
      }
    ]
    configuration.options.retryPolicy = .standard
    configuration.options.retryPolicy.random = { 0 }
    let session = HTTPSession(transport: transport, configuration: configuration)

    var request = HTTPRequest(.put, Self.root.appending(path: "x"), body: .data(Data("b".utf8)))
    request.options.deadline = .seconds(120)
    let (data, response) = try await session.data(for: request)

    #expect(data == Data("elsewhere".utf8))
    #expect(response.history.count == 3)
    #expect(refreshes.withLock { $0 } == 1)
    let strange = transport.records.filter { $0.request.url.host() == "b.example" }
    #expect(strange.count == 1)
    #expect(strange.allSatisfy { !$0.request.fields.contains(.authorization) })
    #expect(strange.allSatisfy { !$0.request.fields.contains("X-CSRF-Token") })
  }

  /// The refresh is a POST and needs a CSRF token, whose fetch needs the access token.
  @Test func aRefreshDoesNotWaitForAFetchThatWaitsForIt() async throws {
    let found = Mutex<HTTPSession?>(nil)
    let refreshing = Gate(), clock = ManualClock()
    let source = TokenSource(AccessToken("old"), for: .origin(of: Self.root)) { _ in
      refreshing.open()
      try await clock.sleepers(1, within: .seconds(60))  // the second call's fetch, which waits for this refresh
      let session = try #require(found.withLock { $0 })
      let login = HTTPRequest(.post, Self.root.appending(path: "token"))
      _ = try await session.data(for: login)
      return AccessToken("new")
    }
    var configuration = SessionConfiguration()
    configuration.clock = clock
    configuration.interceptors = [
      CSRFInterceptor(root: Self.root)
    ]
    configuration.credentials = [source]
    let session = HTTPSession(
      transport: MockTransport { request in
        if request.url.path.hasSuffix("token") { return .text("").with("X-CSRF-Token", "t") }
        guard request.fields[.authorization] == "Bearer new" else { return .status(.unauthorized) }
        return request.fields["X-CSRF-Token"] == "Fetch" ? .text("").with("X-CSRF-Token", "t") : .text("done")
      }, configuration: configuration)
    found.withLock { $0 = session }
    defer { found.withLock { $0 = nil } }

    var read = HTTPRequest(.get, Self.root)
    read.options.deadline = .seconds(120)
    var write = HTTPRequest(.post, Self.root)
    write.options.deadline = .seconds(120)
    async let first = session.data(for: read)
    try await refreshing.wait()
    async let second = session.data(for: write)

    #expect(try await first.1.status == .ok)
    #expect(try await second.1.status == .ok)
  }

  @Test func aStoredRefusalIsNotUsedForOtherCredentials() async throws {
    let asked = Mutex<[String]>([])
    let expected = Mutex("Bearer 2")
    let source = TokenSource(AccessToken("1"), for: .any) { _ in AccessToken("2") }
    var configuration = SessionConfiguration()
    configuration.credentials = [source]
    let session = HTTPSession(
      transport: MockTransport { request in
        let value = request.fields[.authorization] ?? "-"
        asked.withLock { $0.append(value) }
        let isRight = value == expected.withLock { $0 }
        return .status(isRight ? .ok : .unauthorized, fields: [.cacheControl: "max-age=600", .eTag: "\"\(value)\""])
      }, configuration: configuration)

    #expect(try await session.data(for: HTTPRequest(.get, origin)).1.status == .ok)
    #expect(try await session.data(for: HTTPRequest(.get, origin)).1.source == .cache)
    source.use(AccessToken("3"))
    expected.withLock { $0 = "Bearer 3" }
    let third = try await session.data(for: HTTPRequest(.get, origin)).1
    #expect(third.source == .network)
    source.use(nil)
    #expect(asked.withLock { $0 } == ["Bearer 1", "Bearer 2", "Bearer 3"])
  }

  @Test(arguments: ["no-store", "max-age=60", "no-cache"])
  func aThousandEqualRequestsWithACacheBetweenCauseOneRefresh(_ control: String) async throws {
    let refreshes = Mutex(0)
    var configuration = SessionConfiguration()
    configuration.credentials = [
      TokenSource(AccessToken("old"), for: .any) { _ in
        refreshes.withLock { $0 += 1 }
        return AccessToken("new")
      }
    ]
    let session = HTTPSession(
      transport: MockTransport { request in
        for _ in 0..<Int.random(in: 0...20) { await Task.yield() }  // another order in each run; any must do
        let isRight = request.fields[.authorization] == "Bearer new"
        return .text("x", status: isRight ? .ok : .unauthorized).with(.cacheControl, control).with(
          .eTag, "\"\(isRight)\"")
      }, configuration: configuration)

    let welcome = try await withThrowingTaskGroup(of: (Data, HTTPResponse).self) { group in
      for _ in 0..<1000 { group.addTask { try await session.data(for: HTTPRequest(.get, origin)) } }
      return try await group.reduce(into: 0) { $0 += $1.1.status == .ok && $1.0 == Data("x".utf8) ? 1 : 0 }
    }

    #expect(welcome == 1000)
    #expect(refreshes.withLock { $0 } == 1)
  }

  @Test func aRedirectToAnotherPortOrSchemeCarriesNoSecrets() async throws {
    let strangers = ["http://a.example:8080/x", "https://a.example/x", "http://A.EXAMPLE./x", "http://b.a.example/x"]
    for stranger in strangers {
      let transport = RecordingTransport(
        around: MockTransport { request in
          request.url.absoluteString.hasPrefix("http://a.example/") ? .redirect(to: stranger, status: 307) : .text("in")
        })
      var configuration = SessionConfiguration()
      configuration.interceptors = [DefaultFieldsInterceptor(["X-Api-Key": "hidden"], for: [origin])]
      configuration.credentials = [TokenSource(AccessToken("hidden"), for: .origin(of: origin))]
      let session = HTTPSession(transport: transport, configuration: configuration)
      let request = HTTPRequest(.post, url("http://u:hidden@a.example/"), fields: [.cookie: "s=hidden"])
      _ = try await session.data(for: request)
      let sent = try #require(transport.records.last).request
      #expect(sent.url.absoluteString == stranger)
      #expect(sent.fields.allSatisfy { !$0.value.contains("hidden") }, "\(stranger)")
    }
  }
}
