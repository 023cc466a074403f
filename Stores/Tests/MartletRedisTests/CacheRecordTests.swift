import MartletEngine
import MartletSemantics
import Testing

@testable import MartletRedis

@Suite struct CacheRecordTests {
  private let plain = ValueForm(seal: nil)

  private var record: CacheRecord {
    var fields: HTTPFields = ["Content-Type": "text/plain", "X-Empty": "", "x-colon": "a: b:c"]
    fields.append("é", for: "X-Many")
    fields.append("b, c", for: "X-Many")
    let response = StoredResponse(
      head: ResponseHead(status: 404, fields: fields, version: .http2), variant: "abc",
      requestTime: Date(timeIntervalSinceReferenceDate: 1_234.5),
      responseTime: Date(timeIntervalSinceReferenceDate: -0.1),
      isDecoded: true)
    let key = CacheKey(partition: "me", normalizedURL: "https://example.com/ä")
    return CacheRecord(entry: CacheEntry(key: key, response: response, length: 1 << 40), chunks: 3)
  }

  @Test func aRecordIsReadAsItWasWritten() throws {
    let record = record
    #expect(CacheRecord.read(try record.write(plain), plain) == record)
    let names = CacheRecord.read(try record.write(plain), plain)?.entry.response.head.fields.map { $0.name.rawName }
    #expect(names == record.entry.response.head.fields.map { $0.name.rawName })
  }

  @Test func theBeginningIsWhereScriptsReadIt() throws {
    let record = record
    let bytes = try record.write(plain)
    var id = ByteWriter()
    id.add(record.entry.id)
    #expect(bytes.first == CacheRecord.version)
    #expect(bytes.dropFirst().prefix(16) == id.bytes)
    #expect(Array(bytes[25..<29]) == [0, 0, 0, 3])
    #expect(Array(bytes[29..<37]) == [0, 0, 1, 0, 0, 0, 0, 0])
  }

  @Test func aRecordOfAnotherVersionIsMissing() throws {
    var bytes = try record.write(plain)
    bytes[0] = CacheRecord.version + 1
    #expect(CacheRecord.read(bytes, plain) == nil)
  }

  @Test func whatIsCutOffIsMissing() throws {
    let record = record
    let bytes = try record.write(plain)
    var count = 0
    for length in 0..<bytes.count where CacheRecord.read(bytes.prefix(length), plain) == record { count += 1 }
    #expect(count == 0)
  }

  @Test func anythingElseIsNoRecordAndNoCrash() throws {
    var bytes = try record.write(plain)
    for index in bytes.indices {
      let before = bytes[index]
      for value in [0, 1, 127, 255] as [UInt8] {
        bytes[index] = value
        _ = CacheRecord.read(bytes, plain)
      }
      bytes[index] = before
    }
    #expect(CacheRecord.read(Data(repeating: 255, count: 100), plain) == nil)
  }

  @Test func whatIsSealedIsReadWithItsKeyOnly() throws {
    let record = record
    let form = ValueForm(seal: try RedisSeal(key: Data(repeating: 1, count: 32)))
    let other = ValueForm(seal: try RedisSeal(key: Data(repeating: 2, count: 32)))
    let sealed = try record.write(form)
    #expect(CacheRecord.read(sealed, form) == record)
    #expect(CacheRecord.read(sealed, other) == nil)
    #expect(CacheRecord.read(sealed, plain) == nil)
    #expect(CacheRecord.read(try record.write(plain), form) == nil, "a value that anybody could have written")
    #expect(!sealed.contains(subsequence: Data("example.com".utf8)))
  }

  @Test func nothingOfASealedRecordCanBeChanged() throws {
    let form = ValueForm(seal: try RedisSeal(key: Data(repeating: 1, count: 32)))
    let sealed = try record.write(form)
    for index in sealed.indices {
      var changed = sealed
      changed[index] ^= 1
      #expect(CacheRecord.read(changed, form) == nil, "byte \(index)")
    }
  }

  @Test func nothingOfAnUnsealedRecordCanBeDamaged() throws {
    let bytes = try record.write(plain)
    for index in bytes.indices {
      for bit in 0..<8 {
        var damaged = bytes
        damaged[index] ^= 1 << UInt8(bit)
        #expect(CacheRecord.read(damaged, plain) == nil, "bit \(bit) of byte \(index)")
      }
      #expect(CacheRecord.read(bytes.prefix(index), plain) == nil, "cut off at \(index)")
    }
  }

  @Test func aDamagedBodyIsMissing() throws {
    let (body, place) = (Data((0..<100).map { UInt8($0) }), RedisCacheStore.place(of: record.entry.id, 0))
    let stored = try plain.write(body, at: place)
    #expect(plain.read(stored, at: place) == body)
    for index in stored.indices {
      var damaged = stored
      damaged[index] ^= 4
      #expect(plain.read(damaged, at: place) == nil, "byte \(index)")
      #expect(plain.read(stored.prefix(index), at: place) == nil, "cut off at \(index)")
    }
    #expect(plain.read(stored, at: RedisCacheStore.place(of: record.entry.id, 1)) == nil, "another chunk")
    #expect(plain.read(stored + [0], at: place) == nil)
    #expect(try plain.read(plain.write(Data(), at: place), at: place) == Data())
  }

  @Test func aValueWithoutAChecksumIsMissing() {
    #expect(plain.read(Data([1]) + Data("body".utf8), at: Data()) == nil)
  }

  @Test func aSealedValueIsBoundToItsPlace() throws {
    let form = ValueForm(seal: try RedisSeal(key: Data(repeating: 1, count: 32)))
    let sealed = try form.write(Data("body".utf8), at: Data("here".utf8))
    #expect(form.read(sealed, at: Data("here".utf8)) == Data("body".utf8))
    #expect(form.read(sealed, at: Data("there".utf8)) == nil)
  }

  @Test(arguments: [0, 16, 31, 33]) func aSealNeedsAKeyOf32Bytes(count: Int) {
    let error = #expect(throws: RedisError.self) { try RedisSeal(key: Data(repeating: 1, count: count)) }
    #expect(error?.message.contains("32") == true)
  }

  @Test func allKeysOfAResponseAreInOneSlot() {
    let names = CacheNames(prefix: "p:")
    let (one, two) = (
      CacheKey(partition: "", normalizedURL: "https://a/"), CacheKey(partition: "me", normalizedURL: "https://a/")
    )
    let tags = [names.key(one), names.chunks(of: one), names.key(two), names.chunks(of: two)].map {
      $0.split(separator: "{")[1].split(separator: "}")[0]
    }
    #expect(Set(tags).count == 1)
    #expect(names.key(one) != names.key(two))
    #expect(names.key(one) != names.key(CacheKey(partition: "", normalizedURL: "https://b/")))
    #expect(names.key(one).hasPrefix("p:c:") && names.chunks(of: one).hasPrefix("p:b:"))
  }
}

extension Data {
  fileprivate func contains(subsequence: Data) -> Bool {
    indices.contains { self[$0...].starts(with: subsequence) }
  }
}
