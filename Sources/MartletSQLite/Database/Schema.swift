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

  /// Why a file is not used.
  struct Refusal: Error {
    let reason: SetAsideFile.Reason
  }

  /// Brings the file behind a connection to this schema.
  ///
  /// - Throws: ``Refusal`` for a file that is none of ours, or of a later version; ``SQLiteFailure``.
  func apply(to connection: Connection) throws {
    if try state(of: connection) == nil { try connection.script(layout) }
    // The journal is written ahead: readers and the writer do not wait for each other, and a process that is killed
    // leaves whole transactions. NORMAL syncs at checkpoints only: then a power failure may take the last transactions
    // along, but never leaves half of one or a damaged file; that is enough for what can be fetched or entered again.
    try connection.script(
      """
      PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA journal_size_limit = 4194304;
      PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;
      """ + settings)
    try connection.transaction {
      let seen = try state(of: connection) ?? 0
      if seen < steps.count {
        for step in steps.dropFirst(seen) { try connection.script(step) }
        try connection.script("PRAGMA application_id = \(application); PRAGMA user_version = \(steps.count)")
      }
      try connection.script(opening)
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
