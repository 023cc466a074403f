import MartletSemantics
import Synchronization

/// The session cookies of a store, by site, which are not in its file.
///
/// One change of a site may concern the file and this memory. It is prepared before the file's transaction ends, and kept
/// after it; what is read between the two is out of step, and `settled` says so.
final class SessionCookieMemory: Sendable {
  /// What is in memory, and how many changes it has seen.
  struct Settled {
    let sites: [String: [Cookie]]
    let generation: Int
  }

  private struct State {
    var sites: [String: [Cookie]] = [:]
    var prepared: [String: [Cookie]]?
    var generation = 0
  }

  private let state = Mutex(State())

  /// What is in memory while no change is under way, else nil.
  var settled: Settled? {
    state.withLock { $0.prepared == nil ? Settled(sites: $0.sites, generation: $0.generation) : nil }
  }

  /// What is in memory; for the writer, which is the only one to change it.
  var sites: [String: [Cookie]] { state.withLock { $0.sites } }

  /// Notes what a site's cookies shall be.
  func prepare(_ cookies: [Cookie], in site: String) {
    state.withLock { state in
      guard Set(state.sites[site] ?? []) != Set(cookies) else { return }
      var sites = state.sites
      sites[site] = cookies.isEmpty ? nil : cookies
      state.prepared = sites
    }
  }

  /// Notes that nothing shall be left.
  func prepareToRemoveAll() { state.withLock { $0.prepared = [:] } }

  /// Keeps or forgets what was prepared.
  func finish(_ isKept: Bool) {
    state.withLock { state in
      guard let prepared = state.prepared else { return }
      if isKept { state.sites = prepared }
      state.prepared = nil
      state.generation += 1
    }
  }
}
