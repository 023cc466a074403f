import MartletEngine
@_spi(Toolkit) import MartletSemantics

/// The form in which a head is stored: values only, never code.
///
/// A fixed beginning, which scripts read too, and the rest, which may be sealed:
///
/// | bytes | content |
/// | --- | --- |
/// | 1 | the version; a record of another version counts as missing |
/// | 16 | the identifier of the entry |
/// | 8 | when the response was received or last validated, in seconds since 2001 (big-endian IEEE 754) |
/// | 4 | the number of chunks; 0 if the body is stored with the head |
/// | 8 | the length of the body |
/// | rest | key, variant, times and head |
struct CacheRecord: Sendable, Hashable {
  var entry: CacheEntry
  /// The number of chunks of the body; 0 if it is stored with the head.
  var chunks: Int

  static let version: UInt8 = 1
  /// The length of the fixed beginning.
  static let prefixLength = 37
  /// Stands in place of a field's name before a reason phrase that is not the registered one. Former versions read a
  /// record with it as missing.
  private static let reasonName = ":reason"

  func write(_ form: ValueForm) throws(RedisError) -> Data {
    let response = entry.response
    var start = ByteWriter()
    start.add(Self.version)
    start.add(entry.id)
    start.add(response.responseTime)
    start.add(UInt32(clamping: chunks))
    start.add(UInt64(clamping: entry.length ?? 0))
    var rest = ByteWriter()
    rest.add(entry.key.url)
    rest.add(entry.key.partition)
    rest.add(response.variant)
    rest.add(response.requestTime)
    rest.add(response.isDecoded ? 1 : 0 as UInt8)
    rest.add(response.head.version?.rawValue ?? "")
    rest.add(UInt32(clamping: response.head.status.code))
    for (name, value) in response.head.fields {
      rest.add(name.rawName)
      rest.add(value)
    }
    if response.head.reason != response.head.status.reasonPhrase {
      rest.add(Self.reasonName)
      rest.add(response.head.reason)
    }
    return start.bytes + (try form.write(rest.bytes, at: start.bytes))
  }

  /// Returns nil if the bytes are not a record of this version, or are sealed with another key.
  static func read(_ bytes: Data, _ form: ValueForm) -> CacheRecord? {
    var start = ByteReader(bytes)
    guard start.byte() == version, let id = start.identifier(), let responseTime = start.date(),
      let chunks = start.integer32(), let length = start.integer64(), let length = Int64(exactly: length),
      let content = form.read(bytes.dropFirst(prefixLength), at: Data(bytes.prefix(prefixLength)))
    else { return nil }
    var rest = ByteReader(content)
    guard let url = rest.text(), let partition = rest.text(), let variant = rest.text(),
      let requestTime = rest.date(), let isDecoded = rest.byte(), let version = rest.text(),
      let status = rest.integer32()
    else { return nil }
    var head = ResponseHead(
      status: HTTPStatus(Int(status)), version: version.isEmpty ? nil : HTTPVersion(rawValue: version))
    while !rest.isAtEnd {
      guard let name = rest.text(), let value = rest.text() else { return nil }
      if name == reasonName {
        head.reason = value
      } else {
        guard let name = try? FieldName(name) else { return nil }
        head.fields.appendReceived(name, value)
      }
    }
    let response = StoredResponse(
      head: head, variant: variant, requestTime: requestTime, responseTime: responseTime, isDecoded: isDecoded == 1)
    let key = CacheKey(partition: partition, normalizedURL: url)
    return CacheRecord(entry: CacheEntry(id: id, key: key, response: response, length: length), chunks: Int(chunks))
  }
}

/// Writes numbers in big-endian order, and texts after their length.
struct ByteWriter {
  private(set) var bytes = Data()

  mutating func add(_ byte: UInt8) { bytes.append(byte) }

  mutating func add(_ number: UInt32) { addBytes(of: number) }

  mutating func add(_ number: UInt64) { addBytes(of: number) }

  mutating func add(_ date: Date) { addBytes(of: date.timeIntervalSinceReferenceDate.bitPattern) }

  mutating func add(_ id: UUID) { withUnsafeBytes(of: id.uuid) { bytes.append(contentsOf: $0) } }

  mutating func add(_ text: String) {
    add(UInt32(clamping: text.utf8.count))
    bytes.append(contentsOf: text.utf8)
  }

  private mutating func addBytes(of number: some FixedWidthInteger) {
    withUnsafeBytes(of: number.bigEndian) { bytes.append(contentsOf: $0) }
  }
}

/// Reads what ``ByteWriter`` has written; every function returns nil if there are too few bytes.
struct ByteReader {
  private(set) var rest: Data

  init(_ bytes: Data) { rest = bytes }

  var isAtEnd: Bool { rest.isEmpty }

  mutating func byte() -> UInt8? { rest.popFirst() }

  mutating func integer32() -> UInt32? { take(4).map { $0.reduce(0) { $0 << 8 | UInt32($1) } } }

  mutating func integer64() -> UInt64? { take(8).map { $0.reduce(0) { $0 << 8 | UInt64($1) } } }

  mutating func date() -> Date? {
    guard let bits = integer64() else { return nil }
    let seconds = Double(bitPattern: bits)
    return seconds.isFinite ? Date(timeIntervalSinceReferenceDate: seconds) : nil
  }

  mutating func identifier() -> UUID? {
    guard let bytes = take(16) else { return nil }
    var id: uuid_t = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
    withUnsafeMutableBytes(of: &id) { $0.copyBytes(from: bytes) }
    return UUID(uuid: id)
  }

  mutating func text() -> String? {
    guard let count = integer32(), let bytes = take(Int(count)) else { return nil }
    return String(decoding: bytes, as: UTF8.self)
  }

  private mutating func take(_ count: Int) -> Data? {
    guard rest.count >= count else { return nil }
    defer { rest = rest.dropFirst(count) }
    return rest.prefix(count)
  }
}
