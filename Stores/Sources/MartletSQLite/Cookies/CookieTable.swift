@_spi(Stores) import MartletEngine
import MartletSemantics

/// The table of cookies, one row each, ordered by site.
struct CookieTable {
  private let connection: DatabaseConnection

  init(_ connection: DatabaseConnection) { self.connection = connection }

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
      """,
      // A checksum of each cookie. Older rows have none, and neither do rows written by a process of the previous
      // version.
      """
      ALTER TABLE cookie ADD COLUMN sum INTEGER;
      CREATE TRIGGER cookie_changed
        AFTER UPDATE OF value, expires, secure, http_only, same_site, created, last_accessed ON cookie
        WHEN new.sum IS old.sum
      BEGIN
        UPDATE cookie SET sum = NULL WHERE site = new.site AND name = new.name AND domain = new.domain
          AND host_only = new.host_only AND path = new.path;
      END;
      """,
      // The sign-outs: a random number for all cookies (-1), and one for each group of partitions that had one.
      """
      CREATE TABLE sign_out (part INTEGER PRIMARY KEY, mark INTEGER NOT NULL);
      INSERT INTO sign_out VALUES (-1, random());
      """,
    ],
    opening: """
      DELETE FROM cookie WHERE expires <= strftime('%s', 'now') - 978307200;
      DELETE FROM total;
      INSERT INTO total SELECT count(*) FROM cookie;
      """,
    repair: { try CookieTable($0).repairRows() })

  static let dropSessionCookies = "DELETE FROM cookie WHERE expires IS NULL;"

  func cookies(in site: String) throws -> [Cookie] {
    try connection.all("SELECT \(Self.columns) FROM cookie WHERE site = ?", [.text(site)]) { Self.cookie($0, in: site) }
      .compactMap { $0 }
  }

  func all() throws -> [String: [Cookie]] { Self.sites(try rows()) }

  /// Rebuilds the table from its intact cookies if it contains a damaged one, which may be at a wrong position and hide
  /// others. Also rebuilds it if its pages are damaged, so that a new row could overwrite others. A damaged row is not
  /// deleted: the length in its page may be wrong.
  ///
  /// - Returns: whether the table was rebuilt.
  /// - Throws: ``SQLiteFailure/inconsistent`` if intact cookies are out of order.
  func repairRows() throws -> Bool {
    let rows = try rows()
    if try rows.contains(where: { $0.cookie == nil }) || !connection.isConsistent() {
      try connection.script(
        "DROP TABLE cookie; DROP TABLE total; DROP TABLE sign_out;" + Self.schema.steps.joined(separator: "\n"))
      for (site, cookies) in Self.sites(rows) { try replace([], by: cookies, in: site) }
      return true
    }
    let keys = rows.map(Self.key)
    let isInOrder = zip(keys, keys.dropFirst()).allSatisfy { one, next in
      one.lexicographicallyPrecedes(next) { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }
    guard isInOrder else { throw SQLiteFailure.inconsistent }
    return false
  }

  private typealias Row = (site: String, cookie: Cookie?)

  private func rows() throws -> [Row] {
    try connection.all("SELECT \(Self.columns), site FROM cookie") { row in
      let isText = row.isText(12)
      let site = row.text(12)
      return (site: site, cookie: isText ? Self.cookie(row, in: site) : nil)
    }
  }

  /// Returns the columns of the primary key, which determine the order of the rows.
  private static func key(of row: Row) -> [String] {
    guard let cookie = row.cookie else { return [row.site] }
    return [row.site, cookie.name, cookie.domain, cookie.isHostOnly ? "1" : "0", cookie.path]
  }

  private static func sites(_ rows: [Row]) -> [String: [Cookie]] {
    Dictionary(grouping: rows, by: \.site).mapValues { $0.compactMap(\.cookie) }.filter { !$0.value.isEmpty }
  }

  func count() throws -> Int {
    try connection.first("SELECT cookies FROM total") { Int($0.integer(0)) } ?? 0
  }

  /// Removes all cookies, and records the sign-out.
  func removeAll() throws {
    try connection.run("DELETE FROM cookie")
    try connection.run("DELETE FROM sign_out")
    try noteSignOut(of: Self.allParts)
    connection.eraseAfterCommit()
  }

  /// Records a sign-out of a group of partitions, or of all cookies.
  func noteSignOut(of part: Int) throws {
    try connection.run("INSERT OR REPLACE INTO sign_out VALUES (?, random())", [.integer(Int64(part))])
  }

  /// The part of the sign-outs of all cookies.
  private static let allParts = -1

  /// Returns the marks of the sign-outs, by part.
  func signOuts() throws -> SignOuts {
    let rows = try connection.all("SELECT part, mark FROM sign_out") { (Int($0.integer(0)), $0.integer(1)) }
    return SignOuts(marks: Dictionary(rows) { $1 })
  }

  /// The marks of the sign-outs, by part.
  struct SignOuts: Sendable {
    fileprivate var marks: [Int: Int64] = [:]

    init() {}

    fileprivate init(marks: [Int: Int64]) { self.marks = marks }

    subscript(group: Int) -> SharedSignOuts {
      SharedSignOuts(ofAll: marks[CookieTable.allParts] ?? 0, ofGroup: marks[group] ?? 0)
    }
  }

  /// Writes the differences.
  func replace(_ before: [Cookie], by after: [Cookie], in site: String) throws {
    // Usually one cookie of many has changed, and comparing two takes less time than hashing one.
    var (before, after) = (before[...], after[...])
    while let first = before.first, first == after.first { (before, after) = (before.dropFirst(), after.dropFirst()) }
    while let last = before.last, last == after.last { (before, after) = (before.dropLast(), after.dropLast()) }
    let (old, new) = (Set(before), Set(after))
    if !Set(before.map(\.identity)).isSubset(of: after.map(\.identity)) { connection.eraseAfterCommit() }
    for cookie in old.subtracting(new) {
      try connection.run(
        "DELETE FROM cookie WHERE site = ? AND name = ? AND domain = ? AND host_only = ? AND path = ?",
        [
          .text(site), .text(cookie.name), .text(cookie.domain), .integer(cookie.isHostOnly ? 1 : 0),
          .text(cookie.path),
        ])
    }
    for cookie in new.subtracting(old) {
      let values = Self.values(of: cookie)
      try connection.run(
        """
        INSERT INTO cookie (site, \(Self.columns)) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT DO UPDATE SET value = excluded.value, expires = excluded.expires, secure = excluded.secure,
          http_only = excluded.http_only, same_site = excluded.same_site, created = excluded.created,
          last_accessed = excluded.last_accessed, sum = excluded.sum
        """, [.text(site)] + values + [.integer(Self.sum(of: values, in: site))])
    }
  }

  private static let columns =
    "name, domain, host_only, path, value, expires, secure, http_only, same_site, created, last_accessed, sum"

  /// Returns the values of a row, in the order of the columns.
  private static func values(of cookie: Cookie) -> [SQLiteValue] {
    [
      .text(cookie.name), .text(cookie.domain), .integer(cookie.isHostOnly ? 1 : 0), .text(cookie.path),
      .text(cookie.value), cookie.expires.map(SQLiteValue.date) ?? .null, .integer(cookie.isSecure ? 1 : 0),
      .integer(cookie.isHTTPOnly ? 1 : 0), .text(cookie.sameSite.rawValue), .date(cookie.created),
      .date(cookie.lastAccessed),
    ]
  }

  private static func sum(of values: [SQLiteValue], in site: String) -> Int64 {
    var sum = Checksum()
    sum.add(.text(site))
    for value in values { sum.add(value) }
    return sum.value
  }

  /// - Returns: nil if the row is damaged. A text that damage has marked as a blob counts as damaged too: SQLite does
  ///   not find it.
  private static func cookie(_ row: SQLiteRow, in site: String) -> Cookie? {
    guard [0, 1, 3, 4, 8].allSatisfy({ row.isText($0) }) else { return nil }
    var cookie = Cookie(
      name: row.text(0), value: row.text(4), domain: row.text(1), isHostOnly: row.integer(2) != 0, path: row.text(3),
      expires: row.isNull(5) ? nil : row.date(5), isSecure: row.integer(6) != 0, isHTTPOnly: row.integer(7) != 0,
      sameSite: Cookie.SameSite(rawValue: row.text(8)) ?? .unspecified, created: row.date(9))
    cookie.lastAccessed = row.date(10)
    return row.isNull(11) || row.integer(11) == sum(of: values(of: cookie), in: site) ? cookie : nil
  }
}
