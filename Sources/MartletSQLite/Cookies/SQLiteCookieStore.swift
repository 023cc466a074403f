public import MartletEngine
public import MartletSemantics

/// A ``Martlet/CookieStore`` in a file.
///
/// ```swift
/// configuration.cookies = CookieJar(store: try SQLiteCookieStore(at: folder.appending(path: "cookies.sqlite")))
/// ```
///
/// Any number of processes may use the file at once: each sees the cookies that the others keep, and their changes never
/// mix. A process that is killed leaves the file whole. Only the file's owner may read it. It must lie on a local disk:
/// SQLite shares memory between the processes. A file that is damaged, foreign or of a later version is set aside:
/// ``SetAsideFile``. Expired cookies are dropped when the store is opened.
///
/// Each cookie has a checksum: one of which a byte changed on the disk is gone, and never sent.
///
/// Session cookies are kept in memory, for this store alone, unless ``SessionCookies/persistent`` asks for more.
/// Errors are ``Martlet/HTTPError`` of kind `.file`, which name the file and what to do.
public struct SQLiteCookieStore: CookieStore {
  /// Where cookies without a date of their own are kept.
  public enum SessionCookies: Sendable, Hashable {
    /// In memory, until the store goes. Those that a store left in the file by the other choice are dropped.
    case transient
    /// In the file, like all others: for a program whose session goes on when it is started again.
    case persistent
  }

  private let database: Database
  private let keepsAll: Bool
  /// What is not in the file.
  private let session = SessionCookieMemory()

  /// Opens the store, and makes its file and folder where they are missing. This takes a few milliseconds, and blocks.
  ///
  /// - Parameters:
  ///   - file: a file URL; SQLite keeps two more files beside it, with `-wal` and `-shm` added to its name.
  ///   - sessionCookies: where session cookies are kept; in memory by default.
  ///   - onSetAside: told when a file could not be used and an empty one took its place; by default nobody is.
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

  public func cookies(in site: String) async throws -> [Cookie] {
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

  public func count() async throws -> Int {
    try await read { try $0.count() + $1.values.reduce(0) { $0 + $1.count } }
  }

  public func allCookies() async throws -> [String: [Cookie]] {
    try await read { try $0.all().merging($1, uniquingKeysWith: Self.joined) }
  }

  public func removeAll() async throws {
    try await database.write { [session] connection in
      try CookieTable(connection).removeAll()
      session.prepareToRemoveAll()
    } ended: { [session] isStored in
      session.finish(isStored)
    }
  }

  /// The cookies of the file and of the memory, one of each identity. Another process may have set one with a date that is a
  /// session cookie here: what was set last counts.
  private static func joined(_ stored: [Cookie], _ transient: [Cookie]) -> [Cookie] {
    guard !stored.isEmpty, !transient.isEmpty else { return stored + transient }
    let cookies = Dictionary((stored + transient).map { ($0.identity, $0) }) { one, other in
      one.lastAccessed > other.lastAccessed ? one : other
    }
    return Array(cookies.values)
  }

  /// Reads the file and the memory as they were at one moment.
  private func read<R: Sendable>(
    _ work: @Sendable (CookieTable, _ session: [String: [Cookie]]) throws -> R
  ) async throws -> R {
    if let before = session.settled {
      let result = try await database.read { try work(CookieTable($0), before.sites) }
      if session.settled?.generation == before.generation { return result }
    }
    // A change of both is under way: wait for it, in turn.
    return try await database.readInTurn { [session] in try work(CookieTable($0), session.sites) }
  }
}
