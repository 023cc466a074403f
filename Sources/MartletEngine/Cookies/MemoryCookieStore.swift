public import MartletSemantics
import Synchronization

/// Keeps cookies in memory: they end with the store. What a ``CookieJar`` uses unless told otherwise.
public final class MemoryCookieStore: CookieStore {
  private struct State {
    var sites: [String: [Cookie]] = [:]
    var count = 0
  }

  private let state = Mutex(State())

  /// Makes an empty store.
  public init() {}

  public func cookies(in site: String) async throws -> [Cookie] {
    state.withLock { $0.sites[site] ?? [] }
  }

  public func update<Result: Sendable>(
    _ site: String, _ change: @escaping @Sendable (inout [Cookie]) -> Result
  ) async throws -> Result {
    state.withLock { state in
      var cookies = state.sites[site] ?? []
      state.count -= cookies.count
      let result = change(&cookies)
      state.count += cookies.count
      state.sites[site] = cookies.isEmpty ? nil : cookies
      return result
    }
  }

  public func count() async throws -> Int { state.withLock { $0.count } }

  public func allCookies() async throws -> [String: [Cookie]] { state.withLock { $0.sites } }

  public func removeAll() async throws { state.withLock { $0 = State() } }
}
