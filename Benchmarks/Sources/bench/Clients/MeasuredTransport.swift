import Foundation
import Martlet
import MartletSockets

/// What a measured session sends its requests over.
enum MeasuredTransport: String, CaseIterable, Sendable {
  case sockets
  /// None: the costs of the session itself. It makes small requests only.
  case instant

  func make(_ connection: ConnectionConfiguration) -> any Transport {
    switch self {
    case .sockets:
      var options = SocketTransport.Options()
      if let time = ProcessInfo.processInfo.environment["BENCH_BLOCKING_WAIT"].flatMap(Int.init) {
        options.blockingWait = .microseconds(time)
      }
      return SocketTransport(connection, options: options)
    case .instant: return InstantTransport()
    }
  }
}
