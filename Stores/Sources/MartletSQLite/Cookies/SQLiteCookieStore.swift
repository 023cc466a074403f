@_spi(Stores) public import MartletEngine
public import MartletSemantics

/// A ``Martlet/CookieStore`` in a SQLite file.
///
/// ```swift
/// configuration.cookies = CookieJar(store: try SQLiteCookieStore(at: folder.appending(path: "cookies.sqlite")))
/// ```
///
/// Several processes can use the file at the same time: each sees the cookies that others store, and changes are
/// atomic. When one of them removes all cookies, or those of a partition, responses that the others have under way
/// store none. A process that is killed does not damage the file. Only the owner of the file can read it. It must be on
/// a local disk, because SQLite shares memory between processes. A file that is damaged, foreign or of a later version
/// is set aside: ``SetAsideFile``. Expired cookies are removed when the store is opened.
///
/// Removed cookies are erased from the files. If another process reads the file in the meantime for longer than a
/// quarter of a second, a copy remains until the next write after it, or until a store opens the file. On a full disk
/// the store can be opened and read; storing a cookie throws an error that names the disk. Removing all cookies needs
/// no space.
///
/// Each cookie has a checksum; a damaged one is treated as missing, and never sent.
///
/// Session cookies are kept in memory, for this store only, unless ``SessionCookies/persistent`` is set. Errors are
/// ``Martlet/HTTPError`` of kind `.file`, with the file and the remedy.
///
/// The store has a copy of all cookies in memory. A read looks whether the file was changed since, which takes a few
/// microseconds, and reads it again only then.
public struct SQLiteCookieStore: CookieStore {
  /// Where session cookies are stored.
  public enum SessionCookies: Sendable, Hashable {
    /// In memory, while the store exists. Session cookies in the file are removed.
    case transient
    /// In the file, like other cookies, for a program that continues its session after a restart.
    case persistent
  }

  private let file: CookieFile

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
    self.file = try CookieFile(at: file, keepsSessionCookies: sessionCookies == .persistent, onSetAside: onSetAside)
  }

  @concurrent public func cookies(in site: String) async throws -> [Cookie] { try file.current()[site] }

  public func update<Result: Sendable>(
    _ site: String, _ change: @escaping @Sendable (inout [Cookie]) -> Result
  ) async throws -> Result {
    try await update(site, in: 0) { cookies, _ in change(&cookies) }
  }

  @concurrent public func count() async throws -> Int { try file.current().count }

  @concurrent public func allCookies() async throws -> [String: [Cookie]] { try file.current().sites }

  public func removeAll() async throws { try await file.write { try $0.removeAll() } }
}

@_spi(Stores) extension SQLiteCookieStore: ImmediateCookieStore {
  public var revision: CookieRevision { (try? file.current())?.revision ?? .unknown }

  public func immediateCookies(in site: String) -> [Cookie] { file.copied(site) }

  public func immediateCookies(in site: String, for host: String) -> [Cookie] { file.copied(site, for: host) }
}

@_spi(Stores) extension SQLiteCookieStore: SharedCookieStore {
  @concurrent public func signOuts(of group: Int) async throws -> SharedSignOuts { try file.signOuts(of: group) }

  public func noteSignOut(of group: Int) async throws { try await file.write { try $0.noteSignOut(of: group) } }

  public func update<Result: Sendable>(
    _ site: String, in group: Int, _ change: @escaping @Sendable (inout [Cookie], SharedSignOuts) -> Result
  ) async throws -> Result {
    try await file.write { try $0.update(site, in: group, change) }
  }
}

// MARK: - For callers that cannot suspend

@_spi(Stores) extension SQLiteCookieStore {
  /// Returns all cookies by site.
  public func blockingCookies() throws(HTTPError) -> CookieSnapshot { try file.current() }

  /// Changes the cookies of a site, with the sign-outs at that moment. It waits at most five seconds for other writes.
  public func blockingUpdate<Result>(
    _ site: String, _ change: (inout [Cookie], SharedSignOuts) -> Result
  ) throws -> Result {
    try file.blockingWrite { try $0.update(site, in: 0, change) }
  }

  /// Returns the sign-outs so far.
  public func blockingSignOuts() throws(HTTPError) -> SharedSignOuts { try file.signOuts(of: 0) }

  /// Removes all cookies.
  public func blockingRemoveAll() throws { try file.blockingWrite { try $0.removeAll() } }
}
