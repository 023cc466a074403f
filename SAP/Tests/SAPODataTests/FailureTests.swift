import Foundation
import MartletTesting
import SAPFoundationTesting
import SAPOData
import Synchronization
import Testing

@Suite("Failures of OData calls", .timeLimit(.minutes(5)))
struct FailureTests {
  private static func kind(_ call: () async throws -> Void) async -> ODataError? {
    await #expect(throws: ODataError.self) { try await call() }
  }

  @Test func serviceOfTheOtherVersionIsNamed() async throws {
    let shop = try Shop(.v4)
    shop.provider.serviceOptions.dataVersion = .v2

    let error = await Self.kind { _ = try await shop.provider.page(of: Order.self, in: "Orders") }
    shop.provider.serviceOptions.checkVersion = false
    let page = try await shop.provider.page(of: Order.self, in: "Orders")

    #expect(error?.kind == .versionMismatch)
    #expect(error?.message.contains("dataVersion to .v4") == true)
    #expect(page.values.count == 3)
  }

  @Test func tooLargeAResponseIsNotCollected() async throws {
    let (provider, server) = try OnlineODataProvider.answered { _ in .repeating(Data(" ".utf8), length: 1 << 40) }
    provider.serviceOptions.limits.responseBytes = 1 << 20

    let error = await Self.kind { _ = try await provider.page(of: Order.self, in: "Orders") }

    #expect(error?.kind == .responseTooLarge)
    #expect(try await server.end(ofConnection: 1) == .client)
  }

  @Test(
    "A response that is none is refused",
    arguments: [
      (Reply.text("<html>"), "JSON"), (.json("7"), "list"), (.json("{}"), "list"), (.status(.ok), "no body"),
      (.status(302), "302"), (.json(#"{"value":[{"ID":1}"#), "line 1"),
    ])
  func responseThatIsNoneIsRefused(reply: Reply, words: String) async throws {
    let (provider, _) = try OnlineODataProvider.answered { _ in reply }

    let error = await Self.kind { _ = try await provider.page(of: Order.self, in: "Orders") }

    #expect(error?.kind == .invalidResponse)
    #expect(error?.message.contains(words) == true)
  }

  @Test func loginPageIsNoEntity() async throws {
    let (provider, _) = try OnlineODataProvider.answered { _ in .samlLoginPage }

    await #expect(throws: SAPLoginRequiredError.self) { try await provider.page(of: Order.self, in: "Orders") }
    await #expect(throws: SAPLoginRequiredError.self) { _ = try await provider.download("Film") }
  }

  @Test func providerWithoutASessionOrARootSaysSo() async throws {
    let provider = OnlineODataProvider(serviceRoot: URL(filePath: "/odata"))
    let wrongRoot = await Self.kind { _ = try await provider.count(in: "Orders") }
    let other = try Shop(.v2).provider
    other.sapURLSession = nil
    let noSession = await Self.kind { _ = try await other.count(in: "Orders") }

    #expect(wrongRoot?.kind == .invalidRequest)
    #expect(noSession?.message.contains("sapURLSession") == true)
  }

  @Test func cancellingTheTaskEndsTheRequest() async throws {
    let (provider, server) = try OnlineODataProvider.answered { _ in .never }
    let call = Task { try await provider.page(of: Order.self, in: "Orders") }
    _ = try await server.request(1)

    call.cancel()

    let error = await #expect(throws: URLError.self) { try await call.value }
    #expect(error?.code == .cancelled)
    #expect(try await server.end(ofConnection: 1) == .client)
  }

  // MARK: - CSRF

  /// A service in front of which a token is required, with a session cookie.
  private func protected(_ service: ODataService) throws -> LoopbackServer {
    try LoopbackServer { request in
      let hasSession = request.fields[.cookie]?.contains("SID=1") == true
      if request.method != .get, request.method != .head, !hasSession || request.fields["X-CSRF-Token"] != "t1" {
        return .csrfRequired()
      }
      let reply = service.reply(to: request.received)
      guard request.fields["X-CSRF-Token"]?.lowercased() == "fetch" else { return reply }
      return reply.with("X-CSRF-Token", "t1").with(.setCookie, "SID=1; Path=/")
    }
  }

  @Test func tokenIsAcquiredBeforeTheFirstChange() async throws {
    let server = try protected(ODataService())
    let session = SAPURLSession()
    session.register(CSRFTokenObserver(rootUrl: server.url("/odata")))
    let provider = OnlineODataProvider(serviceRoot: server.url("/odata"), sapURLSession: session)

    try await provider.acquireToken()
    try await provider.create(Order(Status: "new"), in: "Orders")

    #expect(server.requests.map(\.method) == [.get, .post])
  }

  @Test func sessionWithoutAnObserverIsToldHowToGetAToken() async throws {
    let server = try protected(ODataService())
    let provider = OnlineODataProvider(serviceRoot: server.url("/odata"))

    let refused = await Self.kind { try await provider.create(Order(Status: "new"), in: "Orders") }
    let acquired = await Self.kind { try await provider.acquireToken() }
    provider.serviceOptions.requiresToken = ""
    try await provider.acquireToken()

    for error in [refused, acquired] {
      #expect(error?.kind == .tokenRequired)
      #expect(error?.message.contains("CSRFTokenObserver(rootUrl:") == true)
    }
    #expect(server.requests.count == 2)
  }

  // MARK: - Trace

  final class Lines: LogHandler {
    var logLevel = LogLevel.info
    let all = Mutex<[String]>([])
    func publish(_ record: LogRecord) { all.withLock { $0.append(record.message) } }
  }

  @Test func traceHasRequestsAndNoSecrets() async throws {
    let (logger, lines) = (Logger.shared(named: "SAP.OData.OnlineODataProvider"), Lines())
    logger.add(handler: lines)
    logger.logLevel = .info
    defer {
      logger.remove(handler: lines)
      logger.removeLogLevel()
    }
    let shop = try Shop(.v2)
    shop.provider.traceRequests = true
    shop.provider.traceWithData = true
    shop.provider.prettyTracing = true

    try await shop.provider.update(
      ["password": "geheim", "Status": "paid"], at: ODataPath("Orders").key(1))
    _ = try? await shop.provider.entity(
      Order.self, at: ODataPath("Patients").key("Anna"), ODataQuery().custom("token", "geheim"))

    let trace = lines.all.withLock { $0 }
    #expect(trace.count == 2)
    #expect(trace.first?.contains("MERGE http") == true)
    #expect(trace.first?.contains("\"Status\": \"paid\"") == true)
    #expect(!trace.contains { $0.contains("geheim") || $0.contains("Anna") })
  }
}
