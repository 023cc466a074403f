import Foundation
import MartletEngine
import MartletSQLite
import MartletSemantics
import MartletTesting
import SAPFoundation
import SAPFoundationTesting
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

#if os(Linux)
@Suite("Offline in a new process", .timeLimit(.minutes(5)))
struct OfflineProcessTests {
  private let folder: TemporaryFolder
  private let service: MobileServices
  private let url: URL

  init() throws {
    folder = try TemporaryFolder()
    service = try MobileServices(.init(media: ["a": Media(Data("picture".utf8))]))
    url = service.url("/backend/Images('a')/$value")
  }

  private func run(_ arguments: String...) async throws -> String {
    try await SAPProgram(folder: folder).run([folder.file("cache").path] + arguments)
  }

  @Test func anImageOfADayIsShownByTheNextProcessWithoutTheNetwork() async throws {
    #expect(try await run(url.absoluteString) == "200 picture\n")
    service.stop()

    #expect(try await run(url.absoluteString) == "200 picture\n")
    #expect(service.requests.count == 1)
  }

  @Test func whatIsStaleIsShownByTheNextProcessIfTheServerAllows() async throws {
    service.setMedia(Media(Data("picture".utf8), cacheControl: "max-age=0, stale-if-error=3600"), for: "a")
    #expect(try await run(url.absoluteString) == "200 picture\n")
    service.stop()

    #expect(try await run(url.absoluteString) == "200 picture\n")
  }

  @Test func theDocumentedLinesHoldInTheNextProcess() async throws {
    #expect(try await run(url.absoluteString) == "200 picture\n")
    #expect(try await run("clear") == "")
    service.stop()

    #expect(try await run(url.absoluteString) == "0 \(URLError.Code.cannotConnectToHost.rawValue)\n")
  }
}
#endif

@Suite("Caches on disk", .timeLimit(.minutes(5)))
struct DiskCacheTests {
  private let folder: TemporaryFolder
  private let server: LoopbackServer

  init() throws {
    folder = try TemporaryFolder()
    server = try LoopbackServer { request in
      .text(String(repeating: "x", count: request.path == "/large" ? 5000 : 100)).with(.cacheControl, "max-age=60")
    }
  }

  private func session(_ cache: URLCache?) -> SAPURLSession {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.urlCache = cache
    return SAPURLSession(configuration: configuration)
  }

  @Test func aCacheOfTheEnginesIsUsedAsItIs() async throws {
    let store = try SQLiteCacheStore(at: folder.file("own.sqlite"))
    for _ in 0..<2 { _ = await session(SAPURLCache(HTTPCache(store: store))).get(server.url("/")) }

    #expect(server.requests.count == 1)
    #expect(try await store.usage().entries == 1)
  }

  @Test func sessionsThatNameTheSameDirectoryShareIt() async throws {
    let sessions = try (0..<2).map { _ in session(try SAPURLCache(directory: folder.file("cache"))) }
    for session in sessions { _ = await session.get(server.url("/")) }
    #expect(server.requests.count == 1)

    sessions[0].configuration.urlCache?.removeAllCachedResponses()
    _ = await sessions[1].get(server.url("/"))
    #expect(server.requests.count == 2)
    #expect(FileManager.default.fileExists(atPath: folder.file("cache/responses.sqlite").path))
  }

  @Test func anAnswerThatIsTooLargeIsNotKept() async throws {
    let session = session(try SAPURLCache(directory: folder.file("cache"), diskCapacity: 8000))
    for path in ["/large", "/small", "/large", "/small"] { _ = await session.get(server.url(path)) }

    #expect(server.requests.map(\.path) == ["/large", "/small", "/large"])
  }

  @Test func aDirectoryThatCannotBeUsedIsAnError() throws {
    try Data().write(to: folder.file("file"))
    #expect(throws: HTTPError.self) { try SAPURLCache(directory: folder.file("file")) }
  }

  #if os(Linux)
  @Test func aURLCacheThatNamesADirectoryKeepsAnswersThere() async throws {
    for _ in 0..<2 {
      let cache = URLCache(memoryCapacity: 0, diskCapacity: 1 << 20, directory: folder.file("cache"))
      _ = await session(cache).get(server.url("/"))
    }
    #expect(server.requests.count == 1)
    #expect(FileManager.default.fileExists(atPath: folder.file("cache/responses.sqlite").path))
  }

  @Test func aDirectoryThatCannotBeUsedLeavesTheSessionInMemory() async throws {
    try Data().write(to: folder.file("file"))
    let session = session(URLCache(memoryCapacity: 1 << 20, diskCapacity: 1 << 20, directory: folder.file("file")))
    for _ in 0..<2 { _ = await session.get(server.url("/")) }
    #expect(server.requests.count == 1)
  }
  #endif

  @Test func aURLCacheWithoutADirectoryIsInMemory() async throws {
    let cache = URLCache(memoryCapacity: 1 << 20, diskCapacity: 1 << 20, diskPath: nil)
    for _ in 0..<2 { _ = await session(cache).get(server.url("/")) }
    #expect(server.requests.count == 2)
  }

  @Test func whatIsOnItsWayWhenTheCacheIsEmptiedDoesNotComeIn() async throws {
    let gate = Gate()
    let slow = try LoopbackServer { _ in .text("of anna").with(.cacheControl, "max-age=60").held(by: gate) }
    let session = session(try SAPURLCache(directory: folder.file("cache")))

    async let first = session.get(slow.url("/"))
    _ = try await slow.request(1)
    session.configuration.urlCache?.removeAllCachedResponses()
    gate.open()
    _ = await first
    _ = await session.get(slow.url("/"))

    #expect(slow.requests.count == 2)
  }

  /// Response bodies, fields, URLs, cookies, passwords and keys, while the session is open and after it was released.
  @Test func nothingOfAUserCanBeReadFromTheFilesAfterASignOut() async throws {
    let secret = "TheSecretOfAnna"
    let server = try LoopbackServer { request in
      .text(String(repeating: secret, count: request.path.contains("large") ? 50_000 : 10))
        .with(.cacheControl, "max-age=60").with("X-Secret", secret).with(.setCookie, "SESSION=\(secret); Max-Age=600")
    }
    do {
      let values = CodableStorage(store: try SQLiteDataStore(at: folder.file("values.sqlite")))
      let configuration = URLSessionConfiguration.default
      configuration.urlCache = try SAPURLCache(directory: folder.url)
      configuration.httpCookieStorage = SAPHTTPCookieStorage(persistentStorage: values, options: .persistSessionCookies)
      let session = SAPURLSession(configuration: configuration)
      let passwords = BasicCredentialStorage(store: values)
      session.register(BasicAuthenticationObserver(credentialStore: passwords))
      let host = try #require(URL(string: "https://\(secret).example/"))
      try passwords.store(credential: BasicCredential(username: "anna", password: secret), for: host)
      for path in ["/\(secret)", "/large", "/large?q=\(secret)"] { _ = await session.get(server.url(path)) }
      #expect(try traces(of: secret).contains { $0.hasPrefix("responses.sqlite") })
      #expect(try traces(of: secret).contains { $0.hasPrefix("values.sqlite") })

      session.clearCredentials()

      #expect(try traces(of: secret) == [])
    }
    #expect(try traces(of: secret) == [])
  }

  /// The names of the files that contain a text.
  private func traces(of text: String) throws -> [String] {
    try folder.names().filter { (try? Data(contentsOf: folder.file($0)))?.range(of: Data(text.utf8)) != nil }
  }
}
