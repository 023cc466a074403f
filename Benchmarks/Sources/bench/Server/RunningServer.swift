import Foundation

/// The facts about the server that a client needs.
struct RunningServer: Codable, Sendable {
  let plain: URL
  let secure: URL
  let secureHTTP1: URL
  /// The servers that close each connection after a response: without TLS, with session tickets, and without tickets.
  let closing: URL
  let closingSecure: URL
  let closingSecureWithoutTickets: URL
  /// The server that discards uploads and answers late.
  let sink: URL
  /// The server that returns the messages of WebSockets.
  let echo: URL
  /// The certificate that clients have to trust over TLS.
  let certificate: URL
  /// A file with the content of uploads.
  let uploadBody: URL
  let version: String

  func url(_ channel: Workload.Channel) -> URL {
    switch channel {
    case .plain: plain
    case .secure: secure
    case .secureHTTP1: secureHTTP1
    case .closing: closing
    case .closingSecure: closingSecure
    case .closingSecureWithoutTickets: closingSecureWithoutTickets
    case .sink: sink
    case .echo: echo
    }
  }
}
