import Foundation
import Martlet
@_spi(Toolkit) import MartletEngine
import MartletImages
import MartletInspector
import MartletObservation
import MartletTesting
import MeasuredClient
import Synchronization

// What waits or runs: requests, work on threads, pictures. Each such call takes kilobytes, so that there are fewer.
extension GrowthGroup {
  private static let calls = [1, 1_000, 10_000]

  static let waiting: [GrowthGroup] = [
    GrowthGroup(
      "in-flight", "requests in progress", sizes: calls,
      ["a request": .constant, "a POST that removes a response": .constant, "a request with a deadline": .constant]
    ) { size, _ in try await requestsInProgress(size) },
    GrowthGroup(
      "concurrency", "requests that wait for the only slot of their origin", sizes: calls,
      ["one of them, from its start to its end": .constant, "one of them that gives up": .constant]
    ) { size, _ in try await slotOperations(size) },
    GrowthGroup(
      "rate", "requests that wait for a rate limit", sizes: calls,
      ["one more that gives up": .linear(nanoseconds: 500)]
    ) { size, _ in try await rateOperations(size) },
    GrowthGroup("threads", "work that waits for threads", ["a piece of work": .constant]) { size, _ in
      let threads = WorkerThreads("bench", limit: 1)
      let times = max(1, 2_000 / size)
      return [
        (
          "a piece of work", size * times,
          {
            for _ in 0..<times {
              let group = DispatchGroup()
              for _ in 0..<size {
                group.enter()
                threads.submit { group.leave() }
              }
              await withCheckedContinuation { done in group.notify(queue: .global()) { done.resume() } }
            }
          }
        )
      ]
    },
    GrowthGroup(
      "loads", "pictures of one server that wait", sizes: calls, ["a picture, from its start to its end": .constant]
    ) { size, _ in
      let loader = try pictures { $0.cache = nil }
      let numbers = Numbers()
      return [
        (
          "a picture, from its start to its end", size * max(1, 200 / size),
          {
            for _ in 0..<max(1, 200 / size) {
              try await all(size) { _ in
                _ = try await loader.image(for: ImageRequest(url("http://pictures.test/\(numbers.next())")))
              }
            }
          }
        )
      ]
    },
    GrowthGroup(
      "cells", "callers that wait for one picture", sizes: calls, ["a caller, from its start to its end": .constant]
    ) { size, _ in
      let loader = try pictures { $0.cache = nil }
      let numbers = Numbers()
      return [
        (
          "a caller, from its start to its end", size * max(1, 200 / size),
          {
            for _ in 0..<max(1, 200 / size) {
              let address = url("http://pictures.test/\(numbers.next())")
              try await all(size) { _ in _ = try await loader.image(for: ImageRequest(address)) }
            }
          }
        )
      ]
    },
    GrowthGroup(
      "renewal", "callers that wait for one token", sizes: calls, ["a caller, from its start to its end": .constant]
    ) { size, _ in
      let work = SharedWork<String, Int>()
      return [
        (
          "a caller, from its start to its end", size * max(1, 1_000 / size),
          {
            for _ in 0..<max(1, 1_000 / size) {
              let gate = Gate()
              try await all(size) { index in
                if index == size - 1 { gate.open() }
                _ = try await work.value(for: "token") {
                  try await gate.wait()
                  return 1
                }
              }
            }
          }
        )
      ]
    },
  ]

  static let kept: [GrowthGroup] = [
    GrowthGroup("inspector", "calls that the inspector keeps", ["a call": .constant]) { size, _ in
      var options = Inspector.Options()
      (options.isAnnounced, options.callLimit, options.byteLimit) = (false, size, .max)
      return try await recorded(by: try Inspector(options), size)
    },
    GrowthGroup("recorder", "entries that the recorder keeps", ["a call": .constant]) { size, _ in
      var limits = HARRecorder.Limits()
      (limits.entries, limits.totalBytes) = (size, .max)
      return try await recorded(by: HARRecorder(limits: limits), size)
    },
    GrowthGroup(
      "used-values", "values in use, above the limit of their storage", ["a new value": .constant]
    ) { size, _ in
      let state = Mutex(LRUStorage<Int, Int>(countLimit: size, isInUse: { $0 < size }))
      let numbers = Numbers()
      state.withLock { storage in for index in 0..<size { storage.set(index, for: index) } }
      return [
        (
          "a new value", 2_000,
          {
            for _ in 0..<2_000 {
              let number = size + numbers.next()
              state.withLock { _ = $0.set(number, for: number) }
            }
          }
        )
      ]
    },
  ]

  private typealias Operations = [(String, Int, @Sendable () async throws -> Void)]

  private static func url(_ text: String) -> URL { URL(string: text) ?? URL(filePath: "/") }

  /// Runs this number of tasks to their ends.
  private static func all(_ count: Int, _ body: @escaping @Sendable (Int) async throws -> Void) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      for index in 0..<count { group.addTask { try await body(index) } }
      try await group.waitForAll()
    }
  }

  /// Answers at once, except requests whose path is `/held`.
  private struct HoldingTransport: Transport {
    let gate: Gate
    /// The number of requests that are held.
    let held = Numbers()
    private let base = InstantTransport()

    init(_ gate: Gate) { self.gate = gate }

    func send(_ request: HTTPRequest, in call: Call) async throws -> HTTPResponse {
      if request.url.path == "/held" {
        _ = held.next()
        try await gate.wait()
      }
      return try await base.send(request, in: call)
    }
  }

  /// Starts tasks that do not end before the process, and waits until all of them are where they wait.
  private static func start(
    _ count: Int, _ body: @escaping @Sendable (Int) async throws -> Void, until isReached: () -> Bool
  ) async throws {
    for index in 0..<count { Task { try await body(index) } }
    while !isReached() { try await Task.sleep(for: .milliseconds(5)) }
  }

  private static func requestsInProgress(_ size: Int) async throws -> Operations {
    let transport = HoldingTransport(Gate())
    let session = HTTPSession(transport: transport, configuration: SessionConfiguration())
    let running = Mutex(0)
    try await start(size) { index in
      running.withLock { $0 += 1 }
      var request = HTTPRequest(.get, url("http://host\(index).test/held"))
      request.options.deadline = .seconds(3600)
      _ = try await session.data(for: request)
    } until: {
      running.withLock { $0 } == size
    }
    func operation(_ name: String, _ method: HTTPMethod, deadline: Duration?) -> Operations.Element {
      (
        name, 500,
        {
          for _ in 0..<500 {
            var request = HTTPRequest(method, url("http://other.test/"))
            request.options.deadline = deadline
            _ = try await session.data(for: request)
          }
        }
      )
    }
    return [
      operation("a request", .get, deadline: nil),
      operation("a POST that removes a response", .post, deadline: nil),
      operation("a request with a deadline", .get, deadline: .seconds(60)),
    ]
  }

  private static func slotOperations(_ size: Int) async throws -> Operations {
    var settings = SessionConfiguration()
    (settings.cache, settings.cookies) = (nil, nil)
    settings.limits.concurrency = ConcurrencyLimit(1, queue: .max, waitLimit: nil)
    let session = HTTPSession(transport: HoldingTransport(Gate()), configuration: settings)
    let times = max(1, 500 / size)
    return [
      (
        "one of them, from its start to its end", size * times,
        {
          for _ in 0..<times {
            try await all(size) { _ in _ = try await session.data(for: HTTPRequest(.get, url("http://one.test/"))) }
          }
        }
      ),
      (
        "one of them that gives up", size * times,
        {
          for _ in 0..<times {
            let tasks = (0...size).map { _ in
              Task { _ = try await session.data(for: HTTPRequest(.get, url("http://two.test/held"))) }
            }
            for task in tasks.reversed() { task.cancel() }
            for task in tasks { _ = await task.result }
          }
        }
      ),
    ]
  }

  private static func rateOperations(_ size: Int) async throws -> Operations {
    var settings = SessionConfiguration()
    (settings.cache, settings.cookies) = (nil, nil)
    var limit = RateLimit(1, per: .seconds(3600))
    limit.waitLimit = .seconds(1_000_000_000)
    settings.limits.rate = limit
    let waiting = Numbers()
    let reached = Mutex(0)
    settings.listeners = [
      EventHandler { event, _ in
        if case .limit = event { reached.withLock { $0 = waiting.next() } }
      }
    ]
    let session = HTTPSession(transport: InstantTransport(), configuration: settings)
    _ = try await session.data(for: HTTPRequest(.get, url("http://slow.test/")))
    try await start(size) { _ in
      _ = try await session.data(for: HTTPRequest(.get, url("http://slow.test/")))
    } until: {
      reached.withLock { $0 } == size
    }
    return [
      (
        "one more that gives up", 100,
        {
          for _ in 0..<100 {
            let before = reached.withLock { $0 }
            let task = Task { _ = try await session.data(for: HTTPRequest(.get, url("http://slow.test/"))) }
            while reached.withLock({ $0 }) == before { await Task.yield() }
            task.cancel()
            _ = await task.result
          }
        }
      )
    ]
  }

  private static func pictures(_ change: (inout ImageLoader.Configuration) -> Void) throws -> ImageLoader {
    struct PictureTransport: Transport {
      let body: Data

      func send(_ request: HTTPRequest, in call: Call) async throws -> HTTPResponse {
        HTTPResponse(fields: [.contentType: "image/png"], body: ResponseBody(body), url: request.url)
      }
    }
    let bitmap = Bitmap(size: PixelSize(width: 1, height: 1), pixels: [0, 0, 0, 255])
    var settings = SessionConfiguration()
    (settings.cache, settings.cookies) = (nil, nil)
    var configuration = ImageLoader.Configuration()
    change(&configuration)
    let transport = PictureTransport(body: try ImageEncoder.encode(bitmap, as: .png))
    return ImageLoader(
      session: HTTPSession(transport: transport, configuration: settings), configuration: configuration)
  }

  /// The calls of a session with a listener that keeps as many of them.
  private static func recorded(by listener: any EventListener, _ size: Int) async throws -> Operations {
    var settings = SessionConfiguration()
    (settings.cache, settings.cookies) = (nil, nil)
    settings.listeners = [listener]
    let session = HTTPSession(transport: InstantTransport(), configuration: settings)
    let fetch: @Sendable (Int) async throws -> Void = { count in
      for _ in 0..<count { _ = try await session.data(for: HTTPRequest(.get, url("http://recorded.test/"))) }
    }
    try await fetch(size + 10)
    return [("a call", 500, { try await fetch(500) })]
  }
}
