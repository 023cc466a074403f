import Foundation
import Testing

@testable import SAPFoundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// What an app does with the cookies of a storage of Foundation's, and what only time does.
@Suite("Changes of a shared cookie storage")
struct SharedCookiesTests {
  private let storage: HTTPCookieStorage
  private let cookie: HTTPCookie
  private let now = Date(timeIntervalSinceNow: 0)

  init() throws {
    let ephemeral: HTTPCookieStorage? = URLSessionConfiguration.ephemeral.httpCookieStorage
    storage = try #require(ephemeral)
    cookie = try #require(
      HTTPCookie(properties: [
        .name: "id", .value: "1", .domain: "www.example.com", .path: "/", .expires: now.addingTimeInterval(60),
      ]))
  }

  /// - Parameter isNewRun: whether the program was started again before the cookie was gone.
  @Test(arguments: [true, false], [59.0, 61.0])
  func aCookieThatHasExpiredWasNotRemoved(isNewRun: Bool, seconds: Double) throws {
    var shared = SharedCookies(storage, isMarked: false)
    storage.setCookie(cookie)
    let adopted = shared.changes(at: now)
    #expect(adopted?.added.map(\.name) == ["id"])
    if isNewRun { shared = SharedCookies(storage, isMarked: true) }

    storage.deleteCookie(cookie)  // As Foundation does itself with a cookie that has expired.
    let changes = shared.changes(at: now.addingTimeInterval(seconds))

    #expect(changes?.removed.count == (seconds < 60 ? 1 : 0))
    #expect(changes?.added.isEmpty == true && changes?.areRemoved == false)
  }

  @Test func aListOfAnEarlierVersionHasNoDates() throws {
    var shared = SharedCookies(storage, isMarked: false)
    storage.setCookie(cookie)
    _ = shared.changes(at: now)
    let list = try #require(storage.cookies?.first { $0.name == "adopted" })
    var properties = try #require(list.properties)
    properties[.value] = String(list.value.prefix { $0 != "." })
    storage.setCookie(try #require(HTTPCookie(properties: properties)))
    shared = SharedCookies(storage, isMarked: true)
    let changes = shared.changes(at: now)
    #expect(changes?.added.isEmpty == true)
  }
}
