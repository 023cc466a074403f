import Foundation
import MartletSemantics
import MartletTesting
import SAPFoundation
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

@Suite("SAPHTTPCookieStorage")
struct CookieStorageTests {
  private let shop = URL(string: "https://shop.example.com/cart/")

  private func cookie(
    _ name: String, _ value: String = "1", domain: String = "shop.example.com", path: String = "/",
    expires: Date? = nil, secure: Bool = false
  ) throws -> HTTPCookie {
    var properties: [HTTPCookiePropertyKey: Any] = [.name: name, .value: value, .domain: domain, .path: path]
    if let expires { properties[.expires] = expires } else { properties[.discard] = "TRUE" }
    if secure { properties[.secure] = "TRUE" }
    return try #require(HTTPCookie(properties: properties))
  }

  @Test func cookiesGoWhereTheyBelong() throws {
    let url = try #require(shop)
    let storage = SAPHTTPCookieStorage()
    storage.setCookie(try cookie("host"))
    storage.setCookie(try cookie("domain", domain: ".example.com"))
    storage.setCookie(try cookie("deep", path: "/cart"))
    storage.setCookie(try cookie("safe", secure: true))
    storage.setCookie(try cookie("other", domain: "other.example.com"))
    storage.setCookie(try cookie("elsewhere", path: "/elsewhere"))

    #expect(storage.cookies(for: url)?.map(\.name) == ["deep", "host", "domain", "safe"])
    let plain = try #require(URL(string: "http://sub.shop.example.com/"))
    #expect(storage.cookies(for: plain)?.map(\.name) == ["domain"])
    #expect(storage.cookies?.count == 6)
  }

  @Test func aCookieReplacesTheOneWithItsName() throws {
    let storage = SAPHTTPCookieStorage()
    storage.setCookie(try cookie("a", "1"))
    storage.setCookie(try cookie("a", "2"))
    #expect(storage.cookies?.map(\.value) == ["2"])

    storage.deleteCookie(try cookie("a", "whatever"))
    #expect(storage.cookies?.isEmpty == true)
  }

  @Test func anExpiredCookieIsNone() throws {
    let storage = SAPHTTPCookieStorage()
    storage.setCookie(try cookie("a", expires: Date(timeIntervalSinceNow: 60)))
    storage.setCookie(try cookie("a", expires: Date(timeIntervalSinceNow: -60)))
    #expect(storage.cookies?.isEmpty == true)
  }

  @Test func storagesShareNothing() throws {
    let (one, other) = (SAPHTTPCookieStorage(), SAPHTTPCookieStorage())
    one.setCookie(try cookie("a"))
    #expect(other.cookies?.isEmpty == true)
  }

  @Test func neverMeansThatNoneIsTaken() throws {
    let storage = SAPHTTPCookieStorage()
    storage.setCookie(try cookie("old"))
    storage.cookieAcceptPolicy = .never
    storage.setCookie(try cookie("new"))
    #expect(storage.cookies?.map(\.name) == ["old"])
  }

  @Test func onlyTheMainDocumentsSiteMaySet() throws {
    let storage = SAPHTTPCookieStorage()
    storage.cookieAcceptPolicy = .onlyFromMainDocumentDomain
    let page = URL(string: "https://news.example.org/")

    storage.setCookies([try cookie("a")], for: shop, mainDocumentURL: page)
    #expect(storage.cookies?.isEmpty == true)
    storage.setCookies([try cookie("a")], for: shop, mainDocumentURL: URL(string: "https://www.example.com/"))
    #expect(storage.cookies?.count == 1)
  }

  @Test func sortingSorts() throws {
    let storage = SAPHTTPCookieStorage()
    for name in ["b", "c", "a"] { storage.setCookie(try cookie(name)) }

    let up = storage.sortedCookies(using: [NSSortDescriptor(keyPath: \HTTPCookie.name, ascending: true)])
    let down = storage.sortedCookies(using: [NSSortDescriptor(keyPath: \HTTPCookie.name, ascending: false)])

    #expect(up.map(\.name) == ["a", "b", "c"])
    #expect(down.map(\.name) == ["c", "b", "a"])
    #expect(storage.sortedCookies(using: []).map(\.name) == ["b", "c", "a"])
  }

  @Test func removingSinceADateKeepsOlderCookies() throws {
    let storage = SAPHTTPCookieStorage()
    storage.setCookie(try cookie("a"))
    storage.removeCookies(since: .distantFuture)
    #expect(storage.cookies?.count == 1)
    storage.removeCookies(since: .distantPast)
    #expect(storage.cookies?.isEmpty == true)
  }

  @Test(arguments: [false, true])
  func whatIsStoredIsThereAgain(persistsSessionCookies: Bool) throws {
    let folder = try TemporaryFolder()
    let backing = CodableStorage(store: try SQLiteDataStore(at: folder.file("cookies.sqlite")))
    let options: SAPHTTPCookieStorageOptions = persistsSessionCookies ? .persistSessionCookies : .default
    let first = SAPHTTPCookieStorage(persistentStorage: backing, options: options)
    first.setCookie(try cookie("lasting", "äöü", expires: Date(timeIntervalSinceNow: 3600), secure: true))
    first.setCookie(try cookie("session"))

    let second = SAPHTTPCookieStorage(persistentStorage: backing, options: options)

    #expect(second.cookies?.map(\.name) == (persistsSessionCookies ? ["lasting", "session"] : ["lasting"]))
    #expect(second.cookies?.first?.value == "äöü")
    #expect(second.cookies?.first?.isSecure == true)
    second.removeCookies(since: .distantPast)
    #expect(SAPHTTPCookieStorage(persistentStorage: backing, options: options).cookies?.isEmpty == true)
  }

  @Test(.timeLimit(.minutes(5))) func aStoreMayChangeCookiesWhileItIsWrittenTo() throws {
    final class Meddling: CodableStoring {
      weak var storage: SAPHTTPCookieStorage?
      var writes = 0

      func get<T: Codable>(_ type: T.Type, for key: String) throws -> T? { nil }
      func put<T: Codable>(_ value: T, for key: String) throws {
        guard key == "SAPHTTPCookieStorage" else { return }  // the mark of the sign-out
        writes += 1
        if writes == 1 { storage?.removeCookies(since: .distantPast) }
      }
      func remove(for key: String) throws {}
    }
    let store = Meddling()
    let storage = SAPHTTPCookieStorage(persistentStorage: store, options: .persistSessionCookies)
    store.storage = storage

    storage.setCookie(try cookie("a"))

    #expect(store.writes == 1)
    #expect(storage.cookies?.isEmpty == true)
  }

  /// Each storage stands for a process. The cookies of the second one belong to the user who has signed out in the
  /// first one, and so do cookies that arrive afterwards.
  @Test func aSignOutOfAnotherProcessLasts() throws {
    let backing = CodableStorage(store: MemoryDataStore())
    let (first, expiry) = (SAPHTTPCookieStorage(persistentStorage: backing), Date(timeIntervalSinceNow: 3600))
    first.setCookie(try cookie("a", "old", expires: expiry))
    let second = SAPHTTPCookieStorage(persistentStorage: backing)
    #expect(Self.texts(of: second) == ["a=old"])

    first.removeCookies(since: .distantPast)
    second.setCookie(try cookie("b", "late", expires: expiry))

    #expect(Self.texts(of: SAPHTTPCookieStorage(persistentStorage: backing)) == [])
    // the next user's, in either
    second.setCookie(try cookie("c", "new", expires: expiry))
    #expect(Self.texts(of: second) == ["c=new"])
    #expect(Self.texts(of: SAPHTTPCookieStorage(persistentStorage: backing)) == ["c=new"])
  }

  /// The second process signs out after the first one has compared the mark, and before it stores its cookies.
  @Test func aSignOutWhileAnotherProcessStoresCookiesLasts() throws {
    let backing = InterruptedStore()
    let first = SAPHTTPCookieStorage(persistentStorage: backing)
    let second = SAPHTTPCookieStorage(persistentStorage: backing.values)
    backing.interruption = { second.removeCookies(since: .distantPast) }

    first.setCookie(try cookie("a", "late", expires: Date(timeIntervalSinceNow: 3600)))

    #expect(Self.texts(of: first) == [])
    #expect(Self.texts(of: SAPHTTPCookieStorage(persistentStorage: backing.values)) == [])
  }

  /// Another process uses the store before the first value is stored.
  private final class InterruptedStore: CodableStoring {
    let values = CodableStorage()
    var interruption: (() -> Void)?

    func get<T: Codable>(_ type: T.Type, for key: String) throws -> T? { try values.get(type, for: key) }

    func put<T: Codable>(_ value: T, for key: String) throws {
      if let interruption {
        self.interruption = nil
        interruption()
      }
      try values.put(value, for: key)
    }

    func remove(for key: String) throws { try values.remove(for: key) }
  }

  @Test func aStoreThatCannotBeReadIsDoneWithout() throws {
    let data = MemoryDataStore()
    data.put(data: Data("no property list".utf8), for: "SAPHTTPCookieStorage")
    let storage = SAPHTTPCookieStorage(persistentStorage: CodableStorage(store: data))

    storage.setCookie(try cookie("a", expires: Date(timeIntervalSinceNow: 3600)))

    #expect(storage.cookies?.count == 1)
    #expect(SAPHTTPCookieStorage(persistentStorage: CodableStorage(store: data)).cookies?.count == 1)
  }

  @Test func aStoreThatThrowsIsDoneWithout() throws {
    final class Broken: CodableStoring {
      struct Failure: Error {}
      func get<T: Codable>(_ type: T.Type, for key: String) throws -> T? { throw Failure() }
      func put<T: Codable>(_ value: T, for key: String) throws { throw Failure() }
      func remove(for key: String) throws { throw Failure() }
    }
    let storage = SAPHTTPCookieStorage(persistentStorage: Broken(), options: .persistSessionCookies)
    storage.setCookie(try cookie("a"))
    #expect(storage.cookies?.count == 1)
  }

  /// A store that cannot be read while it is locked.
  private final class LockableStore: CodableStoring {
    struct Failure: Error {}

    let values = CodableStorage()
    var isLocked = false

    func get<T: Codable>(_ type: T.Type, for key: String) throws -> T? {
      if isLocked { throw Failure() }
      return try values.get(type, for: key)
    }

    func put<T: Codable>(_ value: T, for key: String) throws { try values.put(value, for: key) }

    func remove(for key: String) throws { try values.remove(for: key) }

    /// The names and values of the stored cookies.
    var cookies: [String]? { CookieStorageTests.texts(of: SAPHTTPCookieStorage(persistentStorage: values)) }
  }

  private static func texts(of storage: SAPHTTPCookieStorage) -> [String]? {
    storage.cookies?.map { "\($0.name)=\($0.value)" }.sorted()
  }

  @Test func aStoreThatCannotBeReadAtFirstKeepsItsCookies() throws {
    let (store, expiry) = (LockableStore(), Date(timeIntervalSinceNow: 3600))
    let earlier = SAPHTTPCookieStorage(persistentStorage: store)
    for name in ["a", "b"] { earlier.setCookie(try cookie(name, "old", expires: expiry)) }
    store.isLocked = true
    let storage = SAPHTTPCookieStorage(persistentStorage: store)

    storage.setCookie(try cookie("b", "new", expires: expiry))
    #expect(Self.texts(of: storage) == ["b=new"])
    #expect(store.cookies == ["a=old", "b=old"])
    store.isLocked = false
    storage.setCookie(try cookie("c", "new", expires: expiry))

    #expect(Self.texts(of: storage) == ["a=old", "b=new", "c=new"])
    #expect(store.cookies == ["a=old", "b=new", "c=new"])
  }

  @Test(arguments: [Date.distantPast, Date(timeIntervalSinceNow: -3600)])
  func whatWasRemovedBeforeItCouldBeReadDoesNotReturn(_ date: Date) throws {
    let (store, expiry) = (LockableStore(), Date(timeIntervalSinceNow: 3600))
    SAPHTTPCookieStorage(persistentStorage: store).setCookie(try cookie("a", "old", expires: expiry))
    store.isLocked = true
    let storage = SAPHTTPCookieStorage(persistentStorage: store)

    storage.removeCookies(since: date)
    store.isLocked = false
    storage.setCookie(try cookie("b", "new", expires: expiry))

    #expect(Self.texts(of: storage) == ["b=new"])
    #expect(store.cookies == ["b=new"])
  }

  @Test func aConfigurationAcceptsAndCopiesTheStorage() throws {
    let sapCookieStorage = SAPHTTPCookieStorage()
    let configuration = URLSessionConfiguration.default
    configuration.httpCookieStorage = sapCookieStorage

    let copy = try #require(configuration.copy() as? URLSessionConfiguration)

    let found: SAPHTTPCookieStorage? = copy.httpCookieStorage
    #expect(found === sapCookieStorage)
    let none: SAPHTTPCookieStorage? = URLSessionConfiguration.default.httpCookieStorage
    #expect(none == nil)
  }
}
