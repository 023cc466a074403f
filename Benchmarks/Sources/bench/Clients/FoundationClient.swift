import Foundation
import FoundationNetworking
import MeasuredClient

/// Foundation's URLSession, which on Linux also uses libcurl.
///
/// It has no stream of bytes on Linux. `data(for:)`, the only call there for async code, collects a download.
struct FoundationClient: Client {
  let version = "URLSession (swift-corelibs-foundation, libcurl)"
  private let session: URLSession

  init(connections: Int = 64) {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.httpMaximumConnectionsPerHost = connections
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

  func upload(_ count: Int64, to url: URL) async throws { throw BenchError("URLSession has no stream to upload") }
}
