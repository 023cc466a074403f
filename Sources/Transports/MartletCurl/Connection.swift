#if os(Linux)
import CCurl
import Glibc
import MartletSemantics

/// A connection of libcurl's, from the opening of its socket to its closing. It belongs to the loop thread.
package final class Connection {
  package let descriptor: Int32
  /// The version of HTTP; nil until it is known.
  var version: HTTPVersion?
  /// The number of transfers that use it now.
  var transferCount = 0
  /// Whether a request was sent over it already.
  var hasServed = false
  /// Whether its socket is still open.
  fileprivate(set) var isOpen = true
  /// The last stream that the server may answer, if it has sent a GOAWAY (RFC 9113 §6.8).
  var lastAnsweredStream: Int?
  /// Whether its end was noticed during a transfer; responses that were complete before are complete.
  var isLost = false
  /// Whether libcurl kept it open for reuse when the last of its transfers ended.
  var wasLeftIntact = false
  /// The server's certificates, if the caller checks them.
  var certificates: [Data] = []
  /// Whether the certificates were checked.
  var isChecked = false
  fileprivate var ends: ConnectionTable.Ends?

  init(_ descriptor: Int32) { self.descriptor = descriptor }

  var isIdle: Bool { transferCount == 0 }

  /// Whether libcurl closed it for another reason than its end, and not because it was idle.
  var isCutOff: Bool { !isOpen && !isLost && !wasLeftIntact }

  /// Whether there is unread input, which includes the end of the connection. Over TLS it may be a session ticket,
  /// which cannot be distinguished from data without being read.
  var hasInput: Bool {
    var byte: UInt8 = 0
    let count = recv(descriptor, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT))
    return count >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)
  }

  /// Shuts an idle connection down: libcurl finds it closed when it looks for a connection, and the peer sees the end
  /// at once. Does nothing if libcurl has closed it: its number may be another socket's by now.
  package func end() {
    guard isOpen else { return }
    shutdown(descriptor, Int32(SHUT_RDWR))
  }
}

/// The open connections. libcurl does not report which one a request is about to use, but reports its ends: the local
/// port, and the address and port of the peer.
///
/// It belongs to the loop thread.
package final class ConnectionTable {
  private var open: [Int32: Connection] = [:]
  private var byEnds: [Ends: Connection] = [:]
  /// The connections whose ends are not known yet: they were not connected when they were opened.
  private var unnamed: [Connection] = []

  /// The ends of a connection.
  package struct Ends: Hashable {
    /// The local port.
    let port: Int32
    /// The address of the peer; the proxy's if there is one.
    let peer: String
    let peerPort: Int32

    package init(port: Int32, peer: String, peerPort: Int32) {
      self.port = port
      self.peer = peer
      self.peerPort = peerPort
    }
  }

  package init() {}

  package func opened(_ descriptor: Int32) {
    closed(descriptor)
    let connection = Connection(descriptor)
    open[descriptor] = connection
    unnamed.append(connection)
  }

  package func closed(_ descriptor: Int32) {
    guard let connection = open.removeValue(forKey: descriptor) else { return }
    connection.isOpen = false
    unnamed.removeAll { $0 === connection }
    if let ends = connection.ends, byEnds[ends] === connection { byEnds[ends] = nil }
  }

  /// The connection of a socket.
  subscript(descriptor: Int32) -> Connection? { open[descriptor] }

  /// The connection between these ends.
  package subscript(ends: Ends) -> Connection? {
    if byEnds[ends] == nil { name(until: ends) }
    return byEnds[ends]
  }

  /// Finds out the ends of connections, the oldest first, up to the wanted one, which is usually the first.
  private func name(until wanted: Ends) {
    for connection in unnamed {
      connection.ends = Self.ends(of: connection)
      guard let ends = connection.ends else { continue }
      byEnds[ends] = connection
      if ends == wanted { break }
    }
    unnamed.removeAll { $0.ends != nil }
  }

  private static func ends(of connection: Connection) -> Ends? {
    let (peer, peerPort) = withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(INET6_ADDRSTRLEN)) { text in
      guard let start = text.baseAddress else { return ("", Int32(0)) }
      let port = martlet_peer(connection.descriptor, start)
      return (String(cString: start), port)
    }
    guard peerPort > 0 else { return nil }  // it is not connected yet
    let port = martlet_local_port(connection.descriptor)
    return port > 0 ? Ends(port: port, peer: peer, peerPort: peerPort) : nil
  }
}
#endif
