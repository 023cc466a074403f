#if os(Linux)
@testable import MartletEngine
@testable import MartletRedis
@testable import MartletSQLite
@testable import MartletSemantics

/// The records of stores, which an attacker with access to a server or a file may change. A record that can be read is
/// the same after it was written and read again. No record is opened that was sealed without the key.
enum StoredRecords {
  static func run(_ input: inout Input) throws {
    let data = Data(input.bytes)
    try checkRecord(data)
    try checkSealed(data)
    checkHead(input.bytes)
    try checkCoding(Cookie.self, data)
    try checkCoding(AccessToken.self, data)
  }

  /// The checksum of the record is that of its content: a foreign record is refused.
  private static func checkRecord(_ data: Data) throws {
    let form = ValueForm(seal: nil)
    check(CacheRecord.read(data, form) == nil, "a record without its checksum is read")
    let (start, rest) = (Data(data.prefix(CacheRecord.prefixLength)), Data(data.dropFirst(CacheRecord.prefixLength)))
    guard let record = CacheRecord.read(start + (try form.write(rest, at: start)), form) else { return }
    let again = CacheRecord.read(try record.write(form), form)
    check(again == record, "\(record) became \(again.map { "\($0)" } ?? "nothing")")
  }

  private static func checkSealed(_ data: Data) throws {
    let seal = try RedisSeal(key: Data(repeating: 7, count: 32))
    check(seal.open(data, at: Data()) == nil, "a forged value is opened")
    check(CacheRecord.read(data, ValueForm(seal: seal)) == nil, "a forged record is read")
  }

  private static func checkHead(_ bytes: [UInt8]) {
    let head = bytes.withUnsafeBufferPointer { HeadText.read($0) }
    _ = bytes.withUnsafeBufferPointer { HeadText.readWritten($0) }
    guard let head else { return }
    var text = HeadText.write(head)
    let again = text.withUTF8 { (HeadText.read($0), HeadText.readWritten($0)) }
    check(again.0 == head, "\(head) became \(again)")
    check(again.1?.status == head.status && again.1?.fields.count == head.fields.count, "\(head) became \(again)")
  }

  private static func checkCoding<Value: Codable & Equatable>(_ type: Value.Type, _ data: Data) throws {
    guard let value = try? JSONDecoder().decode(type, from: data) else { return }
    let again = try JSONDecoder().decode(type, from: JSONEncoder().encode(value))
    check(again == value, "\(value) became \(again)")
  }
}
#endif
