import Foundation
import MartletTesting
import SAPFoundation
import SAPFoundationTesting
import Testing

@Suite("Destinations", .timeLimit(.minutes(5)))
struct DestinationTests {
  private func load(_ destinations: SAPcpmsDestinations) async -> ([String: String]?, (any Error)?) {
    await withCheckedContinuation { continuation in
      destinations.load { continuation.resume(returning: ($0, $1)) }
    }
  }

  @Test func theDestinationsOfAnAppAreLoaded() async throws {
    let service = try MobileServices(.init(destinations: ["images": "/backend"]))
    var settings = SAPcpmsSettingsParameters(backendURL: service.url, applicationID: "com.example.app")

    let (destinations, error) = await load(
      SAPcpmsDestinations(sapURLSession: SAPURLSession(configuration: .ephemeral), settingsParameters: settings))

    #expect(error == nil)
    #expect(destinations == ["images": "/backend"])
    settings.destinations = destinations
    #expect(settings.url(destination: "images") == service.url("/backend"))
  }

  @Test func listsAndErrorsAreUnderstood() async throws {
    let service = try MobileServices()
    let url = service.url("/list")
    service.answer("/list", with: .json(#"[{"name":"a","path":"/x"},{"name":"b","path":"/y"}]"#))
    service.answer("/list", with: .odataError(.v4, status: 403, code: "A", message: "Not for you"))
    service.answer("/list", with: .text("what?"))
    let destinations = SAPcpmsDestinations(
      sapURLSession: SAPURLSession(configuration: .ephemeral), destinationsServiceUrl: url)

    #expect(await load(destinations).0 == ["a": "/x", "b": "/y"])
    #expect(await load(destinations).1?.localizedDescription == "Not for you")
    #expect(await load(destinations).1 is SAPURLError)
  }

  @Test func furtherDestinationsAreAddedAndTheAppsOwnWin() async throws {
    let service = try MobileServices()
    service.answer("/list", with: .json(#"{"a":"/own"}"#), times: 2)
    service.answer("/remote", with: .json(#"[{"name":"a","path":"/x"},{"name":"b","path":"/y"}]"#))
    service.answer("/remote", with: .status(.internalServerError))
    let destinations = SAPcpmsDestinations(
      sapURLSession: SAPURLSession(configuration: .ephemeral), destinationsServiceUrl: service.url("/list"),
      remoteDestinationsEndpointUrl: service.url("/remote"))

    #expect(await load(destinations).0 == ["a": "/own", "b": "/y"])
    let (none, error) = await load(destinations)
    #expect(none == nil && error is SAPURLError)
  }

  @Test func theSettingsGetTheirDestinations() async throws {
    let service = try MobileServices(.init(destinations: ["orders": "/backend/Orders"]))
    let settings = SAPcpmsSettingsParameters(backendURL: service.url, applicationID: "app", deviceID: "d")
    let destinations = SAPcpmsDestinations(
      sapURLSession: SAPURLSession(configuration: .ephemeral), settingsParameters: settings)
    func load() async -> (SAPcpmsSettingsParameters?, (any Error)?) {
      await withCheckedContinuation { continuation in
        destinations.load(into: settings) { continuation.resume(returning: ($0, $1)) }
      }
    }

    #expect(try await destinations.load() == ["orders": "/backend/Orders"])
    #expect(await load().0?.url(forDestination: "orders") == service.url("/backend/Orders"))
    service.answer("*", with: .status(.internalServerError))
    let (updated, error) = await load()
    #expect(updated == nil && error is SAPURLError)
  }
}
