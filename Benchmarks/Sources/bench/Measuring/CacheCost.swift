import Foundation
import Martlet
import MartletSQLite

/// What an answer from the cache costs, beside the same request over loopback.
enum CacheCost {
  struct Row {
    let file: ServedFile
    let entries: Int
    /// Microseconds a request, the medians of the rounds.
    let memory: Double
    let disk: Double
    let wire: Double
  }

  /// Which body, and how many like it the cache holds.
  static func cases(scale: Double) -> [(file: ServedFile, entries: Int)] {
    [(.small, 1000), (.medium, 1000), (.small, Int(100_000 * scale))]
  }

  /// Answers everything with the same bytes, fresh for an hour: filling a cache needs no server.
  private struct CannedTransport: Transport {
    let body: Data

    func send(_ request: HTTPRequest, in call: Call) async throws -> HTTPResponse {
      HTTPResponse(fields: [.cacheControl: "max-age=3600"], body: ResponseBody(body), url: request.url)
    }
  }

  static func measure(
    _ file: ServedFile, entries: Int, at server: RunningServer, requests: Int, rounds: Int
  ) async throws -> Row {
    let folder = FileManager.default.temporaryDirectory.appending(path: "bench-cache-\(UUID())")
    defer { try? FileManager.default.removeItem(at: folder) }
    let disk = try SQLiteCacheStore(at: folder.appending(path: "cache.sqlite"), capacity: 2 << 30)
    let caches = try await [
      filled(MemoryCacheStore(capacity: 2 << 30), file, entries), filled(disk, file, entries),
    ]
    var settings = SessionConfiguration()
    settings.cache = nil
    let uncached = HTTPSession(configuration: settings)
    let url = server.plain.appending(component: file.name)
    var times: [[Double]] = [[], [], []]
    for _ in 0..<rounds {
      for (index, session) in caches.enumerated() {
        times[index].append(try await microseconds(session, requests: requests) { address($0 &* 7919 % entries) })
      }
      times[2].append(try await microseconds(uncached, requests: requests / 10) { _ in url })
    }
    let medians = times.map { $0.median ?? 0 }
    return Row(file: file, entries: entries, memory: medians[0], disk: medians[1], wire: medians[2])
  }

  /// A session whose cache has the answers of that many URLs.
  private static func filled(_ store: any CacheStore, _ file: ServedFile, _ entries: Int) async throws -> HTTPSession {
    var settings = SessionConfiguration()
    settings.cache = HTTPCache(store: store)
    let session = HTTPSession(
      transport: CannedTransport(body: Data(repeating: 65, count: Int(file.count))), configuration: settings)
    for index in 0..<entries { _ = try await session.data(for: HTTPRequest(.get, address(index))) }
    guard try await session.data(for: HTTPRequest(.get, address(entries - 1))).1.source == .cache else {
      throw BenchError("\(entries) entries of \(file.count) bytes do not stay in the cache")
    }
    return session
  }

  private static func address(_ index: Int) -> URL {
    URL(string: "http://bench.example/\(index)") ?? URL(filePath: "/")
  }

  private static func microseconds(
    _ session: HTTPSession, requests: Int, url: (Int) -> URL
  ) async throws -> Double {
    let start = ContinuousClock.now
    for index in 0..<requests { _ = try await session.data(for: HTTPRequest(.get, url(index))) }
    return (ContinuousClock.now - start) / .microseconds(requests)
  }
}
