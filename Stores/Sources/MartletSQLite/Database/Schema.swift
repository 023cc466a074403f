/// The schema of a database file, and the steps that create it.
struct Schema {
  /// The application ID in the header of the file: four letters. A file with another ID is foreign.
  let application: Int32
  /// The migration steps, oldest first. The version of a file is the number of steps that were applied to it. A
  /// released step never changes: a change of the schema is a new step.
  let steps: [String]
  /// Settings of a new file, before its first table is created.
  var layout = ""
  /// Statements to run whenever a store opens the file.
  var opening = ""
  /// A query that returns 1 if the rows are consistent. It runs whenever a store opens the file.
  var check = "SELECT 1"
  /// Repairs damaged rows, before ``opening``. Returns whether there were any.
  var repair: @Sendable (DatabaseConnection) throws -> Bool = { _ in false }

  /// After how many pages the journal is written into the file: 2 MiB.
  private static let journalPages = 512

  /// The reason why a file is not used.
  struct Refusal: Error {
    let reason: SetAsideFile.Reason
  }

  /// Migrates the file of a connection to this schema.
  ///
  /// - Throws: ``Refusal`` if the file is foreign, of a later version, or its tables, indexes and triggers differ from
  ///   what the steps create; ``SQLiteFailure``.
  func apply(to connection: DatabaseConnection) throws {
    if try state(of: connection) == nil { try connection.script(layout) }
    try configure(connection)
    try connection.transaction {
      let applied = try state(of: connection) ?? 0
      guard try isIntact(connection, after: applied) else { throw Refusal(reason: .damaged) }
      if applied < steps.count {
        try run(steps.dropFirst(applied), on: connection)
        try connection.script("PRAGMA application_id = \(application); PRAGMA user_version = \(steps.count)")
      }
      if try repair(connection), try !connection.isConsistent() { throw Refusal(reason: .damaged) }
      try connection.script(opening)
      guard try connection.first(check, read: { $0.integer(0) }) == 1 else { throw Refusal(reason: .damaged) }
    }
  }

  /// Whether the tables of the file are those of this schema. It writes nothing.
  func isCurrent(on connection: DatabaseConnection) throws -> Bool {
    try state(of: connection) == steps.count && isIntact(connection, after: steps.count)
  }

  /// Configures a connection for writing.
  func configure(_ connection: DatabaseConnection) throws(SQLiteFailure) {
    // With a write-ahead log readers and the writer do not wait for each other, and a process that is killed leaves
    // complete transactions only. NORMAL syncs at checkpoints only: a power failure may lose the last transactions, but
    // never leaves a partial one or a damaged file. That is sufficient for data that can be fetched or entered again.
    try connection.script(
      """
      PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA secure_delete = ON;
      PRAGMA wal_autocheckpoint = \(Self.journalPages); PRAGMA journal_size_limit = \(Self.journalPages * 4096);
      PRAGMA temp_store = MEMORY; PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;
      """)
  }

  private func run(_ steps: ArraySlice<String>, on connection: DatabaseConnection) throws(SQLiteFailure) {
    do throws(SQLiteFailure) {
      for step in steps { try connection.script(step) }
    } catch {
      var failure = error
      failure.isOfMigration = true
      throw failure
    }
  }

  /// Whether the file has exactly the tables, indexes and triggers that the steps create, each in its own pages.
  private func isIntact(_ connection: DatabaseConnection, after applied: Int) throws -> Bool {
    let model = try DatabaseConnection()
    for step in steps.prefix(applied) { try model.script(step) }
    guard try Self.objects(of: model) == Self.objects(of: connection) else { return false }
    let distinct = "SELECT count(*) = count(DISTINCT rootpage) FROM sqlite_master WHERE rootpage > 0"
    return try connection.first(distinct) { $0.integer(0) } == 1
  }

  private static func objects(of connection: DatabaseConnection) throws -> [[String]] {
    try connection.all(
      "SELECT type, name, tbl_name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_stat%' ORDER BY name"
    ) { row in
      (0..<4).map { row.text($0) }
    }
  }

  /// Returns the number of steps that were applied to the file; nil if it is new.
  private func state(of connection: DatabaseConnection) throws -> Int? {
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
