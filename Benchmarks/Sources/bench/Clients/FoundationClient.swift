import Foundation
import FoundationNetworking

/// Foundation's URLSession, which on Linux also sits on libcurl.
///
/// It is several times slower here, so it makes fewer requests a round. It has no stream of bytes on Linux: a download is
/// collected by `data(for:)`, the only call there is for async code.
struct FoundationClient: Client {
  let name = "URLSession"
  /// A handshake that fails makes Foundation stand still when the other requests are then cancelled.
  let trustsOurAuthority = false
  let share = 0.1
  private let session: URLSession

  init() {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.httpMaximumConnectionsPerHost = 64
    configuration.urlCache = nil
    session = URLSession(configuration: configuration)
  }

  func fetch(_ url: URL, times: Int, atOnce: Int) async throws -> Int64 {
    try await spread(times, over: atOnce) { [session] in
      let (data, response) = try await session.data(for: URLRequest(url: url))
      guard (response as? HTTPURLResponse)?.statusCode == 200 else { throw BenchError("\(url): status is not 200") }
      return data.count
    }
  }

  func download(_ url: URL) async throws -> Int64 { try await fetch(url, times: 1, atOnce: 1) }

  func upload(_ count: Int64, to url: URL) async throws -> Int64? { nil }
}
