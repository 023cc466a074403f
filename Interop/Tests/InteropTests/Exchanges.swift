import Foundation
import Martlet
import Testing

/// A session that trusts an authority of the tests.
///
/// - Parameter lifetime: the age at which connections are replaced.
func makeSession(
  trusting authority: URL? = nil, through proxy: Proxy = .direct, certificate: ClientCertificate? = nil,
  versions: ConnectionConfiguration.Versions = .automatic, lifetime: Duration? = nil,
  _ change: (inout SessionConfiguration) -> Void = { _ in }
) -> HTTPSession {
  var connection = ConnectionConfiguration()
  connection.tls.authorities = authority
  connection.tls.clientCertificate = certificate
  connection.proxy = proxy
  connection.versions = versions
  connection.connectionLifetime = lifetime
  var configuration = SessionConfiguration()
  configuration.options.deadline = .seconds(30)
  change(&configuration)
  return HTTPSession(connection: connection, configuration: configuration)
}

extension HTTPSession {
  func text(_ url: URL) async throws(HTTPError) -> String {
    String(decoding: try await data(for: HTTPRequest(.get, url)).0, as: UTF8.self)
  }

  func echo(_ request: HTTPRequest) async throws(HTTPError) -> Echo { try await value(of: Echo.self, for: request).0 }

  func status(_ request: HTTPRequest) async throws(HTTPError) -> HTTPStatus { try await data(for: request).1.status }
}

/// Bytes without a short pattern.
func pattern(_ count: Int) -> Data {
  let block = Data((0..<100_003).map { UInt8(truncatingIfNeeded: $0 &* $0 >> 7) })
  var bytes = Data(capacity: count + block.count)
  while bytes.count < count { bytes += block }
  return bytes.prefix(count)
}

/// A stream of a body, in pieces.
func pieces(of data: Data, size: Int = 10_000) -> AsyncStream<Data> {
  AsyncStream { continuation in
    var rest = data
    while !rest.isEmpty {
      continuation.yield(Data(rest.prefix(size)))
      rest = rest.dropFirst(size)
    }
    continuation.finish()
  }
}
