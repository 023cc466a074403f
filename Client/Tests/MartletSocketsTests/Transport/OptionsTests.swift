#if os(Linux)
import MartletEngine
import MartletSemantics
import MartletTesting
import Synchronization
import TestServers
import TestSupport
import Testing

@testable import MartletSockets

/// The settings of the transport over sockets alone.
@Suite(.timeLimit(.minutes(5)))
struct OptionsTests {
  private func text(_ options: SocketTransport.Options, _ url: URL) async throws -> String {
    let response = try await SocketTransport(options: options).send(HTTPRequest(.get, url), in: Call())
    return String(decoding: try await response.body.collect(upTo: 1 << 20), as: UTF8.self)
  }

  private func failure(_ options: SocketTransport.Options, _ url: URL) async throws -> HTTPError {
    let error = await #expect(throws: (any Error).self) { _ = try await text(options, url) }
    return HTTPError(wrapping: try #require(error))
  }

  private func options(_ change: (inout SocketTransport.Options) -> Void) -> SocketTransport.Options {
    var options = SocketTransport.Options()
    change(&options)
    return options
  }

  @Test func settingsThatAreNotValidAreNamed() async throws {
    let table: [(String, (inout SocketTransport.Options) -> Void)] = [
      ("the override of 'a.example' is not a list of IP addresses", { $0.addresses = ["a.example": ["b"]] }),
      ("the local address 'eth0' is not an IP address", { $0.localAddress = "eth0" }),
      ("the path of a unix socket has 1 to 107 bytes", { $0.unixSocket = "" }),
      ("either a localAddress or a unixSocket", { ($0.localAddress, $0.unixSocket) = ("127.0.0.1", "/a") }),
    ]
    for (message, change) in table {
      let error = try await failure(options(change), url("http://a.example/"))
      #expect(error.kind == .invalidRequest)
      #expect(error.message.contains(message), "\(error.message)")
    }
  }

  // MARK: - Names

  @Test func aResolverOfTheCallerFindsNames() async throws {
    let server = try LoopbackServer { request in .text(request.fields[.host] ?? "") }
    let names = Mutex<[String]>([])
    let options = options {
      $0.resolver = { host in
        names.withLock { $0.append(host) }
        return ["127.0.0.1"]
      }
    }
    #expect(try await text(options, url("http://A.example:\(server.port)/")) == "a.example:\(server.port)")
    #expect(try await text(options, server.url) == "127.0.0.1:\(server.port)")
    #expect(names.withLock { $0 } == ["a.example"])
  }

  @Test func aFailureOfTheResolverIsThatOfTheRequest() async throws {
    struct Unknown: Error {}
    let gate = Gate()
    let table: [(String, SocketTransport.Options.Resolve)] = [
      ("the resolver failed", { _ in throw Unknown() }),
      ("a limit of its own", { _ in throw HTTPError(.deadlineExceeded, "a limit of its own") }),
      ("it has no address", { _ in [] }),
      ("the resolver returned 'b.example', which is not an IP address", { _ in ["b.example"] }),
      (
        "the resolver took longer than 10 ms",
        { _ in
          try await gate.wait(); return []
        }
      ),
    ]
    for (message, resolver) in table {
      let error = try await failure(
        options {
          $0.resolver = resolver
          if message.contains("longer") { $0.resolverTimeout = .milliseconds(10) }
        }, url("http://a.example/"))
      #expect(error.kind == .cannotResolveHost)
      #expect(error.message.contains(message), "\(error.message)")
    }
    gate.open()
  }

  // MARK: - The local address

  /// Answers with the address of its client.
  private static let addressServer = #"""
    import socket, sys
    listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
    while True:
      connection, (host, port) = listener.accept()
      received = b""
      while b"\r\n\r\n" not in received:
        part = connection.recv(65536)
        if not part: break
        received += part
      if received: connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(host), host.encode()))
      connection.close()
    """#

  @Test func connectionsComeFromTheLocalAddress() async throws {
    let port = try LocalPort.free()
    let process = try RealProcess("python3", ["-c", Self.addressServer, "\(port)"], port: port)
    defer { withExtendedLifetime(process) {} }
    let options = options {
      $0.localAddress = "127.0.0.7"
      $0.addresses = ["a.example": ["::1", "127.0.0.1"]]
    }
    #expect(try await text(options, url("http://a.example:\(port)/")) == "127.0.0.7")
  }

  @Test func aLocalAddressThatCannotBeUsedIsAnError() async throws {
    let server = try LoopbackServer { _ in .text("ok") }
    let six = try await failure(options { $0.localAddress = "::1" }, server.url)
    #expect(six.kind == .cannotConnect)
    #expect(six.message.contains("it has no IPv6 address, and connections begin at the local address ::1"))
    // an address for documentation (RFC 5737)
    let foreign = try await failure(options { $0.localAddress = "192.0.2.1" }, server.url)
    #expect(foreign.kind == .cannotConnect)
    #expect(foreign.message.contains("cannot use the local address 192.0.2.1"), "\(foreign.message)")
  }
}
#endif
