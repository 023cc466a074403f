@_spi(Toolkit) import MartletEngine
import Synchronization

/// Runs the changes of each site one after another, in the order of submission, and lets readers find out whether one
/// was made in the meantime.
final class SiteChanges: Sendable {
  private struct Site {
    var line = WorkLine()
    /// The pending changes.
    var waiting = 0
    var readers = 0
    /// The number of changes since counting began.
    var count = 0

    var isUnused: Bool { waiting == 0 && readers == 0 }
  }

  private let sites = Mutex<[String: Site]>([:])

  /// Runs the work after all earlier work for the site. It runs to its end even if the caller is cancelled.
  func run<Value: Sendable>(_ site: String, _ work: @escaping @Sendable () async throws -> Value) async throws -> Value
  {
    let turn = update(site) { state in
      state.waiting += 1
      state.count += 1
      return state.line.takeTurn()
    }
    let task = Task {
      try await turn.run {
        defer { update(site) { $0.waiting -= 1 } }
        return try await work()
      }
    }
    return try await task.value
  }

  /// Reads at once if no change of the site is in progress, and otherwise after it; reads again if a change was made in
  /// between.
  ///
  /// - Parameter work: called up to four times.
  func read<Value: Sendable>(_ site: String, _ work: @escaping @Sendable () async throws -> Value) async throws -> Value
  {
    for _ in 0..<3 {
      await sites.withLock { $0[site]?.line.last }?.wait()
      let (count, isQuiet) = update(site) { state in
        state.readers += 1
        return (state.count, state.waiting == 0)
      }
      let value = isQuiet ? await Result { () async throws -> Value in try await work() } : nil
      let isSame = update(site) { state in
        state.readers -= 1
        return state.count == count
      }
      if isSame, let value { return try value.get() }
    }
    return try await run(site, work)
  }

  /// Suspends until all changes that have been submitted so far, of any site, are finished.
  func waitForAll() async {
    let changes = sites.withLock { $0.values.compactMap(\.line.last) }
    for change in changes { await change.wait() }
  }

  @discardableResult
  private func update<Result>(_ site: String, _ change: (inout Site) -> Result) -> Result {
    sites.withLock { sites in
      var state = sites[site] ?? Site()
      let result = change(&state)
      sites[site] = state.isUnused ? nil : state
      return result
    }
  }
}

extension Result where Failure == any Error {
  fileprivate init(_ work: () async throws -> Success) async {
    do { self = .success(try await work()) } catch { self = .failure(error) }
  }
}
