import Foundation
import Martlet
import MartletSockets

/// What a measured session sends its requests over.
enum MeasuredTransport: String, CaseIterable, Sendable {
  case sockets
  /// No thread waits for a response.
  case socketsWithoutWait = "sockets-without-wait"
  /// A thread waits for as long as possible. valgrind makes a request take longer than the usual wait, after which no
  /// thread waits: the counts would depend on the machine.
  case socketsWithLongestWait = "sockets-with-longest-wait"
  /// None: the costs of the session itself. It makes small requests only.
  case instant

  func make(_ connection: ConnectionConfiguration) -> any Transport {
    switch self {
    case .sockets: return SocketTransport(connection)
    case .socketsWithoutWait: return Self.sockets(connection, blockingWait: .zero)
    case .socketsWithLongestWait: return Self.sockets(connection, blockingWait: .milliseconds(10))
    case .instant: return InstantTransport()
    }
  }

  private static func sockets(_ connection: ConnectionConfiguration, blockingWait: Duration) -> SocketTransport {
    var options = SocketTransport.Options()
    options.blockingWait = blockingWait
    return SocketTransport(connection, options: options)
  }
}
