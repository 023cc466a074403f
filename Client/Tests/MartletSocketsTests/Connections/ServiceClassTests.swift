#if os(Linux)
import MartletEngine
import MartletSemantics
import MartletTesting
import TestServers
import TestSupport
import Testing

@testable import MartletSockets

/// The codepoints with which packets arrive at a server.
@Suite("Service classes", .timeLimit(.minutes(5)))
struct ServiceClassTests {
  private let server: PacketServer

  init() throws { server = try PacketServer.shared.get() }

  private func transport(_ change: (inout ConnectionConfiguration) -> Void = { _ in }) -> SocketTransport {
    var configuration = ConnectionConfiguration()
    configuration.proxy = .direct
    change(&configuration)
    return SocketTransport(configuration)
  }

  private let notes = Log<String>()
  private var listener: some EventListener {
    EventHandler(.note) { [notes] event, _ in
      if case .note(let text) = event { notes.append(text) }
    }
  }

  private func arrival(
    _ host: String = "127.0.0.1", over transport: SocketTransport
  ) async throws -> PacketServer.Arrival {
    let request = HTTPRequest(.get, url("http://\(host):\(server.port)/"))
    let response = try await transport.send(request, in: Call(listeners: [listener]))
    return try JSONDecoder().decode(
      PacketServer.Arrival.self, from: try await response.body.collect(upTo: 1 << 10))
  }

  @Test(
    arguments: ["127.0.0.1", "[::1]", "[::ffff:127.0.0.1]"],
    [
      nil, ServiceClass.telephony, .lowPriorityData, ServiceClass(codepoint: 63),
    ])
  func theFirstPacketHasTheCodepoint(host: String, serviceClass: ServiceClass?) async throws {
    let arrival = try await arrival(host, over: transport { $0.serviceClass = serviceClass })
    #expect(arrival.codepoint == serviceClass?.codepoint ?? 0, "\(notes.entries)")
    #expect(arrival.version == (host == "[::1]" ? 6 : 4))
  }

  @Test func connectionsToAProxyHaveTheCodepoint() async throws {
    let transport = transport {
      $0.proxy = .http("127.0.0.1", port: server.port)
      $0.serviceClass = .lowLatencyData
    }
    #expect(try await arrival("name.example", over: transport).codepoint == 18)
  }

  @Test func requestsOfAnotherClassGetAnotherConnection() async throws {
    let base = transport()
    let background = base.with(serviceClass: .lowPriorityData)
    let first = try await arrival(over: base)
    let second = try await arrival(over: background)
    #expect((first.codepoint, second.codepoint) == (0, 8))
    #expect(try await arrival(over: base).connection == first.connection)
    #expect(try await arrival(over: background).connection == second.connection)
    #expect(try await arrival(over: base.with(serviceClass: .lowPriorityData)).connection == second.connection)
  }

  @Test func aUnixSocketHasNoClass() async throws {
    let server = try EchoServer()
    var configuration = ConnectionConfiguration()
    configuration.serviceClass = .telephony
    var options = SocketTransport.Options()
    options.unixSocket = server.path
    let body = RequestBody.stream {
      AsyncStream { stream in
        stream.yield(Data("hello".utf8))
        stream.finish()
      }
    }
    let transport = SocketTransport(configuration, options: options)
    let request = HTTPRequest(.post, url("http://a.example/"), body: body)
    let response = try await transport.send(request, in: Call(listeners: [listener]))
    #expect(try await response.body.collect(upTo: 100) == Data("hello".utf8))
    #expect(notes.entries.isEmpty)
  }

  @Test(arguments: [-1, 64]) func codepointsHaveSixBits(number: Int) {
    #expect(ServiceClass(codepoint: number) == nil)
    #expect(ServiceClass(codepoint: 46) == .telephony)
  }
}
#endif
