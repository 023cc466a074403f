import Foundation
import Martlet
import MartletImages
import MartletSQLite
import MartletTesting
import MeasuredClient

/// The costs of a list of 500 photographs: each has 110 KiB and 640×427 pixels, under its own URL, and all are
/// requested at once.
///
/// The server is this process. Every round is a separate child process, so that its peak of memory is that of one list.
struct ImageListCost {
  /// The task of a child.
  enum Probe: String, CaseIterable {
    /// Loads the list as thumbnails of 200×133, three times: over the wire, from the session's cache, from memory.
    case times
    /// Loads it in full size, with a memory limit of 64 MiB, which is a tenth of its pixels.
    case bounded
  }

  /// Milliseconds for the whole list, and bytes.
  struct Result: Codable {
    var decoding = 0.0
    var fetching = 0.0
    var cold = 0.0
    var warm = 0.0
    var memory = 0.0
    var start = 0
    var kept = 0
    var peak = 0
    /// The value after the memory was emptied.
    var trimmed = 0
  }

  static let memoryLimit = 64 << 20
  private static let photo = URL(filePath: #filePath)
    .appending(path: "../../../../../Examples/Slideshow/Photos/rocket.jpg").standardized

  /// In the parent: serves the photograph, and starts children that load the list.
  static func run(count: Int, rounds: Int) throws -> [(times: Result, bounded: Result)] {
    let data = try Data(contentsOf: photo)
    let server = try LoopbackServer(recording: .nothing) { _ in
      .data(data, type: "image/jpeg").with(.cacheControl, "max-age=3600")
    }
    return try (0..<rounds).map { _ in
      let results = try Probe.allCases.map { probe in
        let output = try Command.output(
          of: CommandLine.arguments[0], ["--images", probe.rawValue, server.url("/").absoluteString, "\(count)"])
        do { return try JSONDecoder().decode(Result.self, from: Data(output.utf8)) } catch {
          throw BenchError("images, \(probe): \(output)")
        }
      }
      return (results[0], results[1])
    }
  }

  /// In a child: loads the list, and prints the result.
  static func perform(_ probe: Probe, _ base: URL, count: Int) async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "bench-images-\(UUID())")
    defer { try? FileManager.default.removeItem(at: folder) }
    let urls = (0..<count).map { base.appending(path: "\($0).jpg") }
    var result = Result()
    result.start = try ProcessUsage.memory().resident
    switch probe {
    case .times: try await measure(urls, folder, &result)
    case .bounded:
      let loader = try loader(folder)
      try await load(urls.map { ImageRequest($0) }, in: loader, from: .session(.network))
      result.kept = loader.configuration.cache?.byteCount ?? 0
      loader.configuration.cache?.trim(to: 0)
      result.trimmed = try ProcessUsage.memory().resident
    }
    result.peak = try ProcessUsage.memory().peak
    print(String(decoding: try JSONEncoder().encode(result), as: UTF8.self))
  }

  private static func measure(_ urls: [URL], _ folder: URL, _ result: inout Result) async throws {
    let box = PixelSize(width: 200, height: 200)
    let data = try Data(contentsOf: photo)
    result.decoding = milliseconds {
      DispatchQueue.concurrentPerform(iterations: urls.count) { _ in
        _ = try? ImageDecoder.decode(data, options: .init(fitting: box))
      }
    }
    result.fetching = try await milliseconds { try await fetch(urls) }
    let requests = urls.map { ImageRequest($0, targetSize: box) }
    result.cold = try await timeOfFirstLoad(requests, folder)
    let warm = try loader(folder)
    result.warm = try await milliseconds { try await load(requests, in: warm, from: .session(.cache)) }
    result.memory = try await milliseconds { try await load(requests, in: warm, from: .memory) }
    result.kept = warm.configuration.cache?.byteCount ?? 0
  }

  /// A function of its own, so that its pictures are released before the next list is loaded: the peak is that of one.
  private static func timeOfFirstLoad(_ requests: [ImageRequest], _ folder: URL) async throws -> Double {
    let loader = try loader(folder)
    return try await milliseconds { try await load(requests, in: loader, from: .session(.network)) }
  }

  private static func loader(_ folder: URL) throws -> ImageLoader {
    var settings = SessionConfiguration()
    settings.cache = HTTPCache(
      store: try SQLiteCacheStore(at: folder.appending(path: "cache.sqlite"), capacity: 256 << 20))
    var configuration = ImageLoader.Configuration()
    configuration.cache = ImageCache(byteLimit: memoryLimit)
    return ImageLoader(session: HTTPSession(configuration: settings), configuration: configuration)
  }

  private static func load(_ requests: [ImageRequest], in loader: ImageLoader, from source: ImageSource) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      for request in requests {
        group.addTask {
          let image = try await loader.image(for: request)
          guard image.source == source else { throw BenchError("a picture came from \(image.source), not \(source)") }
        }
      }
      try await group.waitForAll()
    }
  }

  /// The files alone, six at a time, like a loader.
  private static func fetch(_ urls: [URL]) async throws {
    var settings = SessionConfiguration()
    settings.cache = nil
    let session = HTTPSession(configuration: settings)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for lane in 0..<6 {
        group.addTask {
          for index in stride(from: lane, to: urls.count, by: 6) {
            _ = try await session.data(for: HTTPRequest(.get, urls[index]))
          }
        }
      }
      try await group.waitForAll()
    }
  }

  private static func milliseconds(_ work: () async throws -> Void) async rethrows -> Double {
    try await ContinuousClock().measure(work) / .milliseconds(1)
  }

  private static func milliseconds(_ work: () -> Void) -> Double { ContinuousClock().measure(work) / .milliseconds(1) }

  static func tables(_ rounds: [(times: Result, bounded: Result)], count: Int) -> [ResultTable] {
    var times = ResultTable(
      key: "image-list", title: "**\(count) photographs of 110 KiB as thumbnails**: milliseconds",
      columns: ["step", "time"])
    for (name, value) in [
      ("decoding alone, on all processors", \Result.decoding), ("fetching alone, without a cache", \.fetching),
      ("cold: over the wire, into SQLite and memory", \.cold), ("warm: from SQLite", \.warm), ("from memory", \.memory),
    ] { times.add(name, [Figure(rounds.map { $0.times[keyPath: value] })]) }
    var memory = ResultTable(
      key: "image-memory", title: "**Memory of these lists**: MB resident, the most of all rounds",
      columns: ["list", "before", "pixels kept", "peak", "after trim(to: 0)"], digits: 1)
    for (name, results) in [
      ("thumbnails, three times", rounds.map(\.times)), ("full size, 64 MiB at most", rounds.map(\.bounded)),
    ] {
      func most(_ value: KeyPath<Result, Int>) -> Double {
        Double(results.map { $0[keyPath: value] }.max() ?? 0) / 1_000_000
      }
      memory.add(name, most(\.start), most(\.kept), most(\.peak), most(\.trimmed) == 0 ? nil : most(\.trimmed))
    }
    return [times, memory]
  }
}
