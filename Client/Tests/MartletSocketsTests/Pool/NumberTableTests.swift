import TestSupport
import Testing

@testable import MartletSockets

/// The table of numbered values, compared with a dictionary.
@Suite(.timeLimit(.minutes(5)))
struct NumberTableTests {
  @Test(arguments: [1, 2, 3, 4] as [UInt64])
  func hasWhatADictionaryHas(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var table = NumberTable<Int>()
    var dictionary: [Int: Int] = [:]
    var last = 0
    for step in 0..<4000 {
      // numbers rise, with gaps, and some stay for long
      if Bool.random(using: &random) || dictionary.isEmpty {
        last += Int.random(in: 1...3, using: &random)
        table[last] = step
        dictionary[last] = step
      } else if let number = dictionary.keys.sorted().randomElement(using: &random) {
        #expect(table.take(number) == dictionary.removeValue(forKey: number))
      }
      let number = Int.random(in: 0...(last + 2), using: &random)
      table.update(number) { $0? += 1 }
      dictionary[number]? += 1
      #expect(table[number] == dictionary[number])
      #expect(table.count == dictionary.count)
    }
    #expect(table.map(\.number).sorted() == dictionary.keys.sorted())
    #expect(table.values.sorted() == dictionary.values.sorted())
    for (number, value) in table { #expect(dictionary[number] == value) }
  }

  @Test func valuesWhoseSlotsFollowOneAnotherAreFoundAfterARemoval() {
    var table = NumberTable<String>()
    // the same slot for 16 slots, and the one after it
    for number in [1, 17, 33, 2, 18] { table[number] = "\(number)" }
    #expect(table.take(17) == "17")
    #expect(table.take(1) == "1")
    #expect([33, 2, 18].map { table[$0] } == ["33", "2", "18"])
    #expect(table[17] == nil)
    table[33] = "again"
    #expect(table[33] == "again")
    #expect(table.count == 3)
    table[33] = nil
    #expect(table.count == 2)
    #expect(table.take(99) == nil)
  }

  @Test func emptyTableHasNothing() {
    var table = NumberTable<Int>()
    #expect(table.isEmpty)
    #expect(table[0] == nil)
    #expect(table.take(0) == nil)
    table[5] = nil
    #expect(table.values == [])
  }
}
