import Foundation
@_spi(Transports) @testable import MartletEngine
import MartletSemantics
import MartletTesting
import Synchronization
import Testing

/// Bodies whose chunks come from a pool: their bytes stay right while the memory is used again, and none of it is lost.
@Suite(.timeLimit(.minutes(5)))
struct PooledBodyTests {
  private final class Chunks: BodySource {
    private let rest: Mutex<[Data]>

    init(_ chunks: [Data]) { rest = Mutex(chunks) }

    func next() async throws -> Data? { rest.withLock { $0.isEmpty ? nil : $0.removeFirst() } }
  }

  private let pool = ChunkPool(clock: ManualClock())

  /// Bytes that compress to about a half.
  private static func content(_ count: Int, seed: UInt32 = 1) -> Data {
    var state = seed
    return Data(
      (0..<count).map { _ in
        state = state &* 1_664_525 &+ 1_013_904_223
        return UInt8(state >> 28) + 1
      })
  }

  /// Returns the coded bytes as one chunk, of which each step decodes a full chunk.
  private func coded(_ content: Data) async throws -> [Data] {
    [try await coded(content, pieces: content.count).reduce(Data(), +)]
  }

  private func coded(_ content: Data, pieces: Int) async throws -> [Data] {
    let source = CompressedSource(
      Chunks(stride(from: 0, to: content.count, by: pieces).map { content.dropFirst($0).prefix(pieces) }),
      coding: .gzip, chunks: pool)
    return try await all(source)
  }

  private func decoding(_ coded: [Data]) throws -> DecodedBody {
    let decoder = try #require(try ContentDecoders.make(for: "gzip"))
    return DecodedBody(
      Chunks(coded), decoder: decoder, wording: .init(coding: "gzip", peer: "a.example") { _ in }, isFramed: true,
      chunks: pool)
  }

  /// Compares them here: a failed expectation would compute all differences of large values.
  private func isSame(_ chunks: [Data], _ content: Data) -> Bool { chunks.reduce(Data(), +) == content }

  private func all(_ source: any BodySource) async throws -> [Data] {
    var chunks: [Data] = []
    while let chunk = try await source.next() { chunks.append(chunk) }
    return chunks
  }

  /// The first byte of each unused chunk, and a zero for a chunk that is new.
  private func unused(_ count: Int) throws -> [UInt8] {
    let chunks = try (0..<count).map { _ in try #require(pool.take()) }
    defer { for chunk in chunks { pool.give(back: chunk) } }
    return chunks.map { $0.load(as: UInt8.self) }
  }

  @Test(arguments: [1, 100, 65_535, 65_536, 131_072, 131_073, 1_000_000], [7, 10_000, 1 << 20])
  func whatIsCompressedIsDecodedToTheSame(count: Int, pieces: Int) async throws {
    let content = Self.content(count)
    let coded = try await coded(content, pieces: pieces)

    #expect(coded.allSatisfy { !$0.isEmpty && $0.count <= 128 << 10 })
    #expect(try await isSame(all(decoding(coded)), content))
    #expect(try await isSame(all(decoding([coded.reduce(Data(), +)])), content))
  }

  @Test func decodedChunksThatAreKeptDoNotChangeWhileOthersAreDecoded() async throws {
    let (content, other) = (Self.content(1_500_000), Self.content(300_000, seed: 9))
    let (body, noise) = (try await decoding(coded(content)), try await coded(other))
    var kept: [Data] = []
    while let chunk = try await body.next() {
      kept.append(chunk)
      #expect(try await isSame(all(decoding(noise)), other))
    }

    #expect(isSame(kept, content))
  }

  @Test func manyBodiesAreDecodedAtOnce() async throws {
    try await withThrowingTaskGroup(of: Bool.self) { group in
      for seed in UInt32(1)...16 {
        group.addTask {
          let content = Self.content(400_000, seed: seed)
          let coded = try await coded(content)
          for _ in 0..<3 {
            let chunks = try await all(decoding(coded))
            await Task.yield()
            guard isSame(chunks, content) else { return false }
          }
          return true
        }
      }
      for try await isRight in group { #expect(isRight) }
    }
  }

  @Test func aBodyThatIsGivenUpMidwayReturnsItsMemory() async throws {
    let coded = try await coded(Data(repeating: 7, count: 1_000_000))
    let before = try unused(1)
    do {
      let body = try decoding(coded)
      let chunk = try await body.next()
      #expect(isSame([chunk ?? Data()], Data(repeating: 7, count: 128 << 10)))
      #expect(try unused(1) == [0])
      body.cancel()
    }

    #expect(before != [7])
    #expect(try unused(16).filter { $0 == 7 } == [7])
  }

  @Test func aBodyThatCannotBeDecodedReturnsItsMemory() async throws {
    var coded = try await coded(Data(repeating: 7, count: 100_000))
    coded[0][coded[0].count - 6] ^= 1  // in the checksum
    let body = try decoding(coded)

    await #expect(throws: HTTPError.self) { try await all(body) }
    #expect(try unused(16).filter { $0 == 7 } == [7])
  }

  @Test func theChunksOfAFileThatAreKeptDoNotChangeWhileItIsReadOn() async throws {
    let folder = try TemporaryFolder()
    let file = folder.url.appending(component: "body")
    let content = Self.content(300_000)
    try content.write(to: file)

    let chunks = try await all(FileSource(opening: file, chunks: pool))
    #expect(chunks.map(\.count) == [131_072, 131_072, 37_856])
    #expect(isSame(chunks, content))
    #expect(try unused(2) == [content[262_144], 0], "the last bytes were copied")
  }

  @Test(arguments: [0, 1, 65_536, 131_072])
  func aSmallFileIsReadWhole(count: Int) async throws {
    let folder = try TemporaryFolder()
    let file = folder.url.appending(component: "body")
    try Self.content(count).write(to: file)

    let chunks = try await all(FileSource(opening: file, chunks: pool))
    #expect(chunks.count == (count == 0 ? 0 : 1))
    #expect(isSame(chunks, Self.content(count)))
  }
}
