import Foundation
import Martlet

/// What an answer from the cache in memory costs, beside the same request over loopback.
enum CacheCost {
  static let files: [ServedFile] = [.small, .medium]

  struct Row {
    let file: ServedFile
    /// Microseconds a request, the medians of the rounds.
    let hit: Double
    let wire: Double
  }

  /// The wire, whose answers stay fresh for an hour.
  private struct FreshTransport: Transport {
    let base = CurlTransport()

    func send(_ request: HTTPRequest, in exchange: Exchange) async throws -> HTTPResponse {
      var response = try await base.send(request, in: exchange)
      response.fields[.cacheControl] = "max-age=3600"
      return response
    }
  }

  static func measure(_ file: ServedFile, at server: RunningServer, requests: Int, rounds: Int) async throws -> Row {
    let url = server.plain.appending(component: file.name)
    let cached = HTTPSession(transport: FreshTransport())
    var uncachedSettings = SessionConfiguration()
    uncachedSettings.cache = nil
    let uncached = HTTPSession(transport: FreshTransport(), configuration: uncachedSettings)
    _ = try await cached.data(for: HTTPRequest(.get, url))
    guard try await cached.data(for: HTTPRequest(.get, url)).1.source == .cache else {
      throw BenchError("\(url) does not come from the cache")
    }
    var hits: [Double] = []
    var wires: [Double] = []
    for _ in 0..<rounds {
      hits.append(try await microseconds(cached, url, requests: requests))
      wires.append(try await microseconds(uncached, url, requests: requests / 10))
    }
    return Row(file: file, hit: hits.median ?? 0, wire: wires.median ?? 0)
  }

  private static func microseconds(_ session: HTTPSession, _ url: URL, requests: Int) async throws -> Double {
    let start = ContinuousClock.now
    for _ in 0..<requests { _ = try await session.data(for: HTTPRequest(.get, url)) }
    return (ContinuousClock.now - start) / .microseconds(requests)
  }
}
