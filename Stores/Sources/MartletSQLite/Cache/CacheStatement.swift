/// All statements of the cache file, and its schema. A test checks the query plan of each: none may scan all entries,
/// except the one that removes them.
///
/// An entry is one row. A body that fits into one chunk is stored in that row. A longer one is split into rows of
/// `chunk`, whose key consists of the number of the body and the index of the chunk: see ``chunkKey(_:_:)``. Bodies
/// without an entry are listed in the table `loose`: they are being written, or have lost their entry, and are deleted
/// when they are due. So one statement adds or removes an entry, and leftovers of a killed process are found. The order
/// of use is stored separately, so that a use writes only a few bytes. The column `is_unpacked` is
/// ``StoredResponse/isDecoded``; it keeps its name, because files have it.
enum CacheStatement: String, CaseIterable {
  case usage = "SELECT entries, bytes FROM state"
  case entries =
    """
    SELECT id, variant, request_time, response_time, is_unpacked, length, head, number,
      CASE WHEN length <= ?3 AND body IS NULL THEN bytes END,
      CASE WHEN length <= ?3 AND body IS NULL THEN bytes_sum END, length
    FROM entry WHERE url = ?1 AND partition = ?2
    """
  case body = "SELECT number, bytes, bytes_sum, length, body FROM entry WHERE id = ?"
  case chunk = "SELECT bytes, sum FROM chunk WHERE place = ?"

  case bodyParts =
    "SELECT place FROM chunk WHERE place >= ? AND place < ? UNION ALL SELECT body FROM loose WHERE body = ?"
  case beginBody = "INSERT INTO loose (body, owner, size, due) VALUES (?, ?, 0, ?)"
  case addChunk = "INSERT INTO chunk (place, bytes, sum) VALUES (?, ?, ?)"
  case growBody = "UPDATE loose SET size = size + ?, due = ? WHERE body = ?"
  case endBody = "DELETE FROM loose WHERE body = ?"
  case abandonBody = "UPDATE loose SET due = 0 WHERE body = ?"

  case add =
    """
    INSERT INTO entry (id, url, partition, variant, request_time, response_time, is_unpacked, length, size, body, head,
      bytes, bytes_sum)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    """
  case sameVariant = "SELECT number, body FROM entry WHERE url = ? AND partition = ? AND variant = ? AND id <> ?"
  case known = "SELECT number, length FROM entry WHERE id = ?"
  case change =
    """
    UPDATE entry SET variant = ?, request_time = ?, response_time = ?, is_unpacked = ?, size = ?, head = ?
    WHERE number = ?
    """
  case postpone = "UPDATE loose SET due = ? WHERE body = ?"

  case turn = "SELECT turn FROM state"
  case use = "UPDATE use SET turn = ? WHERE entry = ?"
  case endTurn = "UPDATE state SET turn = ?"
  case leastUsed =
    "SELECT use.entry, entry.size FROM use JOIN entry ON entry.number = use.entry ORDER BY use.turn LIMIT 32"
  case orphanedBytes = "SELECT total(size) FROM loose WHERE due > ?"
  case dueBytes = "SELECT total(size) FROM loose WHERE due <= ?"
  case endGrace = "UPDATE loose SET due = 0 WHERE due > ? AND due <= ?"
  case due = "SELECT body, owner FROM loose WHERE due <= ? LIMIT ?"
  case deleteChunks =
    """
    DELETE FROM chunk WHERE place IN (SELECT place FROM chunk WHERE place >= ? AND place < ? LIMIT ?)
    """

  case removeNumber = "DELETE FROM entry WHERE number = ?"
  case removeEntry = "DELETE FROM entry WHERE id = ?"
  case removeKey = "DELETE FROM entry WHERE url = ? AND partition = ?"
  case removeQueriesOfKey = "DELETE FROM entry INDEXED BY entry_key WHERE url > ? AND url < ? AND partition = ?"
  case removeURL = "DELETE FROM entry WHERE url = ?"
  case removeQueriesOfURL = "DELETE FROM entry WHERE url > ? AND url < ?"
  case removePartition = "DELETE FROM entry WHERE partition = ?"
  case removeOlder = "DELETE FROM entry WHERE response_time < ?"
  case removeAll = "DELETE FROM entry"

  /// The maximum number of bytes of a chunk. Changing it requires a new schema.
  static let chunkSize = 128 << 10

  /// Returns the key of a chunk: 38 bits for the body, 24 for the index, which allows two tebibytes.
  static func chunkKey(_ body: Int64, _ index: Int64) -> Int64 { body &<< 24 | index }

  /// Returns a number for a new body. It is random, so that readers and writers of a file that was set aside do not
  /// find bodies of the new file.
  static func makeBody() -> Int64 { Int64.random(in: 1..<1 << 38) }

  static let schema = Schema(
    application: 0x4D6C_4341,  // "MlCA"
    steps: [
      """
      CREATE TABLE entry (
        number INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, url TEXT NOT NULL, partition TEXT NOT NULL,
        variant TEXT NOT NULL, request_time REAL NOT NULL, response_time REAL NOT NULL, is_unpacked INTEGER NOT NULL,
        length INTEGER NOT NULL, size INTEGER NOT NULL, body INTEGER, head TEXT NOT NULL, bytes BLOB
      );
      CREATE UNIQUE INDEX entry_key ON entry (url, partition, variant);
      CREATE INDEX entry_partition ON entry (partition);
      CREATE INDEX entry_age ON entry (response_time);
      CREATE TABLE chunk (place INTEGER PRIMARY KEY, bytes BLOB NOT NULL);
      CREATE TABLE loose (body INTEGER PRIMARY KEY, owner BLOB NOT NULL, size INTEGER NOT NULL, due REAL NOT NULL);
      CREATE INDEX loose_due ON loose (due, size);
      CREATE TABLE use (entry INTEGER PRIMARY KEY, turn INTEGER NOT NULL);
      CREATE INDEX use_turn ON use (turn);
      CREATE TABLE state (entries INTEGER NOT NULL, bytes INTEGER NOT NULL, turn INTEGER NOT NULL);
      INSERT INTO state VALUES (0, 0, 0);
      CREATE TRIGGER entry_added AFTER INSERT ON entry BEGIN
        UPDATE state SET entries = entries + 1, bytes = bytes + new.size, turn = turn + 1;
        INSERT INTO use SELECT new.number, turn FROM state;
      END;
      CREATE TRIGGER entry_changed AFTER UPDATE OF size ON entry BEGIN
        UPDATE state SET bytes = bytes + new.size - old.size;
      END;
      CREATE TRIGGER entry_removed AFTER DELETE ON entry BEGIN
        UPDATE state SET entries = entries - 1, bytes = bytes - old.size;
        DELETE FROM use WHERE entry = old.number;
        INSERT INTO loose (body, owner, size, due)
          SELECT old.body, old.id, old.length, 0 WHERE old.body IS NOT NULL;
      END;
      """,
      // Checksums of bodies; checksums of heads are stored with the heads. The totals are stored twice, to detect
      // damage. Older rows have no checksums.
      """
      ALTER TABLE entry ADD COLUMN bytes_sum INTEGER;
      ALTER TABLE chunk ADD COLUMN sum INTEGER;
      INSERT INTO state SELECT * FROM state;
      DROP TRIGGER entry_added;
      CREATE TRIGGER entry_added AFTER INSERT ON entry BEGIN
        UPDATE state SET entries = entries + 1, bytes = bytes + new.size, turn = turn + 1;
        INSERT OR REPLACE INTO use SELECT new.number, max(turn) FROM state;
      END;
      """,
    ],
    layout: "PRAGMA auto_vacuum = INCREMENTAL;",
    // A wrong clock must not keep orphaned chunks forever, and a damaged number must not use up the capacity.
    opening: """
      UPDATE loose SET due = 0 WHERE due > strftime('%s', 'now') - 978307200 + 86400;
      UPDATE loose SET size = (SELECT total(length(bytes)) FROM chunk WHERE place >= body << 24 AND place < (body + 1) << 24)
        WHERE due > strftime('%s', 'now') - 978307200;
      """,
    check: """
      SELECT count(*) = 2 AND min(entries) = max(entries) AND min(bytes) = max(bytes) AND min(turn) = max(turn)
        AND min(entries) = (SELECT count(*) FROM entry) AND min(entries) = (SELECT count(*) FROM use) FROM state
      """)
}
