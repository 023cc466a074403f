import MartletEngine
import MartletSemantics
import Synchronization

/// The look-ups of a process: of one key, one is under way at a time.
///
/// Who asks for a key meanwhile waits for the next look-up, together with all others who do: when hundreds of requests for one
/// URL wake up, the server is asked for it a few times. The answer of a look-up that was sent before is not used, because it may
/// lack what was stored in between.
final class CacheLookups: Sendable {
  /// Asks the server, and waits for that long at most.
  typealias LookUp = @Sendable (_ limit: Duration) async throws -> [CacheEntry]

  private struct Caller {
    let since: Duration
    let answer = OneShot<[CacheEntry]>()
  }

  /// For each key of which a look-up is under way, who waits for the next one.
  private let waiting = Mutex<[CacheKey: [Caller]]>([:])
  private let stopwatch: Stopwatch
  private let limit: Duration

  /// - Parameter limit: How long a caller waits at most, for the look-up before included.
  init(_ stopwatch: Stopwatch, limit: Duration) { (self.stopwatch, self.limit) = (stopwatch, limit) }

  /// Returns the entries of a key as they are when this is called, or later.
  func entries(of key: CacheKey, _ lookUp: @escaping LookUp) async throws -> [CacheEntry] {
    let caller = Caller(since: stopwatch.elapsed)
    let isFirst = waiting.withLock { waiting in
      guard waiting[key] == nil else {
        waiting[key]?.append(caller)
        return false
      }
      waiting[key] = []
      return true
    }
    // in a task of its own, which the cancellation of a caller does not end
    if isFirst { Task { await self.lookUp(key, for: [caller], lookUp) } }
    return try await caller.answer.wait()
  }

  /// Looks a key up for these callers, then for those who have come meanwhile, until nobody is left.
  private func lookUp(_ key: CacheKey, for first: [Caller], _ lookUp: LookUp) async {
    var callers = first
    var limit: Duration? = limit
    while !callers.isEmpty {
      let result = await entries(within: limit, lookUp)
      for caller in callers { caller.answer.answer(result) }
      // an error is that of all: they would wait for a slow server for twice as long
      if case .failure = result {
        for caller in next(of: key, isLast: true) { caller.answer.answer(result) }
        return
      }
      callers = next(of: key)
      limit = callers.first.flatMap { rest(since: $0.since) }
    }
  }

  private func entries(within limit: Duration?, _ lookUp: LookUp) async -> Result<[CacheEntry], any Error> {
    guard let limit else {
      return .failure(RedisError(.timeout, "there was no time left after the look-up before"))
    }
    do { return .success(try await lookUp(limit)) } catch { return .failure(error) }
  }

  /// Returns who waits for the next look-up. If that is nobody, or the last one was made, none is under way afterwards.
  private func next(of key: CacheKey, isLast: Bool = false) -> [Caller] {
    waiting.withLock { waiting in
      let callers = waiting[key] ?? []
      waiting[key] = callers.isEmpty || isLast ? nil : []
      return callers
    }
  }

  /// Returns what is left of the limit, in eighths, so that requests have few different limits; nil if nothing is left.
  private func rest(since start: Duration) -> Duration? {
    let eighths = Int(8 * ((limit - (stopwatch.elapsed - start)) / limit))
    return eighths > 0 ? limit * eighths / 8 : nil
  }
}
