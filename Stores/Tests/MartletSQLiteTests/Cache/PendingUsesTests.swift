import MartletEngine
import MartletSemantics
import Testing

@testable import MartletSQLite

/// The times at which uses are written, and the heads and bodies that are kept in memory between two calls.
struct PendingUsesTests {
  @Test func manyEntriesWhoseUseIsNotOnDiskAreWritten() {
    let uses = PendingUses()
    let answers = (0..<256).map { uses.note($0) }
    #expect(answers.dropLast().allSatisfy { !$0 } && answers.last == true)
    #expect(uses.take() == Array(0..<256))
  }

  @Test func entriesWhoseUseWasJustWrittenCauseNoWriteOfTheirOwn() {
    let uses = PendingUses()
    for entry in 0..<256 { _ = uses.note(Int64(entry)) }
    _ = uses.take()
    for _ in 0..<10 { for entry in 0..<256 { #expect(!uses.note(Int64(entry))) } }
    // the next write has them nevertheless
    #expect(uses.take() == Array(0..<256))
  }

  @Test func theLastUseOfAnEntryIsItsPlaceInTheOrder() {
    let uses = PendingUses()
    for entry in [1, 2, 3, 1, 2, 1] { _ = uses.note(Int64(entry)) }
    #expect(uses.take() == [3, 2, 1])
    #expect(uses.take().isEmpty)
  }

  @Test func noMoreThanAThousandEntriesWaitForAWrite() {
    let uses = PendingUses()
    for start in stride(from: 0, to: 1024, by: 128) {
      for entry in start..<start + 128 { _ = uses.note(Int64(entry)) }
      _ = uses.take()
    }
    let answers = (0..<1024).map { uses.note(Int64($0)) }
    #expect(answers.firstIndex(of: true) == 1023)
  }

  @Test func bodiesThatNobodyAskedForAreDroppedWithTheirEntries() {
    let bodies = BodiesRead()
    let ids = (0..<20).map { _ in UUID() }
    for (number, id) in ids.enumerated() {
      bodies.keep(CacheTable.Body(entry: Int64(number), length: 0, bytes: .whole(Data())), of: id)
    }
    #expect(bodies.take(ids[3]) == nil)  // only the last 16 are kept
    #expect(bodies.take(ids[19])?.entry == 19)
    #expect(bodies.take(ids[19]) == nil)
    bodies.removeAll()
    #expect(bodies.take(ids[18]) == nil)
  }

  @Test func aHeadIsKeptForItsChecksum() {
    let heads = HeadsRead()
    let entries = (0..<1100).map { entry("/\($0)") }
    for entry in entries { heads.keep(entry, sum: 1) }
    #expect(heads.entry(entries[1099].id, sum: 1) == entries[1099])
    #expect(heads.entry(entries[1099].id, sum: 2) == nil)
    #expect(heads.entry(entries[0].id, sum: 1) == nil)  // only the last 1024 are kept
    heads.removeAll()
    #expect(heads.entry(entries[1099].id, sum: 1) == nil)
  }
}
