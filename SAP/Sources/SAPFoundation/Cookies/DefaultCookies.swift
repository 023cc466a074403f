@_spi(Credentials) @_spi(Stores) import MartletEngine
@_spi(Stores) import MartletSQLite
import MartletSemantics

/// The cookies of all sessions of the default configuration: in a file that all processes of the program share, with
/// the changes of `HTTPCookieStorage.shared` adopted. Session cookies are in memory, for the process.
final class DefaultCookies: BlockingCookieStore, ImmediateCookieStore, SharedCookieStore {
  private struct State {
    var shared: SharedCookies
    /// Whether the cookies could not be removed. While this is so, the file is not used.
    var isRemovalDue = false
    var policy = HTTPCookie.AcceptPolicy.always
  }

  private let file: SQLiteCookieStore
  private let state: Locked<State>

  private init(_ file: SQLiteCookieStore) {
    self.file = file
    state = Locked(State(shared: SharedCookies(.shared, isMarked: ProgramMark.cookies.isSet)))
  }

  /// The storage of all sessions of the default configuration. If there can be no file, the cookies are in memory, and
  /// the log says so.
  static var storage: SAPHTTPCookieStorage {
    defer { SessionLog.writeKept() }
    return made
  }

  private static let made: SAPHTTPCookieStorage = {
    do {
      let file = try SQLiteCookieStore(at: ProgramFolder.data.file("cookies.sqlite"))
      let storage = SAPHTTPCookieStorage(DefaultCookies(file))
      // An app may empty the shared storage without another request before it ends.
      atexit { DefaultCookies.storage.synchronize() }
      return storage
    } catch {
      SessionLog.keep(.warning, "SAPHTTPCookieStorage", "cookies are kept in memory only: \(error)")
      return SAPHTTPCookieStorage()
    }
  }()

  // MARK: - What the storage has

  var storage: (any CodableStoring)? { nil }

  var options: SAPHTTPCookieStorageOptions {
    get { .default }
    set {
      guard newValue != .default else { return }
      SessionLog.write(
        .warning, "SAPHTTPCookieStorage",
        "the default storage has no options: assign a SAPHTTPCookieStorage(persistentStorage:options:)")
    }
  }

  var policy: HTTPCookie.AcceptPolicy {
    get { state.withLock { $0.policy } }
    set { state.withLock { $0.policy = newValue } }
  }

  // MARK: - Reading

  func read(_ site: String) -> [Cookie] { current()[site] }

  func all(at now: Date) -> [Cookie] { current().sites.values.joined().filter { !$0.isExpired(at: now) } }

  var revision: CookieRevision {
    synchronize()
    return isUsable() ? file.revision : .empty
  }

  func immediateCookies(in site: String) -> [Cookie] { isUsable() ? file.immediateCookies(in: site) : [] }

  func immediateCookies(in site: String, for host: String) -> [Cookie] {
    isUsable() ? file.immediateCookies(in: site, for: host) : []
  }

  func cookies(in site: String) async throws -> [Cookie] { try checked().blockingCookies()[site] }

  func count() async throws -> Int { try checked().blockingCookies().count }

  func allCookies() async throws -> [String: [Cookie]] { try checked().blockingCookies().sites }

  private func current() -> CookieSnapshot {
    do { return try checked().blockingCookies() } catch {
      log("read", error)
      return CookieSnapshot()
    }
  }

  // MARK: - Changing

  var signOuts: SharedSignOuts? { try? checked().blockingSignOuts() }

  func change(_ site: String, since signOuts: SharedSignOuts?, _ body: (inout [Cookie]) -> Void) {
    do {
      try checked().blockingUpdate(site) { cookies, current in
        if signOuts == nil || signOuts == current { body(&cookies) }
      }
    } catch { log("stored", error) }
  }

  func update<Result: Sendable>(
    _ site: String, _ change: @escaping @Sendable (inout [Cookie]) -> Result
  ) async throws -> Result {
    try await update(site, in: 0) { cookies, _ in change(&cookies) }
  }

  func update<Result: Sendable>(
    _ site: String, in group: Int, _ change: @escaping @Sendable (inout [Cookie], SharedSignOuts) -> Result
  ) async throws -> Result {
    let file = try checked()
    if policy == .never {
      var copy = try file.blockingCookies()[site]
      return change(&copy, try await file.signOuts(of: group))
    }
    return try await file.update(site, in: group, change)
  }

  func signOuts(of group: Int) async throws -> SharedSignOuts { try await checked().signOuts(of: group) }

  func noteSignOut(of group: Int) async throws { try await checked().noteSignOut(of: group) }

  func remove(since date: Date) {
    guard date != .distantPast else { return removeShared() }
    for (site, cookies) in current().sites where cookies.contains(where: { $0.created >= date }) {
      change(site, since: nil) { $0.removeAll { $0.created >= date } }
    }
  }

  func removeAll() async throws {
    removeShared()
    _ = try checked()
  }

  /// Removes all cookies, including those of the shared storage.
  private func removeShared() {
    state.withLock { state in
      state.shared.removeAll()
      state.isRemovalDue = true
    }
    synchronize()
    _ = isUsable()
  }

  // MARK: - The shared storage, and removals that failed

  func synchronize() {
    let storage = Self.storage  // on these cookies: it adopts cookies by its rules
    defer { SessionLog.writeKept() }
    state.withLock { state in
      guard let changes = state.shared.changes() else { return }
      if state.shared.isMarked { ProgramMark.cookies.set() }
      if changes.areRemoved {
        storage.jar.signOut.set()
        state.isRemovalDue = true
      }
      adopt(changes, by: storage, &state)
    }
  }

  private func adopt(_ changes: SharedCookies.Changes, by storage: SAPHTTPCookieStorage, _ state: inout State) {
    do { try removeIfDue(&state) } catch { return keepLine("removed", error) }
    do {
      if !changes.removed.isEmpty {
        for (site, cookies) in try file.blockingCookies().sites {
          let gone = cookies.filter { changes.removed.contains(SharedCookies.fingerprint(of: $0)) }.map(\.identity)
          guard !gone.isEmpty else { continue }
          try file.blockingUpdate(site) { cookies, _ in cookies.removeAll { gone.contains($0.identity) } }
        }
      }
      for cookie in changes.added where state.policy != .never {
        try storage.put(cookie) { site, change in try file.blockingUpdate(site) { cookies, _ in change(&cookies) } }
      }
    } catch { keepLine("adopted from HTTPCookieStorage.shared", error) }
  }

  private func removeIfDue(_ state: inout State) throws {
    guard state.isRemovalDue else { return }
    try file.blockingRemoveAll()
    state.isRemovalDue = false
  }

  /// Returns the file, with the changes of the shared storage.
  private func checked() throws -> SQLiteCookieStore {
    synchronize()
    try state.withLock { try removeIfDue(&$0) }
    return file
  }

  private func isUsable() -> Bool {
    defer { SessionLog.writeKept() }
    return state.withLock { state in
      do { try removeIfDue(&state) } catch { keepLine("removed", error) }
      return !state.isRemovalDue
    }
  }

  private func log(_ what: String, _ error: any Error) {
    keepLine(what, error)
    SessionLog.writeKept()
  }

  /// Keeps the line of an error while ``state`` is locked.
  private func keepLine(_ what: String, _ error: any Error) {
    SessionLog.keep(.warning, "SAPHTTPCookieStorage", "cookies could not be \(what): \(error)")
  }
}
