import Foundation
import MartletSemantics
import MartletTesting
import SAPFoundation
import SAPFoundationTesting
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

private let tokenField: FieldName = "X-CSRF-Token"

extension MobileServices {
  fileprivate var fetches: [ReceivedRequest] { requests.filter { $0.fields[tokenField] == "Fetch" } }
}

@Suite("CSRF tokens from one root", .timeLimit(.minutes(5)))
struct CSRFBasicTests {
  @Test func aTokenIsFetchedOnceAndThenUsed() async throws {
    let service = try MobileServices()
    let session = SAPURLSession.observed(by: CSRFTokenObserver(rootUrl: service.url))

    for _ in 0..<3 { #expect(await session.post(service.url("/backend/Orders")).status == 201) }
    #expect(await session.get(service.url("/backend/")).status == 200)

    #expect(service.fetches.count == 1)
    #expect(service.requests.last?.fields.contains(tokenField) == false)
  }

  @Test(arguments: [Reply.hangUp, .reset, .raw("nonsense\r\n\r\n")])
  func aTokenIsFetchedByGETIfTheConnectionOfHEADEnds(_ answer: Reply) async throws {
    let server = try LoopbackServer { request in
      if request.method == .head { return answer }
      if request.fields[tokenField] == "Fetch" { return Reply.status(.ok).with(tokenField, "t1") }
      return request.fields[tokenField] == "t1" ? .status(.created) : .csrfRequired()
    }
    let session = SAPURLSession.observed(by: CSRFTokenObserver(rootUrl: server.url("/service")))

    #expect(await session.post(server.url("/service/Orders")).status == 201)

    #expect(server.requests.filter { $0.method == .get }.map(\.path) == ["/service"])
  }

  @Test func manyRequestsWaitForOneFetch() async throws {
    let service = try MobileServices()
    let gate = Gate()
    service.answer("/", with: .status(405).held(by: gate))
    let session = SAPURLSession.observed(by: CSRFTokenObserver(rootUrl: service.url))

    await withTaskGroup(of: Int?.self) { group in
      for number in 0..<10 {
        group.addTask { await session.post(service.url("/backend/Orders"), "\(number)").status }
      }
      _ = try? await service.request(1)
      gate.open()
      for await status in group { #expect(status == 201) }
    }

    #expect(service.fetches.map(\.method) == [.head, .get])
  }

  @Test func anExpiredTokenIsRenewedAndTheRequestSentAgainOnce() async throws {
    let service = try MobileServices()
    let session = SAPURLSession.observed(by: CSRFTokenObserver(rootUrl: service.url))
    await session.post(service.url("/backend/Orders"), "one")
    service.expireTokens()

    #expect(await session.post(service.url("/backend/Orders"), "two").status == 201)

    #expect(service.requests(to: "/backend/Orders").map(\.text) == ["one", "two", "two"])
  }

  @Test func anExpiredSessionGetsAnotherPair() async throws {
    let service = try MobileServices()
    let session = SAPURLSession.observed(by: CSRFTokenObserver(rootUrl: service.url))
    await session.post(service.url("/backend/Orders"))
    service.expireSessions()
    #expect(await session.post(service.url("/backend/Orders")).status == 201)
    #expect(service.sessionCount == 1)
  }

  @Test func aSecondRefusalIsTheCallers() async throws {
    let service = try MobileServices()
    service.answer("/backend/x", with: .csrfRequired(), times: 5)
    let session = SAPURLSession.observed(by: CSRFTokenObserver(rootUrl: service.url))

    let ending = await session.post(service.url("/backend/x"))

    #expect(ending.status == 403)
    #expect(ending.error == nil)
    #expect(service.requests(to: "/backend/x").count == 2)
  }

  @Test func theOtherObserversAreAskedAboutTheFetch() async throws {
    let service = try MobileServices(.init(applicationID: "app"))
    let observer = CSRFTokenObserver(rootUrl: service.url)
    let session = SAPURLSession.observed(by: SAPcpmsObserver(applicationID: "app"), observer)
    let sent = Shared<[String]>([])
    session.register(Watcher(sent))

    #expect(await session.post(service.url("/backend/Orders")).status == 201)

    #expect(service.fetches.first?.fields["X-SMP-APPID"] == "app")
    #expect(sent.value == ["HEAD", "POST"])
  }

  private final class Watcher: SAPURLSessionObserving {
    private let sent: Shared<[String]>
    init(_ sent: Shared<[String]>) { self.sent = sent }

    func sapURLSession(
      _ session: SAPURLSession, task: SAPURLSessionTask, willSend request: URLRequest,
      completionHandler: @escaping @Sendable (SAPURLSession.RequestDisposition) -> Void
    ) {
      sent.change { $0.append(request.httpMethod ?? "") }
      completionHandler(.allow(request))
    }
  }

  @Test func aStreamedBodyNeedsANewStream() async throws {
    let service = try MobileServices()
    service.answer("/backend/Orders", with: .csrfRequired())
    let session = SAPURLSession.observed(by: CSRFTokenObserver(rootUrl: service.url))
    let streams = Shared(0)

    let ending: Outcome = await withCheckedContinuation { continuation in
      var request = URLRequest(url: service.url("/backend/Orders"))
      request.httpMethod = SAPURLSession.HTTPMethod.post
      let task = session.uploadTask(
        withStreamedRequest: request,
        needNewBodyStream: {
          streams.change { $0 += 1 }
          return InputStream(data: Data("streamed".utf8))
        }
      ) { continuation.resume(returning: Outcome(data: $0, response: $1, error: $2)) }
      task.resume()
    }

    #expect(ending.status == 201)
    #expect(streams.value == 2)
    #expect(service.requests(to: "/backend/Orders").map(\.text) == ["streamed", "streamed"])
  }

  @Test func cancellingARequestDoesNotCancelTheFetchForOthers() async throws {
    let service = try MobileServices()
    let gate = Gate()
    service.answer("/", with: .text("").held(by: gate))
    let session = SAPURLSession.observed(by: CSRFTokenObserver(rootUrl: service.url))
    let first = Shared<SAPURLSessionTask?>(nil)

    async let cancelled = session.outcome(of: .post(service.url("/backend/Orders"), "one")) { task in
      first.change { $0 = task }
    }
    _ = try await service.request(1)
    async let other = session.post(service.url("/backend/Orders"), "two")
    first.value?.cancel()
    let error = await cancelled.error
    gate.open()

    #expect((error as? URLError)?.code == .cancelled)
    #expect(await other.status == 201)
  }

  @Test func aServiceElsewhereOnTheHostGetsATokenWhenItAsks() async throws {
    let service = try MobileServices()
    let session = SAPURLSession.observed(by: CSRFTokenObserver(rootUrl: service.url("/backend/")))
    #expect(await session.post(service.url("/mobileservices/log")).status == 404)
    #expect(service.requests(to: "/mobileservices/log").count == 2)
  }

  @Test func noTokenReachesAThirdParty() async throws {
    let service = try MobileServices()
    let stranger = try ThirdParty()
    service.answer("/backend/Orders", with: .redirect(to: stranger.url.absoluteString, status: 307))
    let session = SAPURLSession.observed(by: CSRFTokenObserver(rootUrl: service.url))

    #expect(await session.post(service.url("/backend/Orders")).status == 200)
    await session.post(stranger.url)

    #expect(stranger.requests.count == 2)
    #expect(stranger.values(of: tokenField).isEmpty)
  }
}

@Suite("CSRF tokens from several URLs", .timeLimit(.minutes(5)))
struct CSRFAdvancedTests {
  private final class Provider: CSRFTokenURLProviding {
    private let rule: @Sendable (URL) -> URL
    init(_ rule: @escaping @Sendable (URL) -> URL) { self.rule = rule }
    func csrfTokenURL(for url: URL) -> URL { rule(url) }
  }

  @Test func theStoreIsCalledWithTheProvidersURL() async throws {
    let service = try MobileServices()
    let tokenURL = service.url("/backend/token")
    let memory = MemoryDataStore()
    let store = CSRFTokenStorage(store: CodableStorage(store: memory))
    let session = SAPURLSession.observed(
      by: CSRFTokenObserver(tokenUrlProvider: Provider { _ in tokenURL }, tokenStore: store))

    #expect(await session.post(service.url("/backend/Orders")).status == 201)

    #expect(try store.token(for: tokenURL)?.hasPrefix("token-") == true)
    #expect(service.fetches.first?.path == "/backend/token")
    try store.deleteToken(for: tokenURL)
    #expect(memory.keys().isEmpty)
  }

  @Test func theRequestsOwnURLMayGiveTheToken() async throws {
    let service = try MobileServices()
    let session = SAPURLSession.observed(by: CSRFTokenObserver(tokenUrlProvider: Provider { $0 }))
    #expect(await session.post(service.url("/backend/Orders")).status == 201)
    #expect(service.fetches.count == 1)
  }

  @Test func aStoreThatThrowsFailsNoRequest() async throws {
    final class Broken: CSRFTokenStoring {
      func store(token: String, for url: URL) throws { throw URLError(.cannotCreateFile) }
      func token(for url: URL) throws -> String? { throw URLError(.cannotOpenFile) }
      func deleteToken(for url: URL) throws { throw URLError(.cannotRemoveFile) }
    }
    let service = try MobileServices()
    let session = SAPURLSession.observed(by: CSRFTokenObserver(rootUrl: service.url, tokenStore: Broken()))
    for _ in 0..<2 { #expect(await session.post(service.url("/backend/Orders")).status == 201) }
    service.expireTokens()
    #expect(await session.post(service.url("/backend/Orders")).status == 201)
  }

  @Test func aStoreIsCalledByOneAtATime() async throws {
    final class Careless: CSRFTokenStoring, Sendable {
      private let tokens = Shared<[URL: String]>([:])
      private let inside = Shared(0)
      let most = Shared(0)

      private func alone<Result>(_ body: () -> Result) -> Result {
        inside.change { $0 += 1 }
        defer { inside.change { $0 -= 1 } }
        for _ in 0..<1000 {
          let now = inside.value
          most.change { $0 = max($0, now) }
        }
        return body()
      }

      func store(token: String, for url: URL) { alone { tokens.change { $0[url] = token } } }
      func token(for url: URL) -> String? { alone { tokens.value[url] } }
      func deleteToken(for url: URL) { alone { tokens.change { $0[url] = nil } } }
    }
    let (service, store) = (try MobileServices(), Careless())
    let session = SAPURLSession.observed(by: CSRFTokenObserver(tokenUrlProvider: Provider { $0 }, tokenStore: store))
    await withTaskGroup(of: Void.self) { group in
      for number in 0..<30 { group.addTask { await session.post(service.url("/backend/\(number)/Orders")) } }
    }
    #expect(store.most.value == 1)
  }

  @Test func aStoreWithoutThrowsIsAStoreToo() async throws {
    final class Documented: CSRFTokenStoring {
      private let tokens = Shared<[URL: String]>([:])
      func store(token: String, for url: URL) { tokens.change { $0[url] = token } }
      func token(for url: URL) -> String? { tokens.value[url] }
      func deleteToken(for url: URL) { tokens.change { $0[url] = nil } }
    }
    let service = try MobileServices()
    let session = SAPURLSession.observed(by: CSRFTokenObserver(rootUrl: service.url, tokenStore: Documented()))
    #expect(await session.post(service.url("/backend/Orders")).status == 201)
  }

  @Test func twoServicesOfOneHostHaveTokensOfTheirOwn() async throws {
    let service = try MobileServices()
    let session = SAPURLSession.observed(
      by: CSRFTokenObserver(rootUrl: service.url("/backend/a/")), CSRFTokenObserver(rootUrl: service.url("/backend/b/"))
    )

    #expect(await session.post(service.url("/backend/b/x")).status == 201)
    #expect(await session.post(service.url("/backend/a/x")).status == 201)

    #expect(service.fetches.map(\.path).sorted() == ["/backend/a/", "/backend/b/"])
  }

  @Test func twoSessionsWithStoresOfTheirOwnDoNotMix() async throws {
    let service = try MobileServices()
    let observer = CSRFTokenObserver(rootUrl: service.url)
    let copy = try #require(observer.copy() as? CSRFTokenObserver)
    let (one, other) = (SAPURLSession.observed(by: observer), SAPURLSession.observed(by: copy))

    for session in [one, other, one] { #expect(await session.post(service.url("/backend/Orders")).status == 201) }

    #expect(service.sessionCount == 2)
    #expect(service.fetches.count == 2)
  }
}
