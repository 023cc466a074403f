public import MartletEngine
public import MartletSemantics
import Synchronization

/// A ``Martlet/CookieStore`` in a SQLite file.
///
/// ```swift
/// configuration.cookies = CookieJar(store: try SQLiteCookieStore(at: folder.appending(path: "cookies.sqlite")))
/// ```
///
/// Several processes can use the file at the same time: each sees the cookies that others store, and changes are
/// atomic. A process that is killed does not damage the file. Only the owner of the file can read it. It must be on a
/// local disk, because SQLite shares memory between processes. A file that is damaged, foreign or of a later version is
/// set aside: ``SetAsideFile``. Expired cookies are removed when the store is opened.
///
/// Removed cookies are erased from the files. If another process reads the file in the meantime for longer than a
/// quarter of a second, a copy remains until the next write after it, or until a store opens the file. On a full disk
/// the store can be opened and read; storing a cookie throws an error that names the disk. Removing all cookies needs
/// no space.
///
/// Each cookie has a checksum; a damaged one is treated as missing, and never sent.
///
/// Session cookies are kept in memory, for this store only, unless ``SessionCookies/persistent`` is set. Errors are
/// ``Martlet/HTTPError`` of kind `.file`, with the file and the remedy. Reads run off the caller's actor.
public struct SQLiteCookieStore: CookieStore {
  /// Where session cookies are stored.
  public enum SessionCookies: Sendable, Hashable {
    /// In memory, while the store exists. Session cookies in the file are removed.
    case transient
    /// In the file, like other cookies, for a program that continues its session after a restart.
    case persistent
  }

  private let database: Database
  private let keepsAll: Bool
  /// The cookies that are not in the file.
  private let session = SessionCookieMemory()

  /// Opens the store, and creates its file and folder if they do not exist. This blocks for a few milliseconds.
  ///
  /// - Parameters:
  ///   - file: a file URL. SQLite keeps two more files beside it, with `-wal` and `-shm` appended to its name.
  ///   - sessionCookies: where session cookies are stored; in memory by default.
  ///   - onSetAside: called when a file could not be used and was replaced by an empty one.
  /// - Throws: ``Martlet/HTTPError`` of kind `.file`.
  public init(
    at file: URL, sessionCookies: SessionCookies = .transient,
    onSetAside: @escaping @Sendable (SetAsideFile) -> Void = { _ in }
  ) throws(HTTPError) {
    keepsAll = sessionCookies == .persistent
    var schema = CookieTable.schema
    if !keepsAll { schema.opening += CookieTable.dropSessionCookies }
    database = try Database(at: file, schema, onSetAside: onSetAside)
  }

  @concurrent public func cookies(in site: String) async throws -> [Cookie] {
    try await read { Self.joined(try $0.cookies(in: site), $1[site, default: []]) }
  }

  public func update<Result: Sendable>(
    _ site: String, _ change: @escaping @Sendable (inout [Cookie]) -> Result
  ) async throws -> Result {
    try await database.write { [session, keepsAll] connection in
      let table = CookieTable(connection)
      let stored = try table.cookies(in: site)
      let transient = session.sites[site] ?? []
      var cookies = Self.joined(stored, transient)
      let result = change(&cookies)
      try table.replace(stored, by: keepsAll ? cookies : cookies.filter { !$0.isSession }, in: site)
      if !keepsAll { session.prepare(cookies.filter(\.isSession), in: site) }
      return result
    } ended: { [session] isStored in
      session.finish(isStored)
    }
  }

  @concurrent public func count() async throws -> Int {
    try await read { try $0.count() + $1.values.reduce(0) { $0 + $1.count } }
  }

  @concurrent public func allCookies() async throws -> [String: [Cookie]] {
    try await read { try $0.all().merging($1, uniquingKeysWith: Self.joined) }
  }

  public func removeAll() async throws {
    try await database.removeAll { [session] connection in
      try CookieTable(connection).removeAll()
      session.prepareToRemoveAll()
      return true
    } ended: { [session] isRemoved in
      session.prepareToRemoveAll()
      session.finish(isRemoved)
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

  /// Reads a consistent state of the file and the memory.
  private func read<R: Sendable>(
    _ work: @Sendable (CookieTable, _ session: [String: [Cookie]]) throws -> R
  ) async throws -> R {
    if let before = session.settled {
      let result = try await database.read { try work(CookieTable($0), before.sites) }
      if session.settled?.generation == before.generation { return result }
    }
    // A change of both is in progress: read after it.
    return try await database.readAfterWrites { [session] in try work(CookieTable($0), session.sites) }
  }
}

/// The session cookies of a store, by site, that are not in its file.
///
/// A change may affect both the file and this memory. It is prepared before the transaction of the file ends, and
/// applied after it; in between, the two are inconsistent and `settled` is nil.
final class SessionCookieMemory: Sendable {
  /// The cookies in memory, and the number of changes so far.
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

  /// The cookies in memory; nil while a change is in progress.
  var settled: Settled? {
    state.withLock { $0.prepared == nil ? Settled(sites: $0.sites, generation: $0.generation) : nil }
  }

  /// The cookies in memory, for the writer, which is the only one that changes them.
  var sites: [String: [Cookie]] { state.withLock { $0.sites } }

  /// Prepares to replace the cookies of a site.
  func prepare(_ cookies: [Cookie], in site: String) {
    state.withLock { state in
      guard Set(state.sites[site] ?? []) != Set(cookies) else { return }
      var sites = state.sites
      sites[site] = cookies.isEmpty ? nil : cookies
      state.prepared = sites
    }
  }

  /// Prepares to remove all cookies.
  func prepareToRemoveAll() { state.withLock { $0.prepared = [:] } }

  /// Applies or discards the prepared change.
  func finish(_ isKept: Bool) {
    state.withLock { state in
      guard let prepared = state.prepared else { return }
      if isKept { state.sites = prepared }
      state.prepared = nil
      state.generation += 1
    }
  }
}
