import Foundation
import Martlet
import MartletSockets

/// What a measured session sends its requests over.
enum MeasuredTransport: String, CaseIterable, Sendable {
  case sockets
  /// No thread waits for a response.
  case socketsWithoutWait = "sockets-without-wait"
  /// None: the costs of the session itself. It makes small requests only.
  case instant

  func make(_ connection: ConnectionConfiguration) -> any Transport {
    switch self {
    case .sockets: return SocketTransport(connection)
    case .socketsWithoutWait:
      var options = SocketTransport.Options()
      options.blockingWait = .zero
      return SocketTransport(connection, options: options)
    case .instant: return InstantTransport()
    }
  }
}
