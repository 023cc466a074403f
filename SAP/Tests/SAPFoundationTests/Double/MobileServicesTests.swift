import Foundation
import Martlet
import MartletTesting
import SAPFoundationTesting
import Testing

@Suite("SAPFoundationTesting", .timeLimit(.minutes(5)))
struct MobileServicesTests {
  private let picture = Media(Data([0xFF, 0xD8, 0xFF, 0xE0]))

  private func session() -> HTTPSession {
    var configuration = SessionConfiguration()
    configuration.cache = nil
    return HTTPSession(configuration: configuration)
  }

  private func get(_ url: URL, _ fields: HTTPFields = [:], in session: HTTPSession) async throws -> (Data, HTTPResponse)
  {
    try await session.data(for: HTTPRequest(.get, url, fields: fields))
  }

  @Test func aRequestWithoutCredentialsIsChallenged() async throws {
    let service = try MobileServices(.init(users: ["anna": "secret"]))
    let session = session()

    let (_, refused) = try await get(service.url, in: session)
    let basic = "Basic " + Data("anna:secret".utf8).base64EncodedString()
    let (_, accepted) = try await get(service.url, [.authorization: basic], in: session)
    let (_, known) = try await get(service.url, in: session)

    #expect(refused.status == 401)
    #expect(refused.fields[.wwwAuthenticate]?.hasPrefix("Basic") == true)
    #expect(accepted.status == 200)
    #expect(known.status == 200)
    #expect(service.sessionCount == 1)
  }

  @Test(arguments: [Duration.seconds(Int64.max), .seconds(Int64.min)])
  func anyLatencyIsPossible(latency: Duration) throws {
    let service = try MobileServices(.init(latency: latency))
    #expect(service.port > 0)
  }

  @Test func tokenAndCookieAreGoodOnlyTogether() async throws {
    let service = try MobileServices()
    let (one, other) = (session(), session())
    let (_, fetched) = try await get(service.url, ["X-CSRF-Token": "fetch"], in: one)
    let token = try #require(fetched.fields["X-CSRF-Token"])
    let request = HTTPRequest(.post, service.url("/backend/Orders"), fields: ["X-CSRF-Token": token])

    let (_, good) = try await one.data(for: request)
    let (text, foreign) = try await other.data(for: request)
    service.expireTokens()
    let (_, late) = try await one.data(for: request)

    #expect(good.status == 201)
    #expect(foreign.status == 403)
    #expect(foreign.fields["X-CSRF-Token"] == "Required")
    #expect(String(decoding: text, as: UTF8.self) == "CSRF token validation failed")
    #expect(late.status == 403)
  }

  @Test func threeMeaningsOf403LookDifferent() async throws {
    let service = try MobileServices(.init(applicationID: "app"))
    let session = session()
    let app: HTTPFields = ["X-SMP-APPID": "app"]

    let (_, forbidden) = try await get(service.url, in: session)
    let (_, required) = try await session.data(for: HTTPRequest(.post, service.url("/backend/x"), fields: app))
    service.block()
    let (_, blocked) = try await get(service.url, app, in: session)
    service.unblock()
    let (_, free) = try await get(service.url, app, in: session)

    #expect([forbidden.status, required.status, blocked.status, free.status] == [403, 403, 403, 200])
    #expect(required.fields["X-CSRF-Token"] == "Required")
    #expect(blocked.fields["x-message-code"] == "TRAFFIC_BLOCKED")
    #expect(!forbidden.fields.contains("x-message-code"))
  }

  @Test func logoutEndsTheSession() async throws {
    let service = try MobileServices()
    let session = session()
    _ = try await get(service.url, in: session)
    #expect(service.sessionCount == 1)

    _ = try await session.data(for: HTTPRequest(.post, service.url("/mobileservices/sessions/logout")))

    #expect(service.sessionCount == 0)
  }

  @Test func picturesHaveTagsAndKeysWithQuotes() async throws {
    let service = try MobileServices(.init(media: ["it's a/b": picture]))
    let session = session()
    let url = service.url("/backend/Images('it''s%20a%2Fb')/$value")

    let (data, response) = try await get(url, in: session)
    let tag = try #require(response.fields[.eTag])
    let (_, unchanged) = try await get(url, [.ifNoneMatch: tag], in: session)
    let (_, misquoted) = try await get(service.url("/backend/Images('it's')/$value"), in: session)
    let (xml, missing) = try await get(service.url("/backend/Images('x')/$value"), in: session)
    let (json, _) = try await get(service.url("/backend/Images('x')"), [.accept: "application/json"], in: session)

    #expect(data == picture.content)
    #expect(response.fields[.contentType] == "image/jpeg")
    #expect(response.fields[.cacheControl] == "private, max-age=86400")
    #expect(unchanged.status == 304)
    #expect(misquoted.status == 400)
    #expect(missing.status == 404)
    #expect(xml.starts(with: Data("<?xml".utf8)))
    #expect(json.starts(with: Data("{\"error\"".utf8)))
  }

  @Test func preparedAnswersComeInOrderAndEnd() async throws {
    let service = try MobileServices()
    let stranger = try ThirdParty()
    service.answer("/backend/x", with: .samlLoginPage)
    service.answer("/backend/x", with: .redirect(to: stranger.url.absoluteString))
    let session = session()

    let (_, login) = try await get(service.url("/backend/x"), in: session)
    let (text, _) = try await get(service.url("/backend/x"), ["X-Private": "1"], in: session)
    let (_, usual) = try await get(service.url("/backend/x"), in: session)

    #expect(login.fields.contains("com.sap.cloud.security.login"))
    #expect(String(decoding: text, as: UTF8.self) == "elsewhere")
    #expect(stranger.requests.count == 1)
    #expect(usual.status == 404)
    #expect(service.requests(to: "/backend/x").count == 3)
  }
}
