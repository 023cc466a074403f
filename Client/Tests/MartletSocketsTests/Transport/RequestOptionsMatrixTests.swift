#if os(Linux)
import MartletEngine
import MartletSemantics
import MartletSockets
import MartletTesting
import Synchronization
import TestServers
import Testing

/// Each option of a request has the same effect over HTTP/1.1 and HTTP/2, even if it is an option of the session.
///
/// Every row runs a second time without its option, and must then end differently: a row cannot pass if the option is
/// ignored.
@Suite(.timeLimit(.minutes(5)))
struct RequestOptionsMatrixTests {
  /// The place where a row makes its requests.
  struct Site: Sendable {
    let nginx: Nginx
    let session: HTTPSession
    /// The options of the requests: those of the row, or none.
    let options: RequestOptions

    /// Returns how a request ends: the status and the body, or the kind of the error.
    func get(_ path: String, _ options: RequestOptions? = nil, method: HTTPMethod = .get) async -> String {
      await outcome {
        let request = HTTPRequest(method, nginx.tls(path), options: options ?? self.options)
        return try await session.data(for: request)
      }
    }

    func outcome(_ body: () async throws -> (Data, HTTPResponse)) async -> String {
      do {
        let (data, response) = try await body()
        return "\(response.status.code) \(String(decoding: data.prefix(40), as: UTF8.self))"
      } catch { return "\(HTTPError(wrapping: error).kind)" }
    }

    /// Returns whether the response of `/fresh`, which differs each time, was stored: after the body, it is requested
    /// again.
    func isStored(_ first: RequestOptions, then second: RequestOptions = .init()) async -> String {
      let stored = await get("/fresh", first)
      return await get("/fresh", second) == stored ? "stored" : "not stored"
    }
  }

  struct Row: CustomTestStringConvertible, Sendable {
    let name: String
    let outcome: String
    /// Whether it would wait too long without the option.
    var waits = false
    var change: @Sendable (inout RequestOptions) -> Void
    let run: @Sendable (Site) async throws -> String

    init(
      _ name: String, _ outcome: String, waits: Bool = false,
      _ change: @escaping @Sendable (inout RequestOptions) -> Void,
      _ run: @escaping @Sendable (Site) async throws -> String
    ) {
      (self.name, self.outcome, self.waits, self.change, self.run) = (name, outcome, waits, change, run)
    }

    var testDescription: String { name }
  }

  static let timeRows: [Row] = [
    Row("responseTimeout", "responseTimeout") {
      $0.responseTimeout = .nanoseconds(1)
    } _: {
      await $0.get("/hello.txt")
    },
    Row("idleTimeout", "idleTimeout", waits: true) {
      $0.idleTimeout = .milliseconds(1)
    } _: {
      await $0.get("/slow.bin")
    },
    Row("deadline", "deadlineExceeded", waits: true) {
      $0.deadline = .milliseconds(100)
    } _: {
      await $0.get("/slow.bin")
    },
    Row("continueTimeout", "200 gzip, deflate, br, zstd,100-continue,,") {
      $0.continueTimeout = .seconds(1)
    } _: { site in
      await site.outcome {
        let request = HTTPRequest(
          .put, site.nginx.tls("/fields"), body: .data(Data(count: 2 << 20)), options: site.options)
        return try await site.session.data(for: request)
      }
    },
  ]

  static let limitRows: [Row] = [
    Row("headLimit", "headTooLarge") {
      $0.headLimit = 20
    } _: {
      await $0.get("/hello.txt")
    },
    Row("bodyLimit", "bodyTooLarge") {
      $0.bodyLimit = 4
    } _: {
      await $0.get("/hello.txt")
    },
    Row("collectLimit", "bodyTooLarge") {
      $0.collectLimit = 4
    } _: {
      await $0.get("/hello.txt")
    },
    Row("decompressionRatioLimit", "bodyTooLarge") {
      $0.decompressionRatioLimit = 10
    } _: {
      await $0.get("/zeros.txt")
    },
  ]

  static let decisionRows: [Row] = [
    Row("redirectPolicy", "302") {
      $0.redirectPolicy = .manual
    } _: {
      String(await $0.get("/moved").prefix(3))
    },
    Row("redirectDecision", "302") {
      $0.redirectDecision = { _, _, _ in nil }
    } _: {
      String(await $0.get("/moved").prefix(3))
    },
    // the body is the number of requests over the connection
    Row("retryPolicy", "503 3") {
      $0.retryPolicy = atOnce
    } _: {
      await $0.get("/busy")
    },
    Row("isIdempotent", "503 3") {
      $0.isIdempotent = true
    } _: { site in
      var options = site.options
      options.retryPolicy = atOnce
      return await site.get("/busy", options, method: .post)
    },
    Row("expecting", "unexpectedResponse") {
      $0.expecting = .successful
    } _: {
      await $0.get("/nothing")
    },
    Row("keepsDotSegments", "200 /uri/../uri") {
      $0.keepsDotSegments = true
    } _: {
      await $0.get("/uri/../uri")
    },
  ]

  static let storageRows: [Row] = [
    Row("cachePolicy", "notCached") {
      $0.cachePolicy = .returnCacheDataDontLoad
    } _: {
      await $0.get("/hello.txt")
    },
    Row("partition", "not stored") {
      $0.partition = "anna"
    } _: {
      await $0.isStored(.init(), then: $0.options)
    },
    Row("storageDecision", "not stored") {
      $0.storageDecision = { _ in nil }
    } _: {
      await $0.isStored($0.options)
    },
    Row("storesDownloads", "stored") {
      $0.storesDownloads = true
    } _: { site in
      let folder = try TemporaryFolder()
      let file = folder.file("fresh.txt")
      let request = HTTPRequest(.get, site.nginx.tls("/fresh"), options: site.options)
      _ = try await site.session.download(for: request, to: file)
      let text = try String(contentsOf: file, encoding: .utf8)
      return await site.get("/fresh") == "200 \(text)" ? "stored" : "not stored"
    },
    Row("handlesCookies", "200 gzip, deflate, br, zstd,,,") {
      $0.handlesCookies = false
    } _: { site in
      _ = await site.get("/cookie", .init())
      return await site.get("/fields")
    },
    Row("cookieContext", "200 gzip, deflate, br, zstd,,,") {
      $0.cookieContext.isSameSite = false
    } _: { site in
      _ = await site.get("/cookie", .init())
      return await site.get("/fields")
    },
  ]

  static let credentialRows: [Row] = [
    Row("usesCredentials", "200 gzip, deflate, br, zstd,,,") {
      $0.usesCredentials = false
    } _: {
      await $0.get("/fields?signed")
    }
  ]

  static let observerRows: [Row] = [
    Row("label", "orders") {
      $0.label = "orders"
    } _: { site in
      let seen = Mutex<String?>(nil)
      var options = site.options
      options.listeners = [EventHandler { _, call in seen.withLock { $0 = call.label } }]
      _ = await site.get("/hello.txt", options)
      return seen.withLock { $0 } ?? ""
    },
    Row("interceptors", "200 gzip, deflate, br, zstd,,,seen") {
      $0.interceptors = [Tag()]
    } _: {
      await $0.get("/fields")
    },
    Row("listeners", "received") {
      $0.listeners = [receipts]
    } _: { site in
      let path = "/hello.txt?\(UUID())"
      _ = await site.get(path)
      return received.withLock { $0.contains(path) } ? "received" : "not received"
    },
  ]

  static let rows = timeRows + limitRows + decisionRows + storageRows + credentialRows + observerRows

  /// Path and query of the requests whose beginning the listener of a row has received.
  private static let received = Mutex<Set<String>>([])
  private static let receipts = EventHandler { event, _ in
    guard case .started(let request) = event, let query = request.url.query() else { return }
    _ = received.withLock { $0.insert("\(request.url.path())?\(query)") }
  }

  /// Two retries without a delay.
  private static var atOnce: RetryPolicy {
    var policy = RetryPolicy(limit: 2)
    policy.random = { 0 }
    return policy
  }

  private struct Tag: Interceptor {
    func prepare(_ request: HTTPRequest, in call: Call) async throws -> Preparation {
      var request = request
      request.fields["X-Test"] = "seen"
      return .send(request)
    }
  }

  /// Authorizes the requests with the query `signed`, by the field that `/fields` returns.
  private struct Signature: CredentialSource {
    let scope = CredentialScope.any

    func authorize(_ request: HTTPRequest, in call: Call) async throws -> HTTPRequest {
      var request = request
      if request.url.query() == "signed" { request.fields["X-Test"] = "signed" }
      return request
    }
  }

  private func site(_ row: Row, _ versions: ConnectionConfiguration.Versions, inSession: Bool) throws -> Site {
    let nginx = try Nginx.shared.get()
    var options = RequestOptions()
    row.change(&options)
    var settings = SessionConfiguration()
    settings.credentials = [Signature()]
    if inSession { swap(&options, &settings.options) }
    return Site(
      nginx: nginx,
      session: HTTPSession(transport: SocketTransport(nginx.connection(versions)), configuration: settings),
      options: options)
  }

  @Test(arguments: rows, [ConnectionConfiguration.Versions.http1, .automatic])
  func anOptionOfARequestHasAnEffect(_ row: Row, _ versions: ConnectionConfiguration.Versions) async throws {
    #expect(try await row.run(site(row, versions, inSession: false)) == row.outcome)
    guard !row.waits else { return }
    var without = row
    without.change = { _ in }
    #expect(try await without.run(site(without, versions, inSession: false)) != row.outcome)
  }

  /// The rows that make a request without any of their options.
  @Test(arguments: rows.filter { $0.name != "partition" && $0.name != "listeners" })
  func anOptionOfTheSessionHasAnEffect(_ row: Row) async throws {
    #expect(try await row.run(site(row, .automatic, inSession: true)) == row.outcome)
  }

  /// Give a new option a row, or a place here.
  @Test func everyOptionHasARow() throws {
    let others: Set<String> = [
      // PING is a frame of HTTP/2: SilentConnectionTests
      "pingInterval",
      // needs a server that cuts a download: DownloadResumptionTests
      "downloadResumptions",
      // Its heads are compared without a server: HTTP1RequestHeadTests
      "omittedFields",
      // need bodies of seconds, which pass on a manual clock: BodyRateTests
      "maximumRate", "minimumRate",
      // depend on the body and on the server's fields: SentDigestTests, CheckedDigestTests
      "contentDigest", "reprDigest", "checksDigests",
    ]
    let labels = Mirror(reflecting: RequestOptions()).children.compactMap(\.label)
    let options = labels.map { String($0.drop { $0 == "_" }) }

    #expect(options.count > 20)
    for option in options where !others.contains(option) {
      #expect(Self.rows.contains { $0.name == option }, "\(option)")
    }
  }
}
#endif
