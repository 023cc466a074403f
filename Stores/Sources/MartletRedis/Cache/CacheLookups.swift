@_spi(Toolkit) import MartletEngine
import MartletSemantics
import Synchronization

/// The look-ups of a process. Each key has at most one look-up in progress.
///
/// Callers that arrive in the meantime share the next look-up: when hundreds of requests for one URL wake up, the
/// server gets only a few look-ups. They do not use the result of the earlier one, because it may lack entries that
/// were stored in between.
final class CacheLookups: Sendable {
  /// Asks the server, and waits no longer than the limit.
  typealias LookUp = @Sendable (_ limit: Duration) async throws -> [CacheEntry]

  private struct Caller {
    let since: Duration
    let answer = OneShot<[CacheEntry]>()
  }

  /// The callers that wait for the next look-up, for each key with one in progress.
  private let waiting = Mutex<[CacheKey: [Caller]]>([:])
  private let stopwatch: Stopwatch
  private let limit: Duration

  /// - Parameter limit: how long a caller waits at most, including for the look-up in progress.
  init(_ stopwatch: Stopwatch, limit: Duration) { (self.stopwatch, self.limit) = (stopwatch, limit) }

  /// Returns the entries of a key as of this call, or later.
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
    // In a separate task, which the cancellation of a caller does not end.
    if isFirst { Task { await self.lookUp(key, for: [caller], lookUp) } }
    return try await caller.answer.wait()
  }

  /// Looks a key up for these callers, then for callers that have arrived in the meantime, until none is left.
  private func lookUp(_ key: CacheKey, for first: [Caller], _ lookUp: LookUp) async {
    var callers = first
    var limit: Duration? = limit
    while !callers.isEmpty {
      let result = await entries(within: limit, lookUp)
      for caller in callers { caller.answer.answer(result) }
      // All callers get an error: otherwise they would wait twice as long for a slow server.
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

  /// Returns the callers of the next look-up. If there are none, or the last look-up was made, none is in progress
  /// afterwards.
  private func next(of key: CacheKey, isLast: Bool = false) -> [Caller] {
    waiting.withLock { waiting in
      let callers = waiting[key] ?? []
      waiting[key] = callers.isEmpty || isLast ? nil : []
      return callers
    }
  }

  /// Returns the rest of the limit, in eighths, so that requests have few different limits; nil if nothing is left.
  private func rest(since start: Duration) -> Duration? {
    let eighths = Int(8 * ((limit - (stopwatch.elapsed - start)) / limit))
    return eighths > 0 ? limit * eighths / 8 : nil
  }
}
