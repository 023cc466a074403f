import Glibc
import MartletCurl
import TestServers
import Testing

@Suite(.timeLimit(.minutes(5)))
struct ConnectionTableTests {
  /// The kernel uses one local port for several connections if their peers differ.
  @Test func connectionsWithTheSameLocalPortDifferByTheirPeersPorts() throws {
    let servers = [try Self.socket(), try Self.socket()]
    for server in servers { try #require(listen(server, 1) == 0) }
    let first = try Self.socket()
    let port = try Self.port(of: first)
    let clients = [first, try Self.socket(port: port)]
    defer { for descriptor in servers + clients { close(descriptor) } }
    let table = ConnectionTable()

    for (client, server) in zip(clients, servers) {
      var address = Self.loopback(try Self.port(of: server))
      try #require(Self.with(&address) { connect(client, $0, $1) } == 0)
      table.opened(client)
    }

    for (client, server) in zip(clients, servers) {
      let ends = ConnectionTable.Ends(port: Int32(port), peer: "127.0.0.1", peerPort: Int32(try Self.port(of: server)))
      #expect(table[ends]?.descriptor == client)
    }
    table.closed(clients[0])
    let ends = ConnectionTable.Ends(
      port: Int32(port), peer: "127.0.0.1", peerPort: Int32(try Self.port(of: servers[0])))
    #expect(table[ends] == nil)
  }

  /// libcurl closes a socket before its transfer has ended, and the number is used again at once.
  @Test func endingAClosedConnectionDoesNotAffectANewSocketWithItsNumber() throws {
    let server = try Self.socket()
    try #require(listen(server, 1) == 0)
    let client = try Self.socket()
    var address = Self.loopback(try Self.port(of: server))
    try #require(Self.with(&address) { connect(client, $0, $1) } == 0)
    let table = ConnectionTable()
    table.opened(client)
    let ends = ConnectionTable.Ends(
      port: Int32(try Self.port(of: client)), peer: "127.0.0.1", peerPort: Int32(try Self.port(of: server)))
    let connection = try #require(table[ends])
    let accepted = accept(server, nil, nil)
    defer { for descriptor in [server, client, accepted] { close(descriptor) } }

    table.closed(client)
    connection.end()

    #expect(send(client, "a", 1, Int32(MSG_NOSIGNAL)) == 1)
    table.opened(client)
    table[ends]?.end()
    #expect(send(client, "a", 1, Int32(MSG_NOSIGNAL)) == -1)
  }

  private static func socket(port: UInt16 = 0) throws -> Int32 {
    let descriptor = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var yes: Int32 = 1
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
    var address = loopback(port)
    try #require(with(&address) { bind(descriptor, $0, $1) } == 0)
    return descriptor
  }

  private static func loopback(_ port: UInt16) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    address.sin_port = port.bigEndian
    return address
  }

  private static func port(of descriptor: Int32) throws -> UInt16 {
    var address = sockaddr_in()
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let result = with(&address) { pointer, _ in getsockname(descriptor, UnsafeMutablePointer(mutating: pointer), &size)
    }
    try #require(result == 0)
    return UInt16(bigEndian: address.sin_port)
  }

  private static func with(
    _ address: inout sockaddr_in, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
  ) -> Int32 {
    withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
  }
}
