/// Counts the TLS records without application data since the last one with some: tickets, KeyUpdate, alerts, empty
/// records (RFC 8446 §4.6). A server may send them without end. Each costs more work than its bytes suggest, and a
/// KeyUpdate requires a reply.
///
/// An honest server sends few: two tickets after the handshake, and a KeyUpdate after some million records. Servers
/// with a setting for tickets send at most ten. A ticket has 0.2 to 1.6 KiB.
struct RecordCount {
  /// The maximum number of records, and their bytes, without application data.
  static let recordLimit = 32
  static let byteLimit = 16 << 10

  private static let headerSize = 5
  /// The header that is being read (RFC 8446 §5.1): type, version, length.
  private var header: (count: Int, length: Int) = (0, 0)
  /// How many bytes of the record are missing.
  private var missing = 0
  private var records = 0
  private var bytes = 0
  /// The bytes of the record that is being read, which may contain application data.
  private var size = 0

  /// Whether there were too many. The record that is being read does not count.
  var isExceeded: Bool { records > Self.recordLimit + 1 || bytes > Self.byteLimit }

  /// Whether one record has passed, to its end, and nothing of another.
  var isAtEndOfFirst: Bool { records == 1 && missing == 0 && header.count == 0 }

  /// Starts again after application data.
  mutating func reset() { (records, bytes, size) = (0, 0, 0) }

  /// Counts bytes as they are decrypted.
  mutating func add(_ piece: UnsafeRawBufferPointer) {
    var index = 0
    while index < piece.count {
      if missing > 0 {
        let count = min(missing, piece.count - index)
        missing -= count
        index += count
        continue
      }
      if header.count >= 3 { header.length = header.length << 8 | Int(piece[index]) }
      header.count += 1
      index += 1
      guard header.count == Self.headerSize else { continue }
      records += 1
      bytes += size
      size = Self.headerSize + header.length
      missing = header.length
      header = (0, 0)
    }
  }
}
