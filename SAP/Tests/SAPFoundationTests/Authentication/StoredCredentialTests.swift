import Foundation
@_spi(Toolkit) import MartletSemantics
import MartletTesting
import SAPFoundation
import SAPFoundationTesting
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

@Suite("A sign-out and the stores", .timeLimit(.minutes(5)))
struct StoredCredentialTests {
  private struct Authenticator: OAuth2Authentication {
    func authenticate(completionHandler: @escaping @Sendable (OAuth2Token?, (any Error)?) -> Void) {
      completionHandler(OAuth2Token(accessToken: "t", tokenType: "Bearer"), nil)
    }
    func refresh(token: OAuth2Token, completionHandler: @escaping @Sendable (OAuth2Token?, (any Error)?) -> Void) {}
    func cancelAuthentication() {}
  }

  /// A run of the program that stores everything of its session in one file.
  private struct NoIdentity: UserIdentityObtaining {
    func obtainUserIdentity(completionHandler: @escaping @Sendable (Data?, (any Error)?) -> Void) {
      completionHandler(nil, nil)
    }
  }

  private func run(_ file: URL, _ server: LoopbackServer) throws -> (session: SAPURLSession, values: CodableStorage) {
    let values = CodableStorage(store: try SQLiteDataStore(at: file))
    let configuration = SAPURLSession.plain
    configuration.httpCookieStorage = SAPHTTPCookieStorage(persistentStorage: values, options: .persistSessionCookies)
    let session = SAPURLSession(configuration: configuration)
    session.register(CSRFTokenObserver(rootUrl: server.url("/"), tokenStore: CSRFTokenStorage(store: values)))
    session.register(BasicAuthenticationObserver(credentialStore: BasicCredentialStorage(store: values)))
    session.register(
      OAuth2Observer(authenticator: Authenticator(), tokenStore: OAuth2TokenStorage(store: values), backend: server.url)
    )
    #if os(Linux)
    session.register(
      UserIdentityObserver(userIdentityDiscovery: NoIdentity(), identityStore: UserIdentityStorage(store: values)))
    #endif
    return (session, values)
  }

  private func server() throws -> LoopbackServer {
    try LoopbackServer { request in
      .text("in").with("X-CSRF-Token", "token").with(.setCookie, "SESSION=1")
    }
  }

  @Test func aRunDeletesWhatAnEarlierRunStoredEvenIfItUsedNothing() async throws {
    let folder = try TemporaryFolder()
    let server = try server()
    do {
      let (session, values) = try run(folder.file("values.sqlite"), server)
      try BasicCredentialStorage(store: values).store(
        credential: BasicCredential(username: "anna", password: "secret"), for: server.url)
      try UserIdentityStorage(store: values).store(identity: Data("anna's".utf8), for: server.url)
      try values.put("dark", for: "appearance")
      _ = await session.post(server.url("/orders"))
      #expect(try values.keys().count == 6)
    }

    let (session, values) = try run(folder.file("values.sqlite"), server)
    session.clearCredentials()

    // with the mark of the sign-out, for other processes
    #expect(Set(try values.keys()) == ["SAPHTTPCookieStorage.signOut", "appearance"])
    #expect(try run(folder.file("values.sqlite"), server).session.configuration.httpCookieStorage?.cookies == [])
  }

  /// A store with the three documented methods and nothing else, which outlives the program.
  private final class AppStore: CodableStoring {
    private let values = CodableStorage()
    let refused = Shared<Set<String>>([])

    var keys: Set<String> { (try? values.keys()) ?? [] }

    func get<T: Codable>(_ type: T.Type, for key: String) throws -> T? { try values.get(type, for: key) }
    func put<T: Codable>(_ value: T, for key: String) throws { try values.put(value, for: key) }
    func remove(for key: String) throws {
      if refused.value.contains(key) { throw TestFailure(name: "locked") }
      try values.remove(for: key)
    }
  }

  private func fill(_ store: AppStore, for url: URL) throws {
    try CSRFTokenStorage(store: store).store(token: "token", for: url)
    try BasicCredentialStorage(store: store).store(
      credential: BasicCredential(username: "anna", password: "secret"), for: url)
    try OAuth2TokenStorage(store: store, keyHandler: { "my own key of \($0)" }).store(
      token: OAuth2Token(accessToken: "anna's", tokenType: "Bearer"), for: url)
    #if os(Linux)
    try UserIdentityStorage(store: store).store(identity: Data("anna's".utf8), for: url)
    #endif
    try store.put("dark", for: "appearance")
  }

  @Test func aStoreThatCannotListItsKeysIsEmptiedByTheNextRun() throws {
    let (store, server) = (AppStore(), try server())
    try fill(store, for: server.url)
    #expect(store.keys.count > 4)

    let session = SAPURLSession(configuration: SAPURLSession.plain)
    session.register(CSRFTokenObserver(rootUrl: server.url("/other"), tokenStore: CSRFTokenStorage(store: store)))
    session.register(BasicAuthenticationObserver(credentialStore: BasicCredentialStorage(store: store)))
    session.register(
      OAuth2Observer(
        authenticator: Authenticator(),
        tokenStore: OAuth2TokenStorage(store: store, keyHandler: { "my own key of \($0)" }), backend: server.url))
    #if os(Linux)
    session.register(
      UserIdentityObserver(userIdentityDiscovery: NoIdentity(), identityStore: UserIdentityStorage(store: store)))
    #endif
    session.clearCredentials()

    #expect(store.keys == ["appearance"])
  }

  @Test func aValueThatCannotBeRemovedIsRemovedByTheNextSignOut() throws {
    let (store, url) = (AppStore(), try #require(URL(string: "https://sap.example/")))
    let (locked, other) = (OAuth2TokenStorage.key(for: url), try #require(URL(string: "https://other.example/")))
    for url in [url, other] {
      try OAuth2TokenStorage(store: store).store(token: OAuth2Token(accessToken: "t", tokenType: "Bearer"), for: url)
    }
    store.refused.change { $0 = [locked] }

    OAuth2TokenStorage(store: store).clear()
    #expect(store.keys == [locked, OAuth2TokenStorage.keyPrefix + "keys"])
    store.refused.change { $0 = [] }
    OAuth2TokenStorage(store: store).clear()

    #expect(store.keys.isEmpty)
  }

  @Test(arguments: [true, false])
  func whatAnObserverStoredThatIsNotRegisteredAnyMoreIsDeletedToo(_ isInvalidated: Bool) async throws {
    let folder = try TemporaryFolder()
    let server = try server()
    let (session, values) = try run(folder.file("values.sqlite"), server)
    _ = await session.post(server.url("/orders"))
    if isInvalidated {
      session.invalidateAndCancel()
      await session.callbacksHaveReturned()
    } else {
      for observer in session.observers { session.unregister(observer) }
    }

    session.clearCredentials()

    #expect(try values.keys() == ["SAPHTTPCookieStorage.signOut"])  // for other processes
  }
}
