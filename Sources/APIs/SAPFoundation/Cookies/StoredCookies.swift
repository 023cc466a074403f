import MartletEngine
import MartletSemantics
import Synchronization

/// Cookies in memory, with a copy in a ``CodableStoring``. This is the store of the engine's cookie jar. It has
/// synchronous methods for ``SAPHTTPCookieStorage``.
///
/// A queue writes the copies one after another. Each copy has the state at the time of writing, so the last copy has
/// the last change.
final class StoredCookies: BlockingCookieStore {
  private struct State {
    var sites: [String: [Cookie]] = [:]
    var policy = HTTPCookie.AcceptPolicy.always
    var options: SAPHTTPCookieStorageOptions
  }

  private let state: Mutex<State>
  private let backing: Locked<(any CodableStoring)?>
  private let queue = DispatchQueue(label: "SAP.Foundation.SAPURLSession.SAPHTTPCookieStorage")
  private let isOnQueue = DispatchSpecificKey<Bool>()

  private static let key = "SAPHTTPCookieStorage"

  init(_ storage: (any CodableStoring)?, _ options: SAPHTTPCookieStorageOptions) {
    backing = Locked(storage)
    var state = State(options: options)
    do {
      state.sites = try storage?.get([String: [Cookie]].self, for: Self.key) ?? [:]
    } catch { SessionLog.write(.warning, "SAPHTTPCookieStorage", "the cookies could not be read: \(error)") }
    state.sites = Self.kept(state.sites, options)
    self.state = Mutex(state)
    queue.setSpecific(key: isOnQueue, value: true)
  }

  var storage: (any CodableStoring)? { backing.withLock { $0 } }

  var options: SAPHTTPCookieStorageOptions {
    get { state.withLock { $0.options } }
    set { state.withLock { $0.options = newValue } }
  }

  var policy: HTTPCookie.AcceptPolicy {
    get { state.withLock { $0.policy } }
    set { state.withLock { $0.policy = newValue } }
  }

  // MARK: - Synchronous methods

  func synchronize() {}

  func read(_ site: String) -> [Cookie] { state.withLock { $0.sites[site] ?? [] } }

  func all(at now: Date) -> [Cookie] {
    state.withLock { $0.sites }.values.joined().filter { !$0.isExpired(at: now) }
  }

  func change(_ site: String, _ body: (inout [Cookie]) -> Void) {
    if apply(site, body).isChanged { blockingWrite() }
  }

  func remove(since date: Date) {
    state.withLock { state in
      state.sites = state.sites.mapValues { $0.filter { $0.created < date } }.filter { !$0.value.isEmpty }
    }
    blockingWrite()
  }

  // MARK: - Methods for the cookie jar

  func cookies(in site: String) async throws -> [Cookie] { read(site) }

  /// Changes the cookies of a site with those of a response. With the policy `.never` nothing is stored.
  func update<Result: Sendable>(
    _ site: String, _ change: @escaping @Sendable (inout [Cookie]) -> Result
  ) async throws -> Result {
    guard policy != .never else {
      var copy = read(site)
      return change(&copy)
    }
    let (result, isChanged) = apply(site, change)
    if isChanged {
      await withCheckedContinuation { continuation in
        queue.async {
          self.write()
          continuation.resume()
        }
      }
    }
    return result
  }

  func count() async throws -> Int { state.withLock { $0.sites.values.reduce(0) { $0 + $1.count } } }

  func allCookies() async throws -> [String: [Cookie]] { state.withLock { $0.sites } }

  func removeAll() async throws { remove(since: .distantPast) }

  // MARK: - The copy

  private func apply<Result>(
    _ site: String, _ body: (inout [Cookie]) -> Result
  ) -> (result: Result, isChanged: Bool) {
    state.withLock { state in
      let before = state.sites[site] ?? []
      var cookies = before
      let result = body(&cookies)
      state.sites[site] = cookies.isEmpty ? nil : cookies
      return (result, cookies != before)
    }
  }

  /// Writes the copy before it returns. The app's storage may change cookies while it is called, on the same queue.
  private func blockingWrite() {
    if queue.getSpecific(key: isOnQueue) == true { write() } else { queue.sync { write() } }
  }

  private func write() {
    guard let storage else { return }
    let kept = state.withLock { Self.kept($0.sites, $0.options) }
    do {
      if kept.isEmpty { try storage.remove(for: Self.key) } else { try storage.put(kept, for: Self.key) }
    } catch { SessionLog.write(.warning, "SAPHTTPCookieStorage", "the cookies could not be stored: \(error)") }
  }

  private static func kept(
    _ sites: [String: [Cookie]], _ options: SAPHTTPCookieStorageOptions
  ) -> [String: [Cookie]] {
    let now = Date.now
    let keepsAll = options.contains(.persistSessionCookies)
    return sites.mapValues { $0.filter { !$0.isExpired(at: now) && (keepsAll || !$0.isSession) } }
      .filter { !$0.value.isEmpty }
  }
}
