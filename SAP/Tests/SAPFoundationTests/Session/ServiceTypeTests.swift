#if os(Linux)
import Foundation
import FoundationNetworking
import MartletEngine
import SAPFoundation
import Testing
import TestServers

/// `networkServiceType` is the codepoint of the packets.
@Suite("Network service types", .timeLimit(.minutes(5)))
struct ServiceTypeTests {
  private let server: PacketServer

  init() throws { server = try PacketServer.shared.get() }

  private func arrival(
    _ type: URLRequest.NetworkServiceType = .default, over session: SAPURLSession
  ) async throws -> PacketServer.Arrival {
    var request = URLRequest(url: server.url())
    request.networkServiceType = type
    return try JSONDecoder().decode(PacketServer.Arrival.self, from: #require(await session.outcome(of: request).data))
  }

  private static let types: [(URLRequest.NetworkServiceType, Int)] = [
    (.default, 0), (.voice, 46), (.video, 34), (.background, 8), (.voip, 40), (.networkServiceTypeCallSignaling, 40),
  ]

  @Test(arguments: types) func theTypeOfTheConfigurationIsACodepoint(
    _ type: URLRequest.NetworkServiceType, codepoint: Int
  ) async throws {
    let configuration = SAPURLSession.plain
    configuration.networkServiceType = type
    #expect(try await arrival(over: SAPURLSession(configuration: configuration)).codepoint == codepoint)
  }

  @Test func theTypeOfARequestWinsAndHasItsOwnConnections() async throws {
    let configuration = SAPURLSession.plain
    configuration.networkServiceType = .video
    let session = SAPURLSession(configuration: configuration)
    let (first, second) = (try await arrival(over: session), try await arrival(.background, over: session))
    #expect((first.codepoint, second.codepoint) == (34, 8))
    #expect(try await arrival(over: session).connection == first.connection)
    #expect(try await arrival(.background, over: session).connection == second.connection)
  }

  @Test func theClassOfTheConnectionOverridesTheConfiguration() async throws {
    let configuration = SAPURLSession.plain
    configuration.networkServiceType = .video
    var connection = ConnectionConfiguration()
    connection.serviceClass = .lowerEffort
    let session = SAPURLSession(configuration: configuration, connection: connection)
    #expect(try await arrival(over: session).codepoint == 1)
    #expect(try await arrival(.voice, over: session).codepoint == 46)
  }
}
#endif
