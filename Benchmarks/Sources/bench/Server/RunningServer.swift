import Foundation

/// What a client has to know of the server.
struct RunningServer: Sendable {
  let plain: URL
  let secure: URL
  /// The certificate that clients have to trust for ``secure``.
  let certificate: URL
  let version: String
}
