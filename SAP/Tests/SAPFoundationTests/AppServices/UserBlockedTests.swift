import Foundation
import MartletSemantics
import MartletTesting
import SAPFoundation
import SAPFoundationTesting
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

@Suite("A user who is blocked", .timeLimit(.minutes(5)))
struct UserBlockedTests {
  private let told = Shared<[SAPcpmsUserBlockedError]>([])

  private func observer() -> SAPcpmsUserBlockedObserver {
    SAPcpmsUserBlockedObserver { [told] error in told.change { $0.append(error) } }
  }

  @Test func everyBlockedRequestFailsAndTheHandlerIsCalledOnce() async throws {
    let service = try MobileServices()
    let session = SAPURLSession.observed(by: observer())
    service.block()

    for _ in 0..<3 {
      let ending = await session.get(service.url)
      #expect(ending.error as? SAPcpmsUserBlockedError == .traffic)
    }

    #expect(told.value == [.traffic])
  }

  @Test func aFreeAnswerEndsTheSilence() async throws {
    let service = try MobileServices()
    let session = SAPURLSession.observed(by: observer())
    service.block()
    await session.get(service.url)
    service.unblock()
    #expect(await session.get(service.url).status == 200)
    service.block(nil, "TRAFFIC_REG_BLOCKED")
    await session.get(service.url)
    #expect(told.value == [.traffic, .trafficAndRegistration])
  }

  @Test func neitherAnotherServerNorTheCacheEndsTheSilence() async throws {
    let service = try MobileServices(.init(media: ["a": Media(Data([1]))]))
    let stranger = try ThirdParty()
    let session = SAPURLSession.observed(by: observer())
    let picture = service.url("/backend/Images('a')/$value")
    await session.get(picture)
    service.block()
    await session.get(service.url)

    #expect(await session.get(picture).status == 200)  // from the cache
    #expect(await session.get(stranger.url).status == 200)
    await session.get(service.url)

    #expect(told.value == [.traffic])
  }

  @Test(
    arguments: [
      ("TRAFFIC_BLOCKED", .traffic), ("REG_BLOCKED", .registration), ("TRAFFIC_REG_BLOCKED", .trafficAndRegistration),
    ] as [(String, SAPcpmsUserBlockedError)])
  func everyCodeHasItsError(_ code: String, _ expected: SAPcpmsUserBlockedError) async throws {
    let service = try MobileServices()
    service.block(nil, code)
    #expect(await SAPURLSession.observed(by: observer()).get(service.url).error as? SAPcpmsUserBlockedError == expected)
    #expect(expected.errorDescription?.isEmpty == false)
  }

  @Test func another403IsNotABlock() async throws {
    let service = try MobileServices()
    let session = SAPURLSession.observed(by: observer(), CSRFTokenObserver(rootUrl: service.url))
    service.answer("/a", with: .forbidden)
    service.answer("/b", with: .blocked("TRAFFIC_REG_LOCKED"))
    service.answer("/backend/c", with: .csrfRequired())

    #expect(await session.get(service.url("/a")).status == 403)
    #expect(await session.get(service.url("/b")).status == 403)
    #expect(await session.post(service.url("/backend/c")).status == 201)

    #expect(told.value.isEmpty)
  }

  @Test func statusFieldAndValuesCanBeOthers() async throws {
    let service = try MobileServices()
    service.answer("/", with: .status(423).with("x-state", "OUT"))
    let session = SAPURLSession.observed(
      by: SAPcpmsUserBlockedObserver(
        blockedHTTPStatusCode: 423, blockedHTTPHeaderName: "x-state", errors: ["OUT": .registration]
      ) { [told] error in told.change { $0.append(error) } })

    #expect(await session.get(service.url).error as? SAPcpmsUserBlockedError == .registration)
    #expect(told.value == [.registration])
  }
}
