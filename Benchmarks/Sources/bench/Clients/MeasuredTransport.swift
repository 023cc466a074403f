import Foundation
import Martlet
@_spi(Measuring) import MartletCurl
import MartletSockets

/// A transport that `--transport` can choose. Another one is a case here.
enum MeasuredTransport: String, CaseIterable, Sendable {
  case curl
  /// The same with libcurl's handles used again, even where its version makes that unsafe: the difference is what new ones
  /// cost.
  case curlReused = "curl-reused"
  case sockets
  /// None: what the session itself costs. It makes small requests only.
  case instant

  /// Those that speak to a server.
  static let real = allCases.filter { $0 != .instant }

  /// The name of its column.
  var title: String {
    switch self {
    case .curl: "curl"
    case .curlReused: "curl, handles reused"
    case .sockets: "sockets"
    case .instant: "no transport"
    }
  }

  func make(_ connection: ConnectionConfiguration) -> any Transport {
    switch self {
    case .curl: return CurlTransport(connection)
    case .curlReused:
      var configuration = CurlConfiguration()
      configuration.connection = connection
      configuration.reusesHandles = true
      return CurlTransport(configuration)
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
