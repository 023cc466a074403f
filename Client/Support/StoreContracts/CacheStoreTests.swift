import MartletEngine
import MartletSemantics
import MartletTesting
import Testing

/// The contract of cache stores. The stores, `all`, are those of the target that the suite is compiled in.
@Suite(.timeLimit(.minutes(5)))
struct CacheStoreTests {
  typealias Making = StoreFactory<any CacheStore>

  /// Lengths of bodies that are stored in one piece, in exactly one chunk, and in several chunks.
  static let sizes = [0, 1, 1_000, 131_071, 131_072, 131_073, 262_144, 300_000]

  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  @Test(arguments: all) func anEmptyStoreHasNothing(_ making: Making) async throws {
    let store = try making.store(folder)
    #expect(try await store.entries(for: key("/")) == [])
    #expect(try await store.open(UUID(), range: 0..<1) == nil)
    #expect(try await store.usage() == HTTPCache.Usage(entries: 0, bytes: 0))
    try await store.update(entry("/"))
    try await store.remove(.all)
    #expect(try await store.usage() == HTTPCache.Usage(entries: 0, bytes: 0))
  }

  @Test(arguments: all, sizes) func committedEntriesAreFoundComplete(_ making: Making, size: Int) async throws {
    let store = try making.store(folder)
    let entry = entry("/", length: Int64(size))
    let body = bytes(size)
    try await store.save(entry, body)

    #expect(try await store.entries(for: entry.key) == [entry])
    #expect(try await store.read(entry) == body)
    #expect(try await store.usage().entries == 1)
    #expect(try await store.usage().bytes >= Int64(size))
  }

  @Test(arguments: all) func theReportedLengthIsWhatWasWritten(_ making: Making) async throws {
    let store = try making.store(folder)
    for (announced, size) in [(nil, 10), (5, 200_000), (400_000, 3)] as [(Int64?, Int)] {
      try await store.save(entry("/", length: announced), bytes(size))
      #expect(try await store.entries(for: key("/")).map(\.length) == [Int64(size)])
    }
  }

  @Test(arguments: all) func headsAreKeptExactly(_ making: Making) async throws {
    let store = try making.store(folder)
    var fields: HTTPFields = ["Content-Type": "text/html; charset=\"utf-8\"", "X-Empty": "", "x-colon": "a: b:c"]
    for value in ["a", "b, c", "d\te", "é"] { fields.append(value, for: "X-Many") }
    for version in [nil, .http1_1, .http2] as [HTTPVersion?] {
      var entry = entry("/", variant: version?.rawValue ?? "")
      entry.response.head = ResponseHead(status: 404, fields: fields, version: version)
      entry.response.isDecoded = version == nil
      entry.response.requestTime = Date(timeIntervalSince1970: 1_234_567_890.123_456)
      entry.response.responseTime = Date(timeIntervalSinceReferenceDate: -0.1)
      entry.length = 1
      try await store.save(entry, bytes(1))
      let found = try await store.entries(for: entry.key).first { $0.id == entry.id }
      #expect(found == entry)
      #expect(found?.response.head.fields.map { $0.name.rawName } == fields.map { $0.name.rawName })
    }
  }

  @Test(arguments: all) func reasonPhrasesAreKept(_ making: Making) async throws {
    let store = try making.store(folder)
    for reason in ["Not Found", "", "Nothing Here ", "Niente è qui", "X: 1"] {
      for fields in [[:], ["X-Field": "café"]] as [HTTPFields] {
        var entry = entry("/", variant: reason, length: 1)
        entry.response.head = ResponseHead(status: 404, fields: fields, version: .http1_1)
        entry.response.head.reason = reason
        try await store.save(entry, bytes(1))
        let found = try await store.entries(for: entry.key).first { $0.id == entry.id }
        #expect(found?.response.head == entry.response.head)
        #expect(found?.response.head.reason == reason)
      }
    }
  }

  @Test(arguments: all) func variantsAreStoredSideBySide(_ making: Making) async throws {
    let store = try making.store(folder)
    let entries = ["", "gzip", "br"].map { entry("/", variant: $0, length: 1) }
    for (number, entry) in entries.enumerated() { try await store.save(entry, bytes(1, UInt8(number))) }
    #expect(Set(try await store.entries(for: key("/"))) == Set(entries))
    #expect(try await store.read(entries[2]) == bytes(1, 2))
  }

  @Test(arguments: all) func committingReplacesTheSameVariant(_ making: Making) async throws {
    let store = try making.store(folder)
    let (old, new) = (entry("/", variant: "a", length: 200_000), entry("/", variant: "a", length: 3))
    try await store.save(old, bytes(200_000))
    try await store.save(new, bytes(3))
    #expect(try await store.entries(for: key("/")) == [new])
    #expect(try await store.open(old.id, range: 0..<1) == nil)
    #expect(try await store.usage().entries == 1)
    #expect(try await store.usage().bytes < 10_000)
  }

  @Test(arguments: all) func partitionsAreSeparate(_ making: Making) async throws {
    let store = try making.store(folder)
    let (mine, yours) = (entry("/", partition: "me", length: 1), entry("/", partition: "you", length: 1))
    try await store.save(mine, bytes(1, 1))
    try await store.save(yours, bytes(1, 2))
    #expect(try await store.entries(for: mine.key) == [mine])
    #expect(try await store.entries(for: key("/")) == [])
    #expect(try await store.read(yours) == bytes(1, 2))
  }

  @Test(arguments: all, [1_000, 300_000]) func nothingIsFoundBeforeTheCommit(_ making: Making, size: Int) async throws {
    let store = try making.store(folder)
    let entry = entry("/")
    let writer = try #require(try await store.begin(entry))
    try await writer.append(bytes(size))
    #expect(try await store.entries(for: entry.key) == [])
    #expect(try await store.open(entry.id, range: 0..<1) == nil)
    try await writer.commit()
    #expect(try await store.entries(for: entry.key).map(\.id) == [entry.id])
  }

  @Test(arguments: all, [1_000, 300_000]) func anAbortedEntryIsNotFound(_ making: Making, size: Int) async throws {
    let store = try making.store(folder)
    let old = entry("/", length: 1)
    try await store.save(old, bytes(1))
    let writer = try #require(try await store.begin(entry("/")))
    try await writer.append(bytes(size))
    await writer.abort()
    await writer.abort()
    await #expect(throws: (any Error).self) { try await writer.commit() }
    await #expect(throws: (any Error).self) { try await writer.append(bytes(1)) }
    #expect(try await store.entries(for: key("/")) == [old])
    #expect(try await store.usage().entries == 1)
  }

  @Test(arguments: all) func abortingAfterTheCommitDoesNothing(_ making: Making) async throws {
    let store = try making.store(folder)
    let entry = entry("/", length: 200_000)
    let writer = try #require(try await store.begin(entry))
    try await writer.append(bytes(200_000))
    try await writer.commit()
    await writer.abort()
    #expect(try await store.read(entry) == bytes(200_000))
  }

  @Test(
    arguments: all, [0..<0, 0..<1, 5..<6, 131_071..<131_073, 100_000..<300_000, 131_072..<262_144, 299_999..<300_000])
  func aRangeIsRead(_ making: Making, range: Range<Int64>) async throws {
    let store = try making.store(folder)
    let entry = entry("/", length: 300_000)
    try await store.save(entry, bytes(300_000))
    let source = try #require(try await store.open(entry.id, range: range))
    #expect(try await source.all() == bytes(300_000)[Int(range.lowerBound)..<Int(range.upperBound)])
  }

  @Test(arguments: all, [1_000, 400_000]) func anOpenedBodyOutlivesItsEntry(_ making: Making, size: Int) async throws {
    let store = try making.store(folder)
    let selections: [(CacheEntry) -> CacheSelection] = [{ .entry($0.id) }, { .key($0.key) }, { _ in .all }]
    for selection in selections {
      let entry = entry("/", length: Int64(size))
      try await store.save(entry, bytes(size))
      let source = try #require(try await store.open(entry.id, range: 0..<Int64(size)))
      let first = try #require(try await source.next())
      try await store.remove(selection(entry))
      #expect(try await store.open(entry.id, range: 0..<1) == nil)
      #expect(try await first + source.all() == bytes(size))
    }
  }

  @Test(arguments: all) func aReplacedBodyCanBeReadToItsEnd(_ making: Making) async throws {
    let store = try making.store(folder)
    let old = entry("/", length: 400_000)
    try await store.save(old, bytes(400_000))
    let source = try #require(try await store.open(old.id, range: 0..<400_000))
    try await store.save(entry("/", length: 2), bytes(2))
    #expect(try await source.all() == bytes(400_000))
  }

  @Test(arguments: all) func anUpdateReplacesTheResponse(_ making: Making) async throws {
    let store = try making.store(folder)
    var entry = entry("/", length: 200_000)
    try await store.save(entry, bytes(200_000))
    entry.response.head.fields["Age"] = "10"
    entry.response.variant = "x"
    entry.response.responseTime = .distantFuture
    try await store.update(entry)
    #expect(try await store.entries(for: entry.key) == [entry])
    #expect(try await store.read(entry) == bytes(200_000))
  }

  @Test(arguments: all) func anUpdateToTheVariantOfAnotherReplacesIt(_ making: Making) async throws {
    let store = try making.store(folder)
    var (one, other) = (entry("/", variant: "1", length: 1), entry("/", variant: "2", length: 1))
    for entry in [one, other] { try await store.save(entry, bytes(1)) }
    one.response.variant = "2"
    try await store.update(one)
    #expect(try await store.entries(for: one.key) == [one])

    // Removed entries are not added again, and others are not removed.
    other.response.variant = "2"
    try await store.update(other)
    #expect(try await store.entries(for: one.key) == [one])
    #expect(try await store.usage().entries == 1)
  }

  @Test(arguments: all) func selectionsRemoveTheirEntries(_ making: Making) async throws {
    let url = key("/a").url
    let table: [(CacheSelection, left: Set<String>)] = [
      (.key(key("/a")), ["/a me", "/b", "/b me", "/old"]),
      (.key(key("/a", partition: "me")), ["/a", "/b", "/b me", "/old"]),
      (.url(url), ["/b", "/b me", "/old"]),
      (.partition("me"), ["/a", "/b", "/old"]),
      (.partition(""), ["/a me", "/b me"]),
      (.olderThan(Date(timeIntervalSince1970: 1_000)), ["/a", "/a me", "/b", "/b me"]),
      (.entry(UUID()), ["/a", "/a me", "/b", "/b me", "/old"]),
      (.all, []),
    ]
    let store = try making.store(folder)
    for (selection, left) in table {
      try await store.remove(.all)
      var entries: [CacheEntry] = []
      for path in ["/a", "/b"] {
        for partition in ["", "me"] { entries.append(entry(path, partition: partition, length: 1)) }
      }
      entries.append(entry("/old", length: 1, time: Date(timeIntervalSince1970: 999)))
      for entry in entries { try await store.save(entry, bytes(1)) }

      try await store.remove(selection)

      var found: Set<String> = []
      for entry in entries where try await !store.entries(for: entry.key).isEmpty {
        found.insert(entry.key.url.dropFirst(19) + (entry.key.partition.isEmpty ? "" : " " + entry.key.partition))
      }
      #expect(found == left, "\(selection)")
      #expect(try await store.usage().entries == left.count, "\(selection)")
    }
  }

  /// RFC 10008 §2.7, RFC 9111 §4.4: what removes the responses of a target removes those of its queries.
  @Test(arguments: all) func queriesAreApartFromTheirTargetAndRemovedWithIt(_ making: Making) async throws {
    guard try making.store(folder).storesQueries else { return }
    let (one, two) = (String(repeating: "1", count: 64), String(repeating: "2", count: 64))
    let names = [
      "/a", "/a#\(one)", "/a#\(two)", "/a me", "/a#\(one) me", "/ab", "/ab#\(one)", "/a?#\(one)", "/old#\(two)",
    ]
    let table: [(CacheSelection, removed: Set<String>)] = [
      (.key(key("/a")), ["/a", "/a#\(one)", "/a#\(two)"]),
      (.key(key("/a#\(one)")), ["/a#\(one)"]),
      (.key(key("/a", partition: "me")), ["/a me", "/a#\(one) me"]),
      (.key(key("/old")), ["/old#\(two)"]),
      (.url(key("/a").url), ["/a", "/a#\(one)", "/a#\(two)", "/a me", "/a#\(one) me"]),
      (.partition("me"), ["/a me", "/a#\(one) me"]),
      (.partition(""), ["/a", "/a#\(one)", "/a#\(two)", "/ab", "/ab#\(one)", "/a?#\(one)", "/old#\(two)"]),
      (.olderThan(Date(timeIntervalSince1970: 1_000)), ["/old#\(two)"]),
      (.all, Set(names)),
    ]
    let store = try making.store(folder)
    for (selection, removed) in table {
      try await store.remove(.all)
      for name in names {
        let parts = name.split(separator: " ").map(String.init)
        let time = Date(timeIntervalSince1970: name.hasPrefix("/old") ? 999 : 2_000)
        let stored = entry(parts[0], partition: parts.count > 1 ? parts[1] : "", length: 2, time: time)
        try await store.save(stored, bytes(2))
        #expect(try await store.entries(for: stored.key) == [stored], "\(name)")
      }

      try await store.remove(selection)

      var left: Set<String> = []
      for name in names {
        let parts = name.split(separator: " ").map(String.init)
        let found = try await store.entries(for: key(parts[0], partition: parts.count > 1 ? parts[1] : ""))
        if !found.isEmpty { left.insert(name) }
      }
      #expect(left == Set(names).subtracting(removed), "\(selection)")
      #expect(try await store.usage().entries == left.count, "\(selection)")
    }
  }

  @Test(arguments: all) func usageGoesBackToZero(_ making: Making) async throws {
    let store = try making.store(folder)
    for (number, size) in Self.sizes.enumerated() where size < 140_000 {
      var first = entry("/\(number)", length: Int64(size))
      try await store.save(first, bytes(size))
      first.response.head.fields["X-Long"] = String(repeating: "x", count: number * 100)
      try await store.update(first)
      try await store.save(entry("/\(number)", length: 1), bytes(1))
    }
    #expect(try await store.usage().bytes > 0)
    try await store.remove(.all)
    #expect(try await store.usage() == HTTPCache.Usage(entries: 0, bytes: 0))
  }

  @Test(arguments: all.filter(\.hasCapacity), [60_000, 150_000])
  func theLeastRecentlyUsedAreEvicted(_ making: Making, size: Int) async throws {
    let store = try making.store(folder)
    let entries = (0..<40).map { entry("/\($0)", length: Int64(size)) }
    for (number, entry) in entries.enumerated() {
      try await store.save(entry, bytes(size, UInt8(number)))
      // The first is used repeatedly, and the second is validated.
      _ = try await store.open(entries[0].id, range: 0..<1)
      if number > 0 { try await store.update(entries[1]) }
      #expect(try await store.usage().bytes <= 1_000_000)
    }
    #expect(try await store.read(entries[0]) == bytes(size, 0))
    #expect(try await store.read(entries[1]) == bytes(size, 1))
    #expect(try await store.read(entries[39]) == bytes(size, 39))
    #expect(try await store.entries(for: entries[2].key) == [])
    let count = try await store.usage().entries
    #expect(count == 1_000_000 / (size + 1_000))
  }

  @Test(arguments: all) func entriesThatAreTooLargeAreRefused(_ making: Making) async throws {
    let store = try making.store(folder)
    #expect(try await store.begin(entry("/", length: 500_001)) == nil)
    let writer = try #require(try await store.begin(entry("/")))
    try await writer.append(bytes(500_000))
    await #expect(throws: CacheEntry.Refusal.self) { try await writer.append(bytes(1)) }
    await #expect(throws: CacheEntry.Refusal.self) { try await writer.commit() }
    #expect(try await store.usage() == HTTPCache.Usage(entries: 0, bytes: 0))
  }

  @Test(arguments: all) func manyTasksMayUseItAtOnce(_ making: Making) async throws {
    let store = try making.store(folder)
    try await withThrowingTaskGroup { group in
      for task in 0..<8 {
        group.addTask {
          for round in 0..<20 {
            let size = task < 2 ? 200_000 : 2_000
            let entry = entry("/\(round % 3)", length: Int64(size))
            try await store.save(entry, bytes(size, UInt8(task)))
            for found in try await store.entries(for: entry.key) {
              // It may have been removed, but is never that of another entry.
              guard let body = try await store.read(found) else { continue }
              #expect(body.count == Int(found.length ?? -1))
              #expect(Set(body).count == 1 || body == bytes(body.count, body[0]))
            }
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(try await store.usage().entries <= 3)
  }
}
