import MartletTesting
import SAPFoundation
import SAPFoundationTesting
import Testing

// The code of the article MovingFromTheSDK.

/// Refuses servers without the pinned key.
private final class Pinning: SAPURLSessionDelegate, Sendable {
  let pin: String

  init(pin: String) { self.pin = pin }

  #if os(Linux)
  func sapURLSession(
    _ session: SAPURLSession, task: SAPURLSessionTask, didReceive challenge: URLAuthenticationChallenge,
    completionHandler: @escaping @Sendable (SAPURLSession.AuthChallengeDisposition) -> Void
  ) {
    guard challenge.protectionSpace.authenticationMethod == SAPServerTrust.authenticationMethod,
      let trust = challenge.protectionSpace.sapServerTrust
    else { return completionHandler(.performDefaultHandling) }
    completionHandler(trust.publicKeyPins.contains(pin) ? .performDefaultHandling : .rejectProtectionSpace)
  }
  #endif
}

extension DefaultConfigurationTests {
  @Suite("The code of the article for those who move")
  struct MigrationTests {
    private let service: MobileServices

    init() throws {
      DefaultConfigurationTests.removeAll()
      service = try MobileServices(.init(applicationID: "com.example.shop"))
    }

    private func report(_ error: SAPcpmsUserBlockedError) {}

    @Test func aSessionAsArticlesSetItUpWorksAndIsCleared() async throws {
      let backend = service.url("/backend")
      let session = SAPURLSession()
      session.register(SAPcpmsObserver(applicationID: "com.example.shop", deviceID: nil))
      session.register(CorrelationObserver())
      session.register(LanguageObserver())
      session.register(CSRFTokenObserver(rootUrl: backend))
      session.register(SAPcpmsUserBlockedObserver { error in report(error) })

      var order = URLRequest(url: backend.appending(path: "Orders"))
      order.httpMethod = SAPURLSession.HTTPMethod.post
      let (_, response) = try await session.data(for: order)
      #expect((response as? HTTPURLResponse)?.statusCode == 201)
      #expect(session.configuration.httpCookieStorage?.cookies?.isEmpty == false)

      session.configuration.urlCache?.removeAllCachedResponses()
      session.configuration.httpCookieStorage?.removeCookies(since: .distantPast)
      session.clearCredentials()

      #expect(session.configuration.httpCookieStorage?.cookies?.isEmpty == true)
    }

    @Test func aConnectionHasAnAuthorityAVersionAndAProxy() throws {
      let companyAuthority = URL(filePath: "/etc/ssl/company.pem")
      var connection = ConnectionConfiguration()
      connection.tls.additionalAuthorities = companyAuthority
      connection.tls.minimumVersion = .v1_3
      connection.proxy = .http("proxy.example.com", port: 8080)
      let session = SAPURLSession(configuration: .default, connection: connection)
      #expect(session.isValid)
      #expect(SAPURLSession(delegate: Pinning(pin: "")).delegate is Pinning)
    }

    @Test func aRequestOnAnotherQueueCarriesTheContextOfItsCall() async throws {
      let (session, profile, queue) = (SAPURLSession(), service.url("/backend/Orders"), DispatchQueue(label: "other"))
      let data = await withCheckedContinuation { (finished: CheckedContinuation<Data?, Never>) in
        let done: @Sendable (Data?, (any Error)?) -> Void = { data, _ in finished.resume(returning: data) }
        let context = SAPURLSession.CallContext.current
        queue.async {
          context.perform { session.dataTask(with: profile) { data, _, error in done(data, error) }.resume() }
        }
      }
      #expect(data != nil)
    }

    @Test func aCacheOnTheDiskIsThatOfTheSession() throws {
      let folder = try TemporaryFolder().file("cache")
      let configuration = URLSessionConfiguration.default
      configuration.urlCache = try SAPURLCache(directory: folder)
      let session = SAPURLSession(configuration: configuration)
      #expect(session.configuration.urlCache === configuration.urlCache)
    }

    @Test func whatFoundationLacksOnLinuxHasAReplacement() {
      #expect(URLError.Code(rawValue: -999) == .some(.cancelled))
      #expect(!Locale.autoupdatingCurrent.identifier.isEmpty)
      #expect(NSPredicate { value, _ in value as? Int == 1 }.evaluate(with: 1))
      #expect(NSLocalizedString("missing", value: "a text", comment: "") == "a text")
      #expect(Logger.root.parent == nil)
      _ = NotificationCenter.default.publisher(for: Notification.Name("shop"))
      _ = Timer.publish(every: 1, on: .main, in: .common)
    }
  }
}
