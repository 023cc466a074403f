import Foundation
import MartletSemantics
import MartletTesting
import SAPFoundation
import SAPFoundationTesting
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

@Suite("A CSRF token and its session", .timeLimit(.minutes(5)))
struct CSRFSessionTests {
  private let service: MobileServices
  private let session: SAPURLSession

  init() throws {
    service = try MobileServices()
    session = SAPURLSession.observed(by: CSRFTokenObserver(rootUrl: service.url("/backend/")))
  }

  private var fetches: [ReceivedRequest] { service.requests.filter { $0.fields["X-CSRF-Token"] == "Fetch" } }

  private var sessionCookie: String? {
    session.configuration.httpCookieStorage?.cookies?.first { $0.name == "JSESSIONID" }?.value
  }

  private func cookie(_ value: String) -> Reply { .text("").with(.setCookie, "JSESSIONID=\(value); Path=/; HttpOnly") }

  @Test func aReadThatOpensAnotherSessionDoesNotSeparateTokenAndCookie() async throws {
    let gate = Gate()
    service.answer("/backend/late", with: cookie("of-another-session").held(by: gate))
    async let late = session.get(service.url("/backend/late"))
    _ = try await service.request(1)
    #expect(await session.post(service.url("/backend/Orders"), "one").status == 201)

    gate.open()
    #expect(await late.status == 200)
    #expect(await session.post(service.url("/backend/Orders"), "two").status == 201)

    #expect(service.requests(to: "/backend/Orders").map(\.text) == ["one", "two"])
    #expect(fetches.count == 1)
  }

  @Test func aLateRefusalDoesNotSeparateTheRenewedTokenAndCookie() async throws {
    let gate = Gate()
    let refusal = Reply.csrfRequired().with(.setCookie, "JSESSIONID=of-another-session; Path=/; HttpOnly")
    service.answer("/backend/Slow", with: refusal.held(by: gate))
    await session.post(service.url("/backend/Orders"), "first")
    let before = service.requests.count
    async let slow = session.post(service.url("/backend/Slow"), "slow")
    _ = try await service.request(before + 1)
    service.expireSessions()
    #expect(await session.post(service.url("/backend/Orders"), "fast").status == 201)

    gate.open()

    #expect(await slow.status == 201)
    #expect(service.requests(to: "/backend/Slow").map(\.text) == ["slow", "slow"])
    #expect(fetches.count == 2)
  }

  @Test func theSessionItselfMayChangeItsCookie() async throws {
    await session.post(service.url("/backend/Orders"))
    service.answer("/backend/logon", with: cookie("renewed"))
    await session.get(service.url("/backend/logon"))
    #expect(sessionCookie == "renewed")
    service.answer("/backend/logoff", with: .text("").with(.setCookie, "JSESSIONID=; Path=/; Max-Age=0"))
    await session.get(service.url("/backend/logoff"))
    #expect(sessionCookie == nil)
    #expect(await session.post(service.url("/backend/Orders")).status == 201)
  }

  @Test func theProgramMayChangeTheCookie() async throws {
    await session.post(service.url("/backend/Orders"))
    let storage = try #require(session.configuration.httpCookieStorage)
    let old = try #require(storage.cookies?.first)
    var properties = old.properties ?? [:]
    properties[.value] = "by-hand"
    storage.setCookie(try #require(HTTPCookie(properties: properties)))
    service.answer("/backend/next", with: cookie("next"))
    await session.get(service.url("/backend/next"))
    #expect(sessionCookie == "next")
  }

  @Test func otherCookiesAreTakenAsTheyCome() async throws {
    let gate = Gate()
    service.answer("/backend/late", with: .text("").with(.setCookie, "cart=late; Path=/").held(by: gate))
    async let late = session.get(service.url("/backend/late"))
    _ = try await service.request(1)
    await session.post(service.url("/backend/Orders"))
    service.answer("/backend/cart", with: .text("").with(.setCookie, "cart=early; Path=/"))
    await session.get(service.url("/backend/cart"))
    gate.open()
    _ = await late
    #expect(session.configuration.httpCookieStorage?.cookies?.first { $0.name == "cart" }?.value == "late")
  }

  @Test(arguments: 0..<12) func sessionsMayExpireInTheMiddle(requests: Int) async throws {
    await session.post(service.url("/backend/Orders"), "first")
    service.expireSessions(after: requests)
    await withTaskGroup(of: Int?.self) { group in
      for number in 0..<6 {
        group.addTask { await session.post(service.url("/backend/Orders"), "\(number)").status }
        group.addTask { await session.get(service.url("/backend/?\(number)")).status }
      }
      for await status in group { #expect(status == 201 || status == 200) }
    }
    let sendings = Dictionary(grouping: service.requests(to: "/backend/Orders"), by: \.text).values.map(\.count)
    #expect(sendings.count == 7)
    #expect(sendings.allSatisfy { $0 <= 2 })
  }

  // MARK: - Outside the root

  @Test func whatWasRequiredOutsideTheRootIsSentAtOnceTheNextTime() async throws {
    let outside = service.url("/mobileservices/log")
    #expect(await session.post(outside, "one").status == 404)
    #expect(await session.post(outside, "two").status == 404)
    #expect(await session.post(service.url("/mobileservices/log?query"), "three").status == 404)
    #expect(await session.post(service.url("/mobileservices/log/below"), "below").status == 404)

    #expect(service.requests(to: "/mobileservices/log").map(\.text) == ["one", "one", "two", "three"])
    #expect(service.requests(to: "/mobileservices/log/below").count == 1)
  }

  @Test func anExpiredTokenIsRenewedOutsideTheRootToo() async throws {
    let outside = service.url("/mobileservices/log")
    await session.post(outside, "one")
    for text in ["two", "three"] {
      service.expireSessions()
      #expect(await session.post(outside, text).status == 404)
    }
    #expect(service.requests(to: "/mobileservices/log").map(\.text) == ["one", "one", "two", "two", "three", "three"])
  }

  @Test func aFirstWriteOutsideTheRootAfterExpiryIsAccepted() async throws {
    await session.post(service.url("/backend/Orders"))
    service.expireSessions()
    #expect(await session.post(service.url("/mobileservices/log"), "one").status == 404)
    #expect(service.requests(to: "/mobileservices/log").count == 2)
  }

  @Test func theTokensURLIsRequestedAsItWasWritten() async throws {
    let session = SAPURLSession.observed(by: CSRFTokenObserver(rootUrl: service.url("/backend?sap-client=100")))
    #expect(await session.post(service.url("/backend/Orders")).status == 201)
    #expect(fetches.map(\.target) == ["/backend?sap-client=100"])
  }
}
