@_spi(Stores) import MartletEngine
import MartletSemantics

/// Cookies in memory, with a copy in a ``CodableStoring``. This is the store of the engine's cookie jar. It has
/// synchronous methods for ``SAPHTTPCookieStorage``.
///
/// A queue writes the copies one after another. Each copy has the state at the time of writing, so the last copy has
/// the last change. A ``CodableStoring`` has no transactions. Therefore the copy of one process replaces that of
/// another. Only the mark of a sign-out is compared, before and after each copy.
final class StoredCookies: BlockingCookieStore, ImmediateCookieStore {
  private struct State {
    var cookies = CookieSnapshot()
    var policy = HTTPCookie.AcceptPolicy.always
    var options: SAPHTTPCookieStorageOptions
    /// The stored mark of the last sign-out, in this process or another; nil if there was none.
    var signOut: String?
    /// Whether the mark is not stored yet.
    var isSignOutDue = false
    /// Stored cookies that were created before this date could not be read yet; nil if none are left to read.
    var unreadBefore: Date?
  }

  private let state: Locked<State>
  private let backing: Locked<(any CodableStoring)?>
  private let queue = DispatchQueue(label: "SAP.Foundation.SAPURLSession.SAPHTTPCookieStorage")
  private let isOnQueue = DispatchSpecificKey<Bool>()

  private static let key = "SAPHTTPCookieStorage"
  private static let signOutKey = "SAPHTTPCookieStorage.signOut"

  init(_ storage: (any CodableStoring)?, _ options: SAPHTTPCookieStorageOptions) {
    backing = Locked(storage)
    var state = State(options: options)
    do {
      state.signOut = try storage.flatMap { try Self.signOut(in: $0) }
      state.cookies.replace(by: try Self.stored(in: storage, options))
    } catch {
      if !(error is DecodingError) { state.unreadBefore = .distantFuture }
      SessionLog.write(.warning, "SAPHTTPCookieStorage", "the cookies could not be read: \(error)")
    }
    self.state = Locked(state)
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

  func read(_ site: String) -> [Cookie] { state.withLock { $0.cookies[site] } }

  func all(at now: Date) -> [Cookie] {
    state.withLock { $0.cookies.sites }.values.joined().filter { !$0.isExpired(at: now) }
  }

  /// A sign-out in another process is noticed when the copy is written.
  var signOuts: SharedSignOuts? { nil }

  func change(_ site: String, since signOuts: SharedSignOuts?, _ body: (inout [Cookie]) -> Void) {
    if apply(site, body).isChanged { blockingWrite() }
  }

  func remove(since date: Date) {
    state.withLock { state in
      state.cookies.replace(by: state.cookies.sites.mapValues { $0.filter { $0.created < date } })
      if let before = state.unreadBefore { state.unreadBefore = date == .distantPast ? nil : min(before, date) }
      if date == .distantPast { (state.signOut, state.isSignOutDue) = (UUID().uuidString, true) }
    }
    blockingWrite()
  }

  // MARK: - Methods for the cookie jar

  var revision: CookieRevision { state.withLock { $0.cookies.revision } }

  func immediateCookies(in site: String) -> [Cookie] { read(site) }

  func immediateCookies(in site: String, for host: String) -> [Cookie] {
    state.withLock { $0.cookies[site, for: host] }
  }

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
      SessionLog.writeKept()
    }
    return result
  }

  func count() async throws -> Int { state.withLock { $0.cookies.count } }

  func allCookies() async throws -> [String: [Cookie]] { state.withLock { $0.cookies.sites } }

  func removeAll() async throws { remove(since: .distantPast) }

  // MARK: - The copy

  private func apply<Result>(
    _ site: String, _ body: (inout [Cookie]) -> Result
  ) -> (result: Result, isChanged: Bool) {
    state.withLock { state in
      state.cookies.update(site) { cookies in
        let before = cookies
        let result = body(&cookies)
        return (result, cookies != before)
      }
    }
  }

  /// Writes the copy before it returns. The app's storage may change cookies while it is called, on the same queue.
  private func blockingWrite() {
    guard queue.getSpecific(key: isOnQueue) == nil else { return write() }
    queue.sync { write() }
    SessionLog.writeKept()
  }

  /// Writes the copy, on the queue. Its caller writes the log when it has left the queue.
  private func write() {
    guard let storage else { return }
    do {
      try compareSignOut(in: storage)
      try readAgain(from: storage)
      // Another process may have signed out since: it stores its mark first, and then removes the cookies.
      repeat { try writeCookies(to: storage) } while try compareSignOut(in: storage)
    } catch { SessionLog.keep(.warning, "SAPHTTPCookieStorage", "the cookies could not be stored: \(error)") }
  }

  private func writeCookies(to storage: any CodableStoring) throws {
    let kept = state.withLock { Self.kept($0.cookies.sites, $0.options) }
    if kept.isEmpty { try storage.remove(for: Self.key) } else { try storage.put(kept, for: Self.key) }
  }

  /// Stores the mark of a sign-out of this process, or adopts the mark of another one. After an adoption, all cookies
  /// here belong to the user who signed out in the other process, even cookies of later responses. They must not be
  /// stored again.
  ///
  /// - Returns: whether it adopted a mark.
  @discardableResult private func compareSignOut(in storage: any CodableStoring) throws -> Bool {
    let stored = try Self.signOut(in: storage)
    let (due, isAdopted) = state.withLock { state -> (String?, Bool) in
      if state.isSignOutDue { return (state.signOut, false) }
      guard let stored, state.signOut != stored else { return (nil, false) }
      state.signOut = stored
      if state.unreadBefore == nil { state.cookies.replace(by: [:]) }
      return (nil, true)
    }
    guard let due else { return isAdopted }
    try storage.put(due, for: Self.signOutKey)
    state.withLock { if $0.signOut == due { $0.isSignOutDue = false } }
    return false
  }

  private static func signOut(in storage: any CodableStoring) throws -> String? {
    do { return try storage.get(String.self, for: signOutKey) } catch is DecodingError { return nil }
  }

  /// Adds the stored cookies if they could not be read before. The cookies in memory are newer, and replace them.
  /// Content that cannot be decoded is lost: the caller overwrites it.
  private func readAgain(from storage: any CodableStoring) throws {
    let (isUnread, options) = state.withLock { ($0.unreadBefore != nil, $0.options) }
    guard isUnread else { return }
    var stored: [String: [Cookie]] = [:]
    do { stored = try Self.stored(in: storage, options) } catch is DecodingError {}
    state.withLock { state in
      // A sign-out in the meantime leaves nothing to read.
      guard let before = state.unreadBefore else { return }
      for (site, cookies) in stored {
        state.cookies.update(site) { current in
          let replaced = Set(current.map(\.identity))
          current += cookies.filter { $0.created < before && !replaced.contains($0.identity) }
        }
      }
      state.unreadBefore = nil
    }
  }

  /// Returns the cookies of a store; none without a store.
  private static func stored(
    in storage: (any CodableStoring)?, _ options: SAPHTTPCookieStorageOptions
  ) throws -> [String: [Cookie]] {
    try kept(storage?.get([String: [Cookie]].self, for: key) ?? [:], options)
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
