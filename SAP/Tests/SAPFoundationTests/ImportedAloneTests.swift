import SAPFoundation
import Testing

// Code of an app that imports nothing else: no Foundation, no FoundationNetworking, no MartletCombine. If anything is
// missing, it does not compile.

private struct Tokens: CSRFTokenStoring, CSRFTokenURLProviding {
  let url: URL
  func store(token: String, for url: URL) {}
  func token(for url: URL) -> String? { nil }
  func deleteToken(for url: URL) {}
  func csrfTokenURL(for url: URL) -> URL { self.url }
}

private struct Logins: BasicCredentialStoring, BasicCredentialDiscovery {
  func store(credential: BasicCredential, for url: URL) {}
  func credential(for url: URL) -> BasicCredential? { nil }
  func delete(for url: URL) {}
  func provideBasicCredential(
    for url: URL, challenge: URLAuthenticationChallenge,
    completionHandler: @escaping @Sendable (BasicCredential?, (any Error)?) -> Void
  ) { completionHandler(BasicCredential(username: "anna", password: "secret"), nil) }
}

private struct Access: OAuth2Authentication, OAuth2TokenStore {
  func authenticate(completionHandler: @escaping @Sendable (OAuth2Token?, (any Error)?) -> Void) {}
  func refresh(token: OAuth2Token, completionHandler: @escaping @Sendable (OAuth2Token?, (any Error)?) -> Void) {}
  func cancelAuthentication() {}
  func store(token: OAuth2Token, for url: URL) {}
  func token(for url: URL) -> OAuth2Token? { nil }
  func deleteToken(for url: URL) {}
}

private struct Lines: LogSink {
  let write: @Sendable (String) -> Void
  func write(_ line: String, at level: LogLevel) { write(line) }
}

/// All callbacks of an app's delegate, with the names in the documentation.
private final class App: SAPURLSessionDelegate, Sendable {
  func sapURLSession(
    _ session: SAPURLSession, task: SAPURLSessionTask, didReceive challenge: URLAuthenticationChallenge,
    completionHandler: @escaping (SAPURLSession.AuthChallengeDisposition) -> Void
  ) { completionHandler(.use(URLCredential(user: "anna", password: "secret", persistence: .forSession))) }

  func sapURLSession(_ session: SAPURLSession, taskIsWaitingForConnectivity task: SAPURLSessionTask) {}

  func sapURLSession(
    _ session: SAPURLSession, task: SAPURLSessionTask, didFinishCollecting metrics: TransferMetrics
  ) { _ = metrics.connect }

  func sapURLSession(
    _ session: SAPURLSession, task: SAPURLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest, completionHandler: @escaping (SAPURLSession.HTTPRedirectDisposition) -> Void
  ) { completionHandler(response.statusCode == 301 ? .allow(request) : .refuse) }
}

private func seconds(of configuration: URLSessionConfiguration) -> TimeInterval {
  configuration.timeoutIntervalForRequest
}

@Suite("Documented code that imports SAPFoundation alone")
struct ImportedAloneTests {
  @Test func tokenProtocolsTakeStructs() throws {
    let url = try #require(URL(string: "https://mobile.example.com/"))
    let session = SAPURLSession(configuration: .ephemeral, delegate: App(), delegateQueue: OperationQueue())
    session.register(CSRFTokenObserver(tokenUrlProvider: Tokens(url: url), tokenStore: Tokens(url: url)))
    session.register(BasicAuthenticationObserver(credentialStore: Logins(), credentialDiscovery: Logins()))
    session.register(OAuth2Observer(authenticator: Access(), tokenStore: Access()))
    session.register(CorrelationObserver(field: "X-Trace"))

    #expect(session.observers.count == 4)
  }

  @Test func aConfigurationIsPassedOnAsFoundations() {
    let configuration = URLSessionConfiguration.default
    configuration.timeoutIntervalForRequest = 7
    configuration.httpAdditionalHeaders = ["X-App": "shop"]
    configuration.httpCookieStorage = SAPHTTPCookieStorage()
    let session = SAPURLSession(configuration: configuration)

    let c = session.configuration

    #expect(seconds(of: c) == 7)
    #expect(seconds(of: session.configuration) == 7)
    #expect(c.httpAdditionalHeaders?["X-App"] as? String == "shop")
    c.urlCache?.removeAllCachedResponses()
    c.httpCookieStorage?.removeCookies(since: .distantPast)
    #expect(SAPURLSession(configuration: c).configuration.httpCookieStorage === c.httpCookieStorage)
    c.httpCookieStorage = nil
    #expect(SAPURLSession(configuration: c).configuration.httpCookieStorage == nil)
  }

  @Test func theLogAndTheErrorsAreThere() {
    let sink: any LogSink = SAPURLSession.logSink
    #expect(sink is StandardErrorLog || sink is Lines || sink.isEnabled(.error))
    let error: HTTPError? = URLError(.timedOut).underlyingHTTPError
    #expect(error == nil)
    let key: ODataKey = ["OrderID": 1, "ItemID": "a"]
    #expect(URL(filePath: "/s").odataEntity("Items", key).path().contains("OrderID=1"))
  }

  @Test func anErrorOfTheEngineIsCaughtByItsKind() {
    func kind(of error: any Error) -> String {
      do { throw error } catch HTTPError.Kind.cancelled { return "cancelled" } catch { return "another" }
    }
    #expect(kind(of: HTTPError(.cancelled, "the task was cancelled")) == "cancelled")
    #expect(kind(of: HTTPError(.cannotConnect, "nobody listens")) == "another")
    #expect(kind(of: URLError(.cancelled)) == "another")
  }

  @Test func publishersAreThere() throws {
    let url = try #require(URL(string: "http://127.0.0.1:9/"))
    let texts: AnyPublisher<String, Never> = SAPURLSession(configuration: .ephemeral).dataTaskPublisher(for: url)
      .map { data, _ in String(decoding: data, as: UTF8.self) }
      .replaceError(with: "placeholder")
      .eraseToAnyPublisher()
    let subscription: AnyCancellable = texts.sink { _ in }
    subscription.cancel()
  }
}
