import Foundation
@_spi(Transports) @testable import MartletEngine
import MartletTesting
import Testing

/// Memory that is used again: its content shows whether it was used before, because fresh memory is zero.
@Suite(.timeLimit(.minutes(5)))
struct ChunkPoolTests {
  private let clock = ManualClock()
  private let pool: ChunkPool

  init() { pool = ChunkPool(clock: clock) }

  private func bytes(_ count: Int, _ byte: UInt8, of size: ChunkPool.Size = .usual) throws -> Data {
    let chunk = try filled(with: byte, size)
    return chunk.data(count)
  }

  private func filled(with byte: UInt8, _ size: ChunkPool.Size = .usual) throws -> Chunk {
    guard let chunk = Chunk(size, of: pool) else { throw POSIXError(.ENOMEM) }
    for index in chunk.room.indices { chunk.room[index] = byte }
    return chunk
  }

  /// Compares them here: a failed expectation would compute all differences of large values.
  private func isSame(_ left: Data?, _ right: Data) -> Bool { left == right }

  /// Takes chunks, and returns the first byte of each.
  private func take(_ count: Int, of size: ChunkPool.Size = .usual) throws -> [UInt8] {
    let chunks = try (0..<count).map { _ in try #require(pool.take(size)) }
    defer { for chunk in chunks { pool.give(back: chunk, size) } }
    return chunks.map { $0.load(as: UInt8.self) }
  }

  @Test(arguments: [ChunkPool.Size.usual, .large])
  func aResultThatIsKeptDoesNotChangeWhenOtherMemoryIsUsedAgain(size: ChunkPool.Size) throws {
    let kept = try bytes(size.count, 1, of: size)
    for round in 2..<50 { _ = try bytes(size.count - round, UInt8(round), of: size) }

    #expect(isSame(kept, Data(repeating: 1, count: size.count)))
    #expect(try take(2, of: size) == [49, 0], "one chunk served all rounds")
  }

  @Test func aChunkComesBackWithTheLastCopyOfItsResult() throws {
    var data: Data? = try bytes(100_000, 7)
    var part = data?.dropFirst(1000)
    data = nil
    #expect(try take(1) == [0])
    #expect(isSame(part, Data(repeating: 7, count: 99_000)))
    part = nil

    #expect(try take(2).contains(7))
  }

  @Test func aResultIsCopiedUnlessItFillsHalfOfItsChunk() throws {
    let small = try bytes(200, 7)
    #expect(try take(1) == [7], "the chunk came back at once")
    #expect(small == Data(repeating: 7, count: 200))

    let almostHalf = try bytes((64 << 10) - 1, 8)
    #expect(try take(1) == [8])
    let half = try bytes(64 << 10, 9)
    #expect(try take(1) == [0])
    #expect(almostHalf.count + 1 == half.count)
  }

  @Test func aChangeOfAResultLeavesItsOtherCopiesAlone() throws {
    let data = try bytes(100_000, 7)
    var changed = data
    changed.append(contentsOf: [1, 2, 3])
    changed[0] = 0

    #expect(isSame(data, Data(repeating: 7, count: 100_000)))
    #expect(changed.count == 100_003 && changed[0] == 0 && changed[1] == 7)
  }

  @Test func aChunkFromWhichNothingComesReturnsToThePool() throws {
    func fillAndFail() throws {
      _ = try filled(with: 5)
      throw CancellationError()
    }

    #expect(throws: CancellationError.self) { try fillAndFail() }
    #expect(try take(2) == [5, 0])
  }

  @Test(arguments: [(ChunkPool.Size.usual, 16), (.large, 8)])
  func moreChunksThanTheLimitAreNotKept(size: ChunkPool.Size, limit: Int) throws {
    let many = try (0..<limit + 3).map { _ in try bytes(size.count, 1, of: size) }
    withExtendedLifetime(many) {}
    let list = consume many
    _ = consume list

    #expect(try take(limit + 3, of: size).count { $0 == 1 } == limit)
  }

  @Test func chunksThatNothingNeedsAreReturned() async throws {
    _ = try [bytes(100_000, 1), bytes(100_000, 2), bytes(100_000, 3), bytes(512 << 10, 4, of: .large)]
    try await clock.sleepers(1)
    clock.advance(by: .seconds(5))  // the chunks are younger than that
    try await clock.sleepers(1)
    let used = try take(1)
    clock.advance(by: .seconds(5))
    try await clock.sleepers(1)

    let left = try take(3)
    #expect(left == used + [0, 0])
    #expect(try take(1, of: .large) == [0])
  }

  @Test func callersOfManyThreadsNeverShareAChunk() async throws {
    await withTaskGroup(of: Bool.self) { group in
      for number in UInt8(1)...8 {
        group.addTask {
          var kept: [Data] = []
          for round in 0..<100 {
            guard let data = try? bytes(round.isMultiple(of: 2) ? 1000 : 100_000, number) else { return false }
            kept.append(data)
            if kept.count > 5 { kept.removeFirst() }
            guard kept.allSatisfy({ $0.allSatisfy { $0 == number } }) else { return false }
            await Task.yield()
          }
          return true
        }
      }
      for await isRight in group { #expect(isRight) }
    }
  }
}
