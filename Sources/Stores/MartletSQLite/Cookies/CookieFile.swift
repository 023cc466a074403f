import Dispatch
import MartletEngine
import MartletSemantics
import Synchronization

/// The file of a cookie store, with a copy of its cookies in memory, and the session cookies that are not in the file.
final class CookieFile: Sendable {
  private let database: Database
  private let keepsSessionCookies: Bool
  private let watch = FileWatch()
  private let copy = Mutex(CookieSnapshot())
  /// Runs the writes of this store one after another, on threads that may block.
  private let queue = DispatchQueue(label: "martlet-sqlite-cookies")

  init(
    at url: URL, keepsSessionCookies: Bool, onSetAside: @escaping @Sendable (SetAsideFile) -> Void
  ) throws(HTTPError) {
    self.keepsSessionCookies = keepsSessionCookies
    var schema = CookieTable.schema
    if !keepsSessionCookies { schema.opening += CookieTable.dropSessionCookies }
    database = try Database(at: url, schema, onSetAside: onSetAside)
  }

  /// Returns the current cookies.
  func current() throws(HTTPError) -> CookieSnapshot {
    // The copy changes while the watch is locked, so that an earlier state of the file never replaces a later one.
    _ = try database.blockingRead(ifChangedSince: watch) { connection in
      let stored = try CookieTable(connection).all()
      copy.withLock { copy in
        let session = copy.sites.mapValues { $0.filter(\.isSession) }
        copy.replace(by: keepsSessionCookies ? stored : stored.merging(session, uniquingKeysWith: Self.joined))
      }
    }
    return copy.withLock { $0 }
  }

  /// Returns the cookies of a site without a look at the file.
  func copied(_ site: String) -> [Cookie] { copy.withLock { $0[site] } }

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

  /// Changes the cookies of a site in one transaction. Called on the queue of writes.
  ///
  /// A session cookie gets into the copy before the transaction ends, and out of it afterwards, so that a cookie that
  /// moves between the two is never missing.
  func update<Result>(_ site: String, _ change: (inout [Cookie]) -> Result) throws(HTTPError) -> Result {
    let transient = keepsSessionCookies ? [] : copied(site).filter(\.isSession)
    var (left, isCopied) = (transient, false)
    defer { if isCopied || left != transient { setSessionCookies(left, in: site) } }
    let (result, session) = try database.blockingWrite { connection in
      let table = CookieTable(connection)
      let stored = try table.cookies(in: site)
      var cookies = Self.joined(stored, transient)
      let result = change(&cookies)
      try table.replace(stored, by: keepsSessionCookies ? cookies : cookies.filter { !$0.isSession }, in: site)
      let session = keepsSessionCookies ? [] : cookies.filter(\.isSession)
      if session != transient {
        setSessionCookies(Self.joined(transient, session), in: site)
        isCopied = true
      }
      return (result, session)
    }
    left = session
    return result
  }

  private func setSessionCookies(_ cookies: [Cookie], in site: String) {
    copy.withLock { copy in
      copy.update(site) { $0 = Self.joined($0.filter { !$0.isSession }, cookies) }
    }
  }

  /// Removes all cookies. Called on the queue of writes.
  func removeAll() throws(HTTPError) {
    copy.withLock { $0.replace(by: [:]) }
    try database.blockingRemoveAll { connection in
      try CookieTable(connection).removeAll()
      return true
    }
  }

  /// Merges the cookies of the file and of the memory, keeping one of each identity. Another process may have stored a
  /// persistent cookie that is a session cookie here: the one set last counts.
  private static func joined(_ stored: [Cookie], _ transient: [Cookie]) -> [Cookie] {
    guard !stored.isEmpty, !transient.isEmpty else { return stored + transient }
    let cookies = Dictionary((stored + transient).map { ($0.identity, $0) }) { one, other in
      one.lastAccessed > other.lastAccessed ? one : other
    }
    return Array(cookies.values)
  }
}
