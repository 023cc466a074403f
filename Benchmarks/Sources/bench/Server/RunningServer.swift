import Foundation

/// What a client has to know of the server.
struct RunningServer: Codable, Sendable {
  let plain: URL
  let secure: URL
  let secureHTTP1: URL
  /// The certificate that clients have to trust over TLS.
  let certificate: URL
  let version: String

  func url(_ channel: Workload.Channel) -> URL {
    switch channel {
    case .plain: plain
    case .secure: secure
    case .secureHTTP1: secureHTTP1
    }
  }
}
