import Foundation
import MartletSemantics
import MartletTesting
import SAPFoundation
import SAPFoundationTesting
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

@Suite("The cookies of a session, over the network", .timeLimit(.minutes(5)))
struct SessionCookiesTests {
  private func server() throws -> LoopbackServer {
    try LoopbackServer { request in
      request.path == "/set"
        ? .text("").with(.setCookie, "a=1; Max-Age=3600").with(.setCookie, "b=2") : .text(request.fields[.cookie] ?? "")
    }
  }

  @Test func anOwnStorageStoresAndSendsCookies() async throws {
    let server = try server()
    let sapCookieStorage = SAPHTTPCookieStorage()
    let sessionConfiguration = URLSessionConfiguration.default
    sessionConfiguration.httpCookieStorage = sapCookieStorage
    let session = SAPURLSession(configuration: sessionConfiguration)

    await session.get(server.url("/set"))
    let ending = await session.get(server.url("/show"))

    #expect(ending.data == Data("a=1; b=2".utf8))
    #expect(sapCookieStorage.cookies?.map(\.name) == ["a", "b"])
    #expect(sapCookieStorage.cookies(for: server.url("/"))?.count == 2)
    let found: SAPHTTPCookieStorage? = session.configuration.httpCookieStorage
    #expect(found === sapCookieStorage)
  }

  @Test func sessionCookiesOutliveTheProgramIfConfigured() async throws {
    let server = try server()
    let storage = CodableStorage()
    func session() -> SAPURLSession {
      let configuration = URLSessionConfiguration.default
      configuration.httpCookieStorage = SAPHTTPCookieStorage(persistentStorage: storage)
      return SAPURLSession(configuration: configuration)
    }
    await session().get(server.url("/set"))

    #expect(await session().get(server.url("/show")).data == Data("a=1".utf8))
  }

  @Test func aTokenThatOtherCodeDeletesIsNotSent() async throws {
    let server = try server()
    let storage = SAPHTTPCookieStorage()
    let configuration = URLSessionConfiguration.default
    configuration.httpCookieStorage = storage
    let session = SAPURLSession(configuration: configuration)
    await session.get(server.url("/set"))

    let first = try #require(storage.cookies?.first)
    storage.deleteCookie(first)

    #expect(await session.get(server.url("/show")).data == Data("b=2".utf8))
  }

  @Test func withThePolicyNeverNothingIsStored() async throws {
    let server = try server()
    let storage = SAPHTTPCookieStorage()
    storage.cookieAcceptPolicy = .never
    let configuration = URLSessionConfiguration.default
    configuration.httpCookieStorage = storage
    let session = SAPURLSession(configuration: configuration)
    await session.get(server.url("/set"))
    #expect(await session.get(server.url("/show")).data == Data())
  }

  @Test func withoutAStorageThereAreNoCookies() async throws {
    let server = try server()
    let configuration = URLSessionConfiguration.default
    configuration.httpCookieStorage = SAPHTTPCookieStorage()
    configuration.httpCookieStorage = nil
    let session = SAPURLSession(configuration: configuration)
    await session.get(server.url("/set"))
    #expect(await session.get(server.url("/show")).data == Data())
  }

  @Test func ephemeralSessionsShareNothingUnlessTheyAreGivenTheSame() async throws {
    let server = try server()
    let one = SAPURLSession(configuration: .ephemeral)
    await one.get(server.url("/set"))

    #expect(await SAPURLSession(configuration: .ephemeral).get(server.url("/show")).data == Data())
    #expect(
      await SAPURLSession(configuration: one.configuration).get(server.url("/show")).data == Data("a=1; b=2".utf8))
  }
}

@Suite("Clearing credentials", .timeLimit(.minutes(5)))
struct ClearCredentialsTests {
  private func service() throws -> MobileServices {
    try MobileServices(.init(media: ["a": Media(Data([1, 2, 3]))]))
  }

  @Test func oneCallClearsItAll() async throws {
    let service = try service()
    let tokens = MemoryDataStore()
    let session = SAPURLSession.observed(
      by: CSRFTokenObserver(
        rootUrl: service.url, tokenStore: CSRFTokenStorage(store: CodableStorage(store: tokens))))
    let picture = service.url("/backend/Images('a')/$value")
    await session.get(picture)
    await session.post(service.url("/backend/Orders"))
    #expect(tokens.keys().count == 1)

    await session.post(service.url("/mobileservices/sessions/logout"))
    session.clearCredentials()

    #expect(tokens.keys().isEmpty)
    #expect(session.configuration.httpCookieStorage?.cookies?.isEmpty == true)
    let before = service.requests.count
    await session.get(picture)
    #expect(service.requests.count == before + 1)
    #expect(await session.post(service.url("/backend/Orders")).status == 201)
  }

  @Test func whereThereIsNothingToClearNothingHappens() async throws {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.urlCache = nil
    configuration.httpCookieStorage = nil
    let session = SAPURLSession(configuration: configuration)
    session.clearCredentials()
    session.configuration.urlCache?.removeAllCachedResponses()
    session.configuration.httpCookieStorage?.removeCookies(since: .distantPast)
    let plain: URLSessionConfiguration = session.configuration
    #expect(plain.urlCache == nil)
  }

  @Test func aConfigurationCanBeUsedAsFoundations() {
    let configuration = URLSessionConfiguration.default
    configuration.timeoutIntervalForRequest = 7
    let session = SAPURLSession(configuration: configuration)
    func seconds(of configuration: URLSessionConfiguration) -> TimeInterval { configuration.timeoutIntervalForRequest }

    #expect(session.configuration.timeoutIntervalForRequest == 7)
    #expect(seconds(of: session.configuration) == 7)
    configuration.timeoutIntervalForRequest = 8
    #expect(session.configuration.timeoutIntervalForRequest == 7)
  }
}
