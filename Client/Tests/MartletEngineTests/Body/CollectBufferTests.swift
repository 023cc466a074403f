import Foundation
@testable import MartletEngine
import MartletSemantics
import Synchronization
import TestSupport
import Testing

/// Bodies of many forms are joined right, and with no more copies than needed.
@Suite(.timeLimit(.minutes(5)))
struct CollectBufferTests {
  private final class Chunks: BodySource {
    private let rest: Mutex<[Data]>

    init(_ chunks: [Data]) { rest = Mutex(chunks) }

    func next() async throws -> Data? { rest.withLock { $0.isEmpty ? nil : $0.removeFirst() } }
  }

  private static let sizes: [[Int]] = [
    [], [1], [100], [100_000], [1, 1], [5, 100_000, 7], [128 << 10, 128 << 10, 300], [1 << 20], [(1 << 20) - 1, 1],
    [1 << 20, 1], [600_000, 600_000], Array(repeating: 128 << 10, count: 20), Array(repeating: 3, count: 100),
    [2 << 20, 5, 3 << 20],
  ]

  @Test(arguments: sizes, [-1, 0, 1, nil])
  func theChunksOfABodyAreJoinedWhateverLengthWasAnnounced(sizes: [Int], surplus: Int?) async throws {
    var chunks: [Data] = []
    for size in sizes { chunks.append(Data.counting(size, from: chunks.reduce(0) { $0 + $1.count })) }
    let whole = chunks.reduce(Data(), +)

    let length = surplus.map { max(0, Int64(whole.count + $0)) }
    let body = ResponseBody(length: length, from: Chunks(chunks))

    let isWhole = try await body.collect(upTo: .max) == whole
    #expect(isWhole)
  }

  @Test(arguments: [100_000, nil])
  func aSingleChunkIsNotCopied(length: Int64?) async throws {
    let chunk = Data.counting(100_000, from: 0)
    let data = try await ResponseBody(length: length, from: Chunks([chunk])).collect(upTo: .max)

    #expect(data.withUnsafeBytes { $0.baseAddress } == chunk.withUnsafeBytes { $0.baseAddress })
  }

  @Test(arguments: [[100, 100], [100, 1], [101]])
  func aBodyBeyondTheLimitIsAnError(sizes: [Int]) async throws {
    let body = ResponseBody(from: Chunks(sizes.map { Data.counting($0, from: 0) }))

    let error = await #expect(throws: HTTPError.self) { try await body.collect(upTo: 100) }

    #expect(error?.kind == .bodyTooLarge)
  }
}
