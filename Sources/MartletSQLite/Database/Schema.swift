/// What a database file holds, and how it came to.
struct Schema {
  /// What the file says it is for, in its header: four letters. A file that says something else is not ours.
  let application: Int32
  /// What made the tables, oldest first. The file's version is the number of those it has seen; a step that was once
  /// released never changes, and a change of the tables is one more step.
  let steps: [String]
  /// What each connection is told.
  var settings = ""
  /// What the file is told before its first table exists, and never again.
  var layout = ""
  /// What is done whenever a store opens the file.
  var opening = ""
  /// A query whose one value is 1 if the rows of the file fit each other; asked whenever a store opens it.
  var check = "SELECT 1"
  /// What mends rows that were damaged, before ``opening``.
  var mending: @Sendable (Connection) throws -> Void = { _ in }

  /// Why a file is not used.
  struct Refusal: Error {
    let reason: SetAsideFile.Reason
  }

  /// Brings the file behind a connection to this schema.
  ///
  /// - Throws: ``Refusal`` for a file that is none of ours, of a later version, or whose tables, indexes and triggers are
  ///   not those that the steps made; ``SQLiteFailure``.
  func apply(to connection: Connection) throws {
    if try state(of: connection) == nil { try connection.script(layout) }
    try configure(connection)
    try connection.transaction {
      let seen = try state(of: connection) ?? 0
      guard try isIntact(connection, after: seen) else { throw Refusal(reason: .damaged) }
      if seen < steps.count {
        try run(steps.dropFirst(seen), on: connection)
        try connection.script("PRAGMA application_id = \(application); PRAGMA user_version = \(steps.count)")
      }
      try mending(connection)
      try connection.script(opening)
      guard try connection.first(check, read: { $0.integer(0) }) == 1 else { throw Refusal(reason: .damaged) }
    }
  }

  /// Tells a connection that writes what it has to know.
  func configure(_ connection: Connection) throws(SQLiteFailure) {
    // The journal is written ahead: readers and the writer do not wait for each other, and a process that is killed
    // leaves whole transactions. NORMAL syncs at checkpoints only: then a power failure may take the last transactions
    // along, but never leaves half of one or a damaged file; that is enough for what can be fetched or entered again.
    try connection.script(
      """
      PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA journal_size_limit = 4194304;
      PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;
      """ + settings)
  }

  private func run(_ steps: ArraySlice<String>, on connection: Connection) throws(SQLiteFailure) {
    do throws(SQLiteFailure) {
      for step in steps { try connection.script(step) }
    } catch {
      var failure = error
      failure.isOfMigration = true
      throw failure
    }
  }

  /// Whether the file has the tables, indexes and triggers that so many steps make, each in pages of its own.
  private func isIntact(_ connection: Connection, after seen: Int) throws -> Bool {
    let model = try Connection()
    for step in steps.prefix(seen) { try model.script(step) }
    guard try Self.objects(of: model) == Self.objects(of: connection) else { return false }
    let distinct = "SELECT count(*) = count(DISTINCT rootpage) FROM sqlite_master WHERE rootpage > 0"
    return try connection.first(distinct) { $0.integer(0) } == 1
  }

  private static func objects(of connection: Connection) throws -> [[String]] {
    try connection.all(
      "SELECT type, name, tbl_name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_stat%' ORDER BY name"
    ) { row in
      (0..<4).map { row.text($0) }
    }
  }

  /// How many of the steps the file has seen, nil if it is a new one.
  private func state(of connection: Connection) throws -> Int? {
    let application = try connection.first("PRAGMA application_id") { $0.integer(0) }
    let version = try connection.first("PRAGMA user_version") { $0.integer(0) } ?? 0
    let tables = try connection.first("SELECT count(*) FROM sqlite_master") { $0.integer(0) }
    if application == 0, version == 0, tables == 0 { return nil }
    guard application == Int64(self.application), version >= 0 else { throw Refusal(reason: .foreign) }
    guard version <= Int64(steps.count) else { throw Refusal(reason: .newer) }
    guard tables != 0 || version == 0 else { throw Refusal(reason: .damaged) }
    return Int(version)
  }
}
