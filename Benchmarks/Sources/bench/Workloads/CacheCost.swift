import Foundation
import Martlet
import MartletSQLite
import MeasuredClient

/// The costs of an answer from the cache, compared with the same request over loopback.
enum CacheCost {
  struct Row {
    let file: ServedFile
    let entries: Int
    /// The number of concurrent callers.
    let callers: Int
    /// Requests per second.
    let memory: Figure?
    let disk: Figure?
    let wire: Figure?
  }

  /// The body, and the number of such bodies in the cache.
  static func cases(scale: Double) -> [(file: ServedFile, entries: Int, callers: Int)] {
    [(.small, 1000, 1), (.small, 1000, 64), (.medium, 1000, 1), (.small, Int(100_000 * scale), 1)]
  }

  /// Answers everything with the same bytes, fresh for an hour: filling a cache needs no server.
  private struct CannedTransport: Transport {
    let body: Data

    func send(_ request: HTTPRequest, in call: Call) async throws -> HTTPResponse {
      HTTPResponse(fields: [.cacheControl: "max-age=3600"], body: ResponseBody(body), url: request.url)
    }
  }

  static func measure(
    _ file: ServedFile, entries: Int, callers: Int, at server: RunningServer, requests: Int, rounds: Int
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
    let urls = (0..<entries).map(address)  // the costs of making a URL are not part of an answer
    var rates: [[Double]] = [[], [], []]
    for _ in 0..<rounds {
      for (index, session) in caches.enumerated() {
        rates[index].append(
          try await rate(session, requests: requests, callers: callers) { urls[$0 &* 7919 % entries] })
      }
      rates[2].append(try await rate(uncached, requests: requests / 10, callers: callers) { _ in url })
    }
    return Row(
      file: file, entries: entries, callers: callers, memory: Figure(rates[0]), disk: Figure(rates[1]),
      wire: Figure(rates[2]))
  }

  static func table(at server: RunningServer, scale: Double, rounds: Int) async throws -> ResultTable {
    var table = ResultTable(
      key: "cache", title: "**Responses from the cache**: requests a second, median (least–most)",
      columns: ["response, callers", "from memory", "from SQLite", "over loopback, no cache"])
    for (file, entries, callers) in cases(scale: scale) {
      let row = try await measure(
        file, entries: entries, callers: callers, at: server, requests: Int(20_000 * scale), rounds: rounds)
      table.add(
        "\(file.count / 1024) KiB, one of \(entries), \(callers) at once", [row.memory, row.disk, row.wire])
    }
    return table
  }

  /// A session whose cache has the answers of this number of URLs.
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

  private static func rate(
    _ session: HTTPSession, requests: Int, callers: Int, url: @escaping @Sendable (Int) -> URL
  ) async throws -> Double {
    let start = ContinuousClock.now
    try await withThrowingTaskGroup(of: Void.self) { group in
      for caller in 0..<callers {
        group.addTask {
          for index in stride(from: caller, to: requests, by: callers) {
            _ = try await session.data(for: HTTPRequest(.get, url(index)))
          }
        }
      }
      try await group.waitForAll()
    }
    return Double(requests) / ((ContinuousClock.now - start) / .seconds(1))
  }
}
