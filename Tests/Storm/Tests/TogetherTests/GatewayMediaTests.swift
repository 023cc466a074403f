import Foundation
import Martlet
import MartletImages
import MartletTesting
import SAPFoundationTesting
import TestSupport
import Testing

/// Media entities of a service like SAP Gateway, behind a login, loaded without any code for SAP.
@Suite("Images of SAP Gateway", .timeLimit(.minutes(5)))
struct GatewayMediaTests {
  private let service: MobileServices
  private let loader: ImageLoader

  init() throws {
    let fixtures = projectFolder.appending(path: "Images/Tests/MartletImagesTests/Fixtures")
    let picture = try Data(contentsOf: fixtures.appending(path: "baseline.jpg"))
    service = try MobileServices(
      .init(
        users: ["anna": "secret"],
        media: [
          "O'Hara/1": Media(picture), "checked": Media(picture, cacheControl: "private, max-age=0"),
        ]))
    var settings = SessionConfiguration()
    settings.credentials = [
      PasswordSource(
        Credential(user: "anna", password: "secret"), for: .matching { [port = service.port] in $0.port == port })
    ]
    var configuration = ImageLoader.Configuration()
    configuration.cache = nil
    loader = ImageLoader(session: HTTPSession(configuration: settings), configuration: configuration)
  }

  @Test func imageIsFreshForADayAndThenAvailableOffline() async throws {
    let url = service.url("/backend/Images('O''Hara%2F1')/$value")
    #expect(try await loader.image(for: url).source == .session(.network))
    #expect(try await loader.image(for: url).source == .session(.cache))
    service.stop()
    #expect(try await loader.image(for: url).source == .session(.cache))
  }

  @Test func staleImageIsRevalidatedAndThenAvailableOffline() async throws {
    let url = service.url("/backend/Images('checked')/$value")
    #expect(try await loader.image(for: url).source == .session(.network))
    #expect(try await loader.image(for: url).source == .session(.revalidated))
    service.stop()
    #expect(try await loader.image(for: url).source == .session(.offline))
  }

  @Test func loginPageIsAnErrorAndNotCached() async throws {
    let path = "/backend/Images('checked')/$value"
    service.answer(path, with: .samlLoginPage)
    let error = await #expect(throws: ImageLoadError.self) { try await loader.image(for: service.url(path)) }
    #expect(error?.kind == .notAnImage)

    loader.forgetFailures()
    #expect(try await loader.image(for: service.url(path)).source == .session(.network))
  }
}
