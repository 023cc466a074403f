import Foundation
import MartletEngine
import MartletSemantics
import Synchronization

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Cookies in memory, with a copy in a ``CodableStoring``: for the engine's jar, and at once for who cannot suspend.
///
/// The copy is written by one thread after another, and always the newest state, so that the last write is the last change.
final class StoredCookies: CookieStore {
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
    } catch { SAPURLSession.log("SAPHTTPCookieStorage", "the cookies could not be read: \(error)") }
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

  // MARK: At once

  func read(_ site: String) -> [Cookie] { state.withLock { $0.sites[site] ?? [] } }

  func all(at now: Date) -> [Cookie] {
    state.withLock { $0.sites }.values.joined().filter { !$0.isExpired(at: now) }
  }

  func change(_ site: String, _ body: (inout [Cookie]) -> Void) {
    if apply(site, body).isChanged { writeNow() }
  }

  func remove(where condition: (Cookie) -> Bool) {
    state.withLock { state in
      state.sites = state.sites.mapValues { $0.filter { !condition($0) } }.filter { !$0.value.isEmpty }
    }
    writeNow()
  }

  // MARK: For the jar

  func cookies(in site: String) async throws -> [Cookie] { read(site) }

  /// Only what responses bring comes this way: where no cookie is to be accepted, nothing is changed.
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

  func removeAll() async throws { remove { _ in true } }

  // MARK: The copy

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

  /// The app's storage may change cookies while it is written to.
  private func writeNow() {
    if queue.getSpecific(key: isOnQueue) == true { write() } else { queue.sync { write() } }
  }

  private func write() {
    guard let storage else { return }
    let kept = state.withLock { Self.kept($0.sites, $0.options) }
    do {
      if kept.isEmpty { try storage.remove(for: Self.key) } else { try storage.put(kept, for: Self.key) }
    } catch { SAPURLSession.log("SAPHTTPCookieStorage", "the cookies could not be stored: \(error)") }
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
