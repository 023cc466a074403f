import MartletSemantics

/// The cookies in a file, a row each, those of a site side by side.
struct CookieTable {
  private let connection: Connection

  init(_ connection: Connection) { self.connection = connection }

  static let schema = Schema(
    application: 0x4D6C_434B,  // "MlCK"
    steps: [
      """
      CREATE TABLE cookie (
        site TEXT NOT NULL, name TEXT NOT NULL, domain TEXT NOT NULL, host_only INTEGER NOT NULL, path TEXT NOT NULL,
        value TEXT NOT NULL, expires REAL, secure INTEGER NOT NULL, http_only INTEGER NOT NULL,
        same_site TEXT NOT NULL, created REAL NOT NULL, last_accessed REAL NOT NULL,
        PRIMARY KEY (site, name, domain, host_only, path)
      ) WITHOUT ROWID;
      CREATE TABLE total (cookies INTEGER NOT NULL);
      INSERT INTO total VALUES (0);
      CREATE TRIGGER cookie_added AFTER INSERT ON cookie BEGIN UPDATE total SET cookies = cookies + 1; END;
      CREATE TRIGGER cookie_removed AFTER DELETE ON cookie BEGIN UPDATE total SET cookies = cookies - 1; END;
      """
    ],
    settings: "PRAGMA secure_delete = ON;",
    opening: "DELETE FROM cookie WHERE expires <= strftime('%s', 'now') - 978307200;")

  static let dropSessionCookies = "DELETE FROM cookie WHERE expires IS NULL;"

  func cookies(in site: String) throws -> [Cookie] {
    try connection.all("SELECT \(Self.columns) FROM cookie WHERE site = ?", [.text(site)]) { Self.cookie($0) }
  }

  func all() throws -> [String: [Cookie]] {
    let rows = try connection.all("SELECT \(Self.columns), site FROM cookie") { (Self.cookie($0), $0.text(11)) }
    return Dictionary(rows.map { ($1, [$0]) }, uniquingKeysWith: +)
  }

  func count() throws -> Int {
    try connection.first("SELECT cookies FROM total") { Int($0.integer(0)) } ?? 0
  }

  func removeAll() throws { try connection.run("DELETE FROM cookie") }

  /// Writes what differs.
  func replace(_ before: [Cookie], by after: [Cookie], in site: String) throws {
    let (old, new) = (Set(before), Set(after))
    for cookie in old.subtracting(new) {
      try connection.run(
        "DELETE FROM cookie WHERE site = ? AND name = ? AND domain = ? AND host_only = ? AND path = ?",
        [
          .text(site), .text(cookie.name), .text(cookie.domain), .integer(cookie.isHostOnly ? 1 : 0),
          .text(cookie.path),
        ])
    }
    for cookie in new.subtracting(old) {
      try connection.run(
        """
        INSERT INTO cookie (site, \(Self.columns)) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT DO UPDATE SET value = excluded.value, expires = excluded.expires, secure = excluded.secure,
          http_only = excluded.http_only, same_site = excluded.same_site, created = excluded.created,
          last_accessed = excluded.last_accessed
        """,
        [
          .text(site), .text(cookie.name), .text(cookie.domain), .integer(cookie.isHostOnly ? 1 : 0),
          .text(cookie.path), .text(cookie.value), cookie.expires.map(SQLiteValue.date) ?? .null,
          .integer(cookie.isSecure ? 1 : 0), .integer(cookie.isHTTPOnly ? 1 : 0), .text(cookie.sameSite.rawValue),
          .date(cookie.created), .date(cookie.lastAccessed),
        ])
    }
  }

  private static let columns =
    "name, domain, host_only, path, value, expires, secure, http_only, same_site, created, last_accessed"

  private static func cookie(_ row: SQLiteRow) -> Cookie {
    var cookie = Cookie(
      name: row.text(0), value: row.text(4), domain: row.text(1), isHostOnly: row.integer(2) != 0, path: row.text(3),
      expires: row.isNull(5) ? nil : row.date(5), isSecure: row.integer(6) != 0, isHTTPOnly: row.integer(7) != 0,
      sameSite: Cookie.SameSite(rawValue: row.text(8)) ?? .unspecified, created: row.date(9))
    cookie.lastAccessed = row.date(10)
    return cookie
  }
}
