import Dispatch
@_spi(Stores) import MartletEngine
import MartletSemantics
import Synchronization

/// The file of a cookie store, with a copy of its cookies in memory, and the session cookies that are not in the file.
final class CookieFile: Sendable {
  private let database: Database
  private let keepsSessionCookies: Bool
  private let watch = FileWatch()
  private let copy = Mutex(Copy())
  /// Runs the writes of this store one after another, on threads that may block.
  private let queue = DispatchQueue(label: "martlet-sqlite-cookies")

  private struct Copy {
    var cookies = CookieSnapshot()
    var signOuts = CookieTable.SignOuts()
    /// Whether a change of the file and of session cookies is in progress. Until it is complete, the copy is not read
    /// from the file again, so that it has either the state before or the state after.
    var isChanging = false

    /// Replaces the cookies of the file.
    mutating func replace(_ stored: [String: [Cookie]], besideSessionCookies: Bool) {
      let session = besideSessionCookies ? cookies.sites.mapValues { $0.filter(\.isSession) } : [:]
      cookies.replace(by: stored.merging(session, uniquingKeysWith: CookieFile.joined))
    }
  }

  init(
    at url: URL, keepsSessionCookies: Bool, onSetAside: @escaping @Sendable (SetAsideFile) -> Void
  ) throws(HTTPError) {
    self.keepsSessionCookies = keepsSessionCookies
    var schema = CookieTable.schema
    if !keepsSessionCookies { schema.opening += CookieTable.dropSessionCookies }
    database = try Database(at: url, schema, .once, onSetAside: onSetAside)
  }

  /// Returns the current cookies.
  func current() throws(HTTPError) -> CookieSnapshot {
    if !copy.withLock({ $0.isChanging }) {
      try read { if !$0.isChanging { $0.replace($1, besideSessionCookies: $2) } }
    }
    return copy.withLock { $0.cookies }
  }

  /// Reads the file if it has changed. The copy is changed while the watch is locked, so that an earlier state of the
  /// file never replaces a later one.
  private func read(
    always: Bool = false, _ apply: (inout Copy, _ stored: [String: [Cookie]], _ besideSessionCookies: Bool) -> Void
  ) throws(HTTPError) {
    _ = try database.blockingRead(ifChangedSince: watch, always: always) { connection in
      let table = CookieTable(connection)
      let (stored, signOuts) = (try table.all(), try table.signOuts())
      copy.withLock { copy in
        copy.signOuts = signOuts
        apply(&copy, stored, !keepsSessionCookies)
      }
    }
  }

  /// Returns the cookies of a site without a look at the file.
  func copied(_ site: String) -> [Cookie] { copy.withLock { $0.cookies[site] } }

  /// Returns the cookies of a site that a host may get, without a look at the file.
  func copied(_ site: String, for host: String) -> [Cookie] { copy.withLock { $0.cookies[site, for: host] } }

  /// Runs a change on the queue of writes.
  func write<Result: Sendable>(
    _ change: @escaping @Sendable (CookieFile) throws -> Result
  ) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
      queue.async { continuation.resume(with: Swift.Result { try change(self) }) }
    }
  }

  /// Runs a change on the queue of writes, while the caller's thread waits.
  func blockingWrite<Result>(_ change: (CookieFile) throws -> Result) throws -> Result {
    try queue.sync { try change(self) }
  }

  /// Returns the sign-outs of a group of partitions, of all processes.
  func signOuts(of group: Int) throws(HTTPError) -> SharedSignOuts {
    _ = try current()
    return copy.withLock { $0.signOuts[group] }
  }

  /// Records a sign-out of a group of partitions. Called on the queue of writes.
  func noteSignOut(of group: Int) throws(HTTPError) {
    try database.blockingWrite(waiting: .long) { try CookieTable($0).noteSignOut(of: group) }
  }

  /// Changes the cookies of a site in one transaction, with the sign-outs of a group. Called on the queue of writes.
  func update<Result>(
    _ site: String, in group: Int, _ change: (inout [Cookie], SharedSignOuts) -> Result
  ) throws(HTTPError) -> Result {
    let transient = keepsSessionCookies ? [] : copied(site).filter(\.isSession)
    var left = transient
    defer { endChange { $0.update(site) { $0 = Self.joined($0.filter { !$0.isSession }, left) } } }
    let written = try database.blockingWrite(committed: adopt) { connection in
      let table = CookieTable(connection)
      let version = database.isCurrent(watch) ? try connection.dataVersion() : nil
      // A current copy saves reading the rows: no other process can change them within this transaction. Beside session
      // cookies, the copy may lack a row that one of them replaces.
      let stored = version == nil || !transient.isEmpty ? try table.cookies(in: site) : copied(site)
      var cookies = Self.joined(stored, transient)
      let result = change(&cookies, try table.signOuts()[group])
      try table.replace(stored, by: keepsSessionCookies ? cookies : cookies.filter { !$0.isSession }, in: site)
      let session = keepsSessionCookies ? [] : cookies.filter(\.isSession)
      if session != transient { copy.withLock { $0.isChanging = true } }
      return Written(result: result, site: site, cookies: cookies, session: session, version: version)
    }
    left = written.session
    return written.result
  }

  /// A change of the cookies of a site, in the file.
  private struct Written<Result> {
    let result: Result
    let site: String
    /// All cookies of the site.
    let cookies: [Cookie]
    /// Those that are not in the file.
    let session: [Cookie]
    /// The version of the connection before, if the copy was current; nil otherwise.
    let version: Int64?
  }

  /// Applies a change of this store to the copy. Reading the whole file again would take longer with every cookie.
  private func adopt<Result>(_ connection: DatabaseConnection, _ written: Written<Result>) {
    guard let version = written.version else { return }
    database.adopt(in: watch, unless: { (try? connection.dataVersion()) != version }) {
      copy.withLock { copy in
        copy.cookies.update(written.site) { $0 = written.cookies }
        copy.isChanging = false
      }
    }
  }

  /// Removes all cookies. Called on the queue of writes.
  func removeAll() throws(HTTPError) {
    copy.withLock { copy in
      copy.cookies.replace(by: [:])
      copy.isChanging = true
    }
    defer { endChange { _ in } }
    try database.blockingRemoveAll { connection in
      try CookieTable(connection).removeAll()
      return true
    }
  }

  /// Completes a change of session cookies, together with that of the file.
  private func endChange(_ change: (inout CookieSnapshot) -> Void) {
    guard copy.withLock({ $0.isChanging }) else { return }
    // A reader may have seen the change of the file already, and left it to this read to use it.
    try? read(always: true) { copy, stored, besideSessionCookies in
      change(&copy.cookies)
      copy.replace(stored, besideSessionCookies: besideSessionCookies)
      copy.isChanging = false
    }
    // A file that cannot be read: its next reader gets the error.
    copy.withLock { copy in
      guard copy.isChanging else { return }
      change(&copy.cookies)
      copy.isChanging = false
    }
  }

  /// Merges the cookies of the file and of the memory, keeping one of each identity. Another process may have stored a
  /// persistent cookie that is a session cookie here: the one set last counts.
  static func joined(_ stored: [Cookie], _ transient: [Cookie]) -> [Cookie] {
    guard !stored.isEmpty, !transient.isEmpty else { return stored + transient }
    let cookies = Dictionary((stored + transient).map { ($0.identity, $0) }) { one, other in
      one.lastAccessed > other.lastAccessed ? one : other
    }
    return Array(cookies.values)
  }
}
