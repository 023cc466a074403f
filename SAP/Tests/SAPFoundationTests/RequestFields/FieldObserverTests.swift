import Foundation
import MartletEngine
import MartletSemantics
import MartletTesting
import SAPFoundationTesting
import Testing

@testable import SAPFoundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

@Suite("The fields of app and device", .timeLimit(.minutes(5)))
struct SAPcpmsObserverTests {
  @Test func everyRequestSaysWhichAppAndDeviceAsk() async throws {
    let service = try MobileServices(.init(applicationID: "app"))
    let session = SAPURLSession.observed(
      by: SAPcpmsObserver(applicationID: "app", deviceID: "device", applicationVersion: "2.1"))

    #expect(await session.get(service.url).status == 200)
    await session.get(service.url("/backend/"))

    #expect(service.requests.count == 2)
    for request in service.requests {
      #expect(request.fields["X-SMP-APPID"] == "app")
      #expect(request.fields["X-SMP-DEVICEID"] == "device")
      #expect(request.fields["X-SMP-APPVERSION"] == "2.1")
    }
    #expect(service.requests.count == 2)
  }

  @Test func withoutADeviceItsFieldIsNotSent() async throws {
    let service = try MobileServices()
    let session = SAPURLSession.observed(by: SAPcpmsObserver(applicationID: "app", deviceID: nil))
    await session.get(service.url)
    #expect(service.requests.first?.fields.contains("X-SMP-DEVICEID") == false)
  }

  @Test func theDeviceIsNotSentAfterARedirect() async throws {
    let service = try MobileServices()
    let stranger = try ThirdParty()
    service.answer("/backend/x", with: .redirect(to: stranger.url.absoluteString))
    let session = SAPURLSession.observed(by: SAPcpmsObserver(applicationID: "app", deviceID: "device"))

    #expect(await session.get(service.url("/backend/x")).status == 200)

    #expect(stranger.requests.count == 1)
    #expect(stranger.values(of: "X-SMP-APPID").isEmpty)
    #expect(stranger.values(of: "X-SMP-DEVICEID").isEmpty)
    #expect(service.requests.first?.fields["X-SMP-APPID"] == "app")
  }

  @Test func withABackendTheFieldsAreSentToItOnly() async throws {
    let service = try MobileServices()
    let stranger = try ThirdParty()
    let settings = SAPcpmsSettingsParameters(backendURL: service.url, applicationID: "app", deviceID: "device")
    let session = SAPURLSession.observed(by: SAPcpmsObserver(settingsParameters: settings))

    await session.get(service.url("/backend/"))
    await session.get(stranger.url)

    #expect(service.requests.first?.fields["X-SMP-DEVICEID"] == "device")
    #expect(stranger.requests.count == 1)
    #expect(stranger.values(of: "X-SMP-APPID").isEmpty)
  }

  @Test func whatARequestSaysItselfStays() async throws {
    let service = try MobileServices()
    let session = SAPURLSession.observed(
      by: SAPcpmsObserver(applicationID: "app", applicationVersion: "1", versionField: "X-App-Version"))
    var request = URLRequest(url: service.url)
    request.setValue("mine", forHTTPHeaderField: "X-SMP-APPID")

    _ = await session.outcome(of: request)

    #expect(service.requests.first?.fields[values: "X-SMP-APPID"] == ["mine"])
    #expect(service.requests.first?.fields["X-App-Version"] == "1")
  }

  @Test func theDefaultsAreTheSameEveryTime() throws {
    #expect(SAPcpmsSettingsParameters.defaultDeviceID == SAPcpmsSettingsParameters.defaultDeviceID)
    #expect(SAPcpmsSettingsParameters.defaultDeviceID.count >= 32)
    #expect(!SAPcpmsSettingsParameters.defaultApplicationID.isEmpty)
    #expect(SAPcpmsObserver(applicationID: "app").deviceID == SAPcpmsSettingsParameters.defaultDeviceID)
    let url = try #require(URL(string: "https://example.com"))
    let settings = SAPcpmsSettingsParameters(backendURL: url, applicationID: "app", destinations: ["a": "/b"])
    let data = try JSONEncoder().encode(settings)
    #expect(try JSONDecoder().decode(SAPcpmsSettingsParameters.self, from: data) == settings)
  }
}

@Suite("The correlation identifier", .timeLimit(.minutes(5)))
struct CorrelationObserverTests {
  @Test func aTaskThatIsSentAgainKeepsItsIdentifier() async throws {
    let service = try MobileServices()
    service.answer("/backend/x", with: .csrfRequired())
    let session = SAPURLSession.observed(by: CorrelationObserver(), CSRFTokenObserver(rootUrl: service.url))
    let seen = Shared<SAPURLSessionTask?>(nil)

    let ending = await session.outcome(of: .post(service.url("/backend/x"))) { task in seen.change { $0 = task } }

    let ids = service.requests(to: "/backend/x").map { $0.fields["X-CorrelationID"] }
    #expect(ending.status == 201)
    #expect(ids.count == 2 && Set(ids).count == 1)
    #expect(ids.first == seen.value?.correlationID)
    let fetch = try #require(service.requests.first { $0.fields["X-CSRF-Token"] == "Fetch" })
    #expect(fetch.fields["X-CorrelationID"] != nil)
    #expect(fetch.fields["X-CorrelationID"] != ids.first)
  }

  @Test func everyTaskHasItsOwn() async throws {
    let service = try MobileServices()
    let session = SAPURLSession.observed(by: CorrelationObserver())
    await session.get(service.url)
    await session.get(service.url("/backend/"))
    #expect(Set(service.requests.compactMap { $0.fields["X-CorrelationID"] }).count == 2)
  }

  @Test func theCallersIdentifierIsKept() async throws {
    let service = try MobileServices()
    let session = SAPURLSession.observed(by: CorrelationObserver())
    var request = URLRequest(url: service.url)
    request.setValue("mine", forHTTPHeaderField: "X-CorrelationID")
    let seen = Shared<SAPURLSessionTask?>(nil)

    _ = await session.outcome(of: request) { task in seen.change { $0 = task } }

    #expect(service.requests.first?.fields[values: "X-CorrelationID"] == ["mine"])
    #expect(seen.value?.correlationID == "mine")
  }

  private final class Numbered: CorrelationObserver {
    override func newCorrelationID() -> String { "number one" }
  }

  @Test func aSubclassMakesIdentifiersOfItsOwn() async throws {
    let service = try MobileServices()
    await SAPURLSession.observed(by: Numbered(field: "X-Request-ID")).get(service.url)
    #expect(service.requests.first?.fields["X-Request-ID"] == "number one")
  }
}

@Suite("The user's language", .timeLimit(.minutes(5)))
struct LanguageObserverTests {
  @Test(arguments: [
    ("de", "de"), ("en_US", "en-US"), ("de_CH.UTF-8@euro", "de-CH"), ("zh-hant-tw", "zh-Hant-TW"),
    ("en_US_POSIX", "en-US-posix"),
  ])
  func theLanguageIsATagAndReplacesTheRequestsField(_ language: String, _ expected: String) async throws {
    let service = try MobileServices()
    var request = URLRequest(url: service.url)
    request.setValue("fr", forHTTPHeaderField: "Accept-Language")

    _ = await SAPURLSession.observed(by: LanguageObserver(language: language)).outcome(of: request)

    #expect(service.requests.first?.fields[values: .acceptLanguage] == [expected])
  }

  @Test func aChangeHoldsForTheNextRequest() async throws {
    let service = try MobileServices()
    let observer = LanguageObserver(language: "de")
    let session = SAPURLSession.observed(by: observer)

    await session.get(service.url)
    observer.language = "it"
    await session.get(service.url("/backend/"))

    #expect(service.requests.map { $0.fields[.acceptLanguage] } == ["de", "it"])
    #expect((observer.copy() as? LanguageObserver)?.language == "it")
  }

  @Test(arguments: [("de, fr;q=0.9", nil, "de, fr;q=0.9"), ("de", "it", "de"), (nil, "it", "it"), (nil, nil, "en")])
  func aDeviceWithoutALanguageSendsTheFallback(_ device: String?, _ own: String?, _ expected: String) throws {
    var request = URLRequest(url: try #require(URL(string: "https://h/")))
    request.setValue(own, forHTTPHeaderField: "Accept-Language")

    let sent = LanguageObserver.setting(device, in: request)

    #expect(sent.value(forHTTPHeaderField: "Accept-Language") == expected)
  }

  @Test func whatIsNoLanguageFailsWithAReason() async throws {
    let service = try MobileServices()
    let ending = await SAPURLSession.observed(by: LanguageObserver(language: "no language")).get(service.url)
    #expect((ending.error as? URLError)?.underlyingHTTPError?.message.contains("BCP 47") == true)
    #expect(service.requests.isEmpty)
  }
}
