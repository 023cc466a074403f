import MartletEngine
import MartletSemantics
import MartletTesting
import Testing

/// The contract of key-value stores. The stores, `all`, are those of the target that the suite is compiled in.
@Suite(.timeLimit(.minutes(5)))
struct KeyValueStoreTests {
  typealias Making = StoreFactory<any KeyValueStore>

  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  @Test(arguments: all) func anEmptyStoreHasNothing(_ making: Making) async throws {
    let store = try making.store(folder)
    #expect(try await store.value(for: "a") == nil)
    #expect(try await store.keys() == [])
    try await store.removeValue(for: "a")
    try await store.removeAll()
  }

  @Test(arguments: all) func valuesThatWereSetAreFound(_ making: Making) async throws {
    let store = try making.store(folder)
    try await store.set(Data([1, 2, 3]), for: "a")
    try await store.set(Data("x".utf8), for: "b")
    #expect(try await store.value(for: "a") == Data([1, 2, 3]))
    #expect(try await store.value(for: "b") == Data("x".utf8))
  }

  @Test(arguments: all) func settingReplaces(_ making: Making) async throws {
    let store = try making.store(folder)
    try await store.set(Data([1]), for: "a")
    try await store.set(Data([2]), for: "a")
    #expect(try await store.value(for: "a") == Data([2]))
    #expect(try await store.keys() == ["a"])
  }

  @Test(arguments: all) func anEmptyValueIsNotAMissingOne(_ making: Making) async throws {
    let store = try making.store(folder)
    try await store.set(Data(), for: "a")
    #expect(try await store.value(for: "a") == Data())
  }

  @Test(arguments: all) func theFirstOfManyWritersDecidesTheValue(_ making: Making) async throws {
    let store = try making.store(folder)
    let seen = try await withThrowingTaskGroup(of: Data.self) { group in
      for number in 0..<8 { group.addTask { try await store.value(for: "a", orSetting: Data([UInt8(number)])) } }
      return try await group.reduce(into: Set<Data>()) { $0.insert($1) }
    }
    let stored = try #require(try await store.value(for: "a"))
    #expect(seen == [stored])
    #expect(try await store.value(for: "a", orSetting: Data([99])) == stored)
    try await store.removeValue(for: "a")
    #expect(try await store.value(for: "a", orSetting: Data()) == Data())
  }

  @Test(arguments: all) func removingRemovesOneKey(_ making: Making) async throws {
    let store = try making.store(folder)
    for key in ["a", "b"] { try await store.set(Data([1]), for: key) }
    try await store.removeValue(for: "a")
    #expect(try await store.value(for: "a") == nil)
    #expect(try await store.keys() == ["b"])
  }

  @Test(arguments: all) func removingAllRemovesEveryKey(_ making: Making) async throws {
    let store = try making.store(folder)
    for key in ["a", "b"] { try await store.set(Data([1]), for: key) }
    try await store.removeAll()
    #expect(try await store.keys() == [])
    #expect(try await store.value(for: "b") == nil)
  }

  @Test(arguments: all) func keysAreOrderedByTheirBytes(_ making: Making) async throws {
    let store = try making.store(folder)
    let keys = ["b", "a", "B", "é", "", "10", "9"]
    for key in keys { try await store.set(Data(key.utf8), for: key) }
    #expect(try await store.keys() == ["", "10", "9", "B", "a", "b", "é"])
    for key in keys { #expect(try await store.value(for: key) == Data(key.utf8)) }
  }

  @Test(arguments: all) func keysAreComparedAsBytes(_ making: Making) async throws {
    let store = try making.store(folder)
    // Composed and decomposed characters, which are equal in Swift; and NUL, which ends a C string.
    let keys = ["\u{E9}", "e\u{301}", "a", "a\0b", "A", "a ", "' OR 1 --"]
    for (number, key) in keys.enumerated() { try await store.set(Data([UInt8(number)]), for: key) }
    for (number, key) in keys.enumerated() {
      #expect(try await store.value(for: key) == Data([UInt8(number)]), "\(key.debugDescription)")
    }
    #expect(
      try await store.keys().map { Array($0.utf8) }
        == keys.map { Array($0.utf8) }.sorted { $0.lexicographicallyPrecedes($1) })
  }

  @Test(arguments: all) func aValueMayBeLarge(_ making: Making) async throws {
    let store = try making.store(folder)
    var value = Data(repeating: 7, count: 16 << 20)
    for place in [0, 4_095, 1 << 20, value.count - 1] { value[place] = UInt8(truncatingIfNeeded: place) }
    try await store.set(value, for: "a")
    #expect(try await store.value(for: "a") == value)
  }

  @Test(arguments: all) func aSliceIsStoredAsItsBytes(_ making: Making) async throws {
    let store = try making.store(folder)
    try await store.set(Data("abcdef".utf8).dropFirst(2).prefix(3), for: "a")
    #expect(try await store.value(for: "a") == Data("cde".utf8))
  }

  @Test(arguments: all) func manyTasksMayUseItAtOnce(_ making: Making) async throws {
    let store = try making.store(folder)
    try await withThrowingTaskGroup { group in
      for task in 0..<8 {
        group.addTask {
          for number in 0..<50 {
            let key = "\(task)-\(number)"
            try await store.set(Data(key.utf8), for: key)
            #expect(try await store.value(for: key) == Data(key.utf8))
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(try await store.keys().count == 400)
  }
}
