#if os(Linux)
import CCurl
import Glibc
import MartletSemantics

/// An open connection of libcurl's, from the opening of its socket to its closing. It belongs to the loop thread.
final class Connection {
  let descriptor: Int32
  /// What it speaks; nil until that is known.
  var version: HTTPVersion?
  /// How many transfers use it now.
  var transferCount = 0
  /// Whether a request went over it already.
  var hasServed = false
  /// Whether its socket is still open.
  fileprivate(set) var isOpen = true
  /// The last stream that the server has promised to answer: it sent a GOAWAY (RFC 9113 §6.8).
  var lastAnsweredStream: Int?
  /// Whether it ended under a transfer, so that every response that was whole before is.
  var isLost = false
  fileprivate var ends: ConnectionTable.Ends?

  init(_ descriptor: Int32) { self.descriptor = descriptor }

  var isIdle: Bool { transferCount == 0 }

  /// Whether libcurl closed it for another reason than its end.
  var isCutOff: Bool { !isOpen && !isLost }

  /// Whether anything has come over the connection that nobody has read, its end included. Over TLS that may be a session
  /// ticket: it cannot be told from data without being read.
  var hasInput: Bool {
    var byte: UInt8 = 0
    let count = recv(descriptor, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT))
    return count >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)
  }

  /// Ends a connection that nobody uses: libcurl finds it dead, and the peer is told.
  func end() { shutdown(descriptor, Int32(SHUT_RDWR)) }
}

/// The open connections. libcurl does not say which one a request is about to use, but says its two ends: the port of ours and
/// the address of the other.
///
/// It belongs to the loop thread.
final class ConnectionTable {
  private var open: [Int32: Connection] = [:]
  private var byEnds: [Ends: [Connection]] = [:]
  /// Those whose ends are not known yet, because they were not connected when they were opened.
  private var unnamed: [Connection] = []

  fileprivate struct Ends: Hashable {
    let port: Int32
    let peer: String
  }

  func opened(_ descriptor: Int32) {
    closed(descriptor)
    let connection = Connection(descriptor)
    open[descriptor] = connection
    unnamed.append(connection)
  }

  func closed(_ descriptor: Int32) {
    guard let connection = open.removeValue(forKey: descriptor) else { return }
    connection.isOpen = false
    unnamed.removeAll { $0 === connection }
    guard let ends = connection.ends else { return }
    byEnds[ends]?.removeAll { $0 === connection }
    if byEnds[ends]?.isEmpty == true { byEnds[ends] = nil }
  }

  /// The connection of a socket.
  subscript(descriptor: Int32) -> Connection? { open[descriptor] }

  /// The connections between these ends: one, but for rare coincidences.
  func connections(port: Int32, peer: String) -> [Connection] {
    for connection in unnamed {
      connection.ends = Self.ends(of: connection)
      if let ends = connection.ends { byEnds[ends, default: []].append(connection) }
    }
    unnamed.removeAll { $0.ends != nil }
    return byEnds[Ends(port: port, peer: peer)] ?? []
  }

  private static func ends(of connection: Connection) -> Ends? {
    let port = martlet_local_port(connection.descriptor)
    guard port > 0 else { return nil }
    let peer = withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(INET6_ADDRSTRLEN)) { text in
      guard let start = text.baseAddress else { return "" }
      martlet_peer_address(connection.descriptor, start)
      return String(cString: start)
    }
    return peer.isEmpty ? nil : Ends(port: port, peer: peer)
  }
}
#endif
