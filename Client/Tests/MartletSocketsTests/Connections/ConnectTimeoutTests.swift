#if os(Linux)
import Glibc
import MartletEngine
@_spi(Toolkit) import MartletSemantics
import MartletTesting
import TestSupport
import Testing

@_spi(Toolkit) @testable import MartletSockets

/// The time for connecting, with listeners that accept no more connections.
@Suite(.timeLimit(.minutes(5)))
struct ConnectTimeoutTests {
  private func send(
    to addresses: [String], port: Int, within limit: Duration
  ) async throws -> String {
    var configuration = ConnectionConfiguration()
    configuration.proxy = .direct
    configuration.connectTimeout = limit
    var options = SocketTransport.Options()
    options.addresses = ["a.example": addresses]
    let response = try await SocketTransport(configuration, options: options)
      .send(HTTPRequest(.get, url("http://a.example:\(port)/")), in: Call())
    return String(decoding: try await response.body.collect(upTo: 1 << 20), as: UTF8.self)
  }

  private func failure(to addresses: [String], port: Int, within limit: Duration) async throws -> HTTPError {
    let error = await #expect(throws: (any Error).self) {
      _ = try await send(to: addresses, port: port, within: limit)
    }
    return HTTPError(wrapping: try #require(error))
  }

  /// The second address is tried after 250 ms (RFC 8305 §5), with the first one still waiting.
  @Test func theTimeIsThatOfAllAddresses() async throws {
    let four = try FullListener("127.0.0.1"), six = try FullListener("::1", port: four.port)
    defer { withExtendedLifetime((four, six)) {} }

    let error = try await failure(to: ["::1", "127.0.0.1"], port: four.port, within: .milliseconds(600))

    #expect(error.kind == .connectTimeout)
    #expect(error.phase == .connecting)
    #expect(error.message.contains("::1 port \(four.port): no answer"), "\(error.message)")
    #expect(error.message.contains("127.0.0.1 port \(four.port): no answer"), "\(error.message)")
  }

  /// Another address does not prolong the time: the last ones are not tried.
  @Test func anotherAddressDoesNotProlongTheTime() async throws {
    let listener = try FullListener("0.0.0.0")
    defer { withExtendedLifetime(listener) {} }

    let error = try await failure(
      to: (1...8).map { "127.0.0.\($0)" }, port: listener.port, within: .milliseconds(600))

    #expect(error.kind == .connectTimeout)
    #expect(error.message.contains("127.0.0.1 port \(listener.port): no answer"), "\(error.message)")
    #expect(error.message.contains("127.0.0.8 port \(listener.port): not tried"), "\(error.message)")
  }

  @Test func anAddressThatDoesNotAnswerDoesNotStopTheOthers() async throws {
    let server = try LoopbackServer { _ in .text("hello") }
    let six = try FullListener("::1", port: server.port)
    defer { withExtendedLifetime(six) {} }
    #expect(try await send(to: ["::1", "127.0.0.1"], port: server.port, within: .seconds(100)) == "hello")
  }
}

/// A listener whose queue of connections is full, so that others get no answer.
private final class FullListener: Sendable {
  let port: Int
  private let descriptors: [Int32]

  init(_ text: String, port: Int = 0) throws {
    let ip = try #require(IPAddress(text))
    let any = SocketAddress(ip, port: UInt16(port))
    let listener = Glibc.socket(any.family, Int32(SOCK_STREAM.rawValue), 0)
    try #require(any.withSockaddr { bind(listener, $0, $1) } == 0, "\(text) port \(port) cannot be bound")
    try #require(listen(listener, 0) == 0)
    var storage = sockaddr_in6()
    var length = socklen_t(MemoryLayout<sockaddr_in6>.size)
    let result = withUnsafeMutablePointer(to: &storage) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(listener, $0, &length) }
    }
    try #require(result == 0)
    self.port = Int(UInt16(bigEndian: storage.sin6_port))  // at the place of that of IPv4
    let own = SocketAddress(
      text == "0.0.0.0" ? try #require(IPAddress("127.0.0.1")) : ip, port: UInt16(bigEndian: storage.sin6_port))
    // Linux allows one connection more than requested
    let client = Glibc.socket(own.family, Int32(SOCK_STREAM.rawValue), 0)
    try #require(own.withSockaddr { connect(client, $0, $1) } == 0)
    descriptors = [listener, client]
  }

  deinit { for descriptor in descriptors { close(descriptor) } }
}
#endif
