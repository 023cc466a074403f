import Foundation
import MartletEngine
import MartletSemantics
import MartletTesting
import Synchronization
import TestSupport
import Testing

/// How the output is produced. In MartletTransportTests, other servers read it.
@Suite(.timeLimit(.minutes(5)))
struct CompressedBodyTests {
  private func read(_ open: OpenBody) async throws -> [Data] {
    var chunks: [Data] = []
    while let chunk = try await open.source.next() { chunks.append(chunk) }
    return chunks
  }

  @Test(
    arguments: [(ContentCoding.gzip, [0x1F, 0x8B]), (.deflate, [0x78]), (.zstd, [0x28, 0xB5, 0x2F, 0xFD])]
      as [(ContentCoding, [UInt8])])
  func smallBodyIsSentWithItsLength(_ coding: ContentCoding, magic: [UInt8]) async throws {
    let body = RequestBody.data(Data(repeating: 65, count: 10_000)).compressed(coding)
    let open = try await body.open()
    let data = try await read(open).reduce(Data(), +)

    #expect(open.length == Int64(data.count))
    #expect(data.count < 100)
    #expect(data.starts(with: magic))
    #expect(body.fields[.contentEncoding] == coding.rawValue)
    #expect(body.length == nil && body.isReplayable)
  }

  @Test(arguments: [ContentCoding.gzip, .zstd])
  func largeBodyIsCompressedWhileItIsReadAndCanBeReadAgain(_ coding: ContentCoding) async throws {
    let counted = Mutex(0)
    let body = RequestBody.stream {
      counted.withLock { $0 += 1 }
      return AsyncStream { continuation in
        for _ in 0..<100 { continuation.yield(Data.random(50_000)) }
        continuation.finish()
      }
    }.compressed(coding)

    for attempt in 1...2 {
      let open = try await body.open()
      let chunks = try await read(open)
      #expect(open.length == nil)
      #expect(chunks.count > 10)
      #expect(chunks.allSatisfy { !$0.isEmpty && $0.count <= 1 << 20 })
      #expect(counted.withLock { $0 } == attempt)
    }
  }

  /// Recipients may refuse windows of more than 8 MiB (RFC 9659 §3). A frame says how large its window is (RFC 8878
  /// §3.1.1.1.2).
  @Test func aZstandardFrameHasASmallWindow() async throws {
    let piece = Data((0..<1 << 20).map { _ in UInt8.random(in: 0...15) })
    let body = RequestBody.stream {
      AsyncStream { continuation in
        for _ in 0..<12 { continuation.yield(piece) }
        continuation.finish()
      }
    }.compressed(.zstd)
    let data = try await read(body.open()).reduce(Data(), +)
    let descriptor = data[4]
    try #require(descriptor & 0x20 == 0, "a single segment has no window")
    let (exponent, mantissa) = (Int(data[5] >> 3), Int(data[5] & 7))
    let base = 1 << (10 + exponent)
    #expect(base + base / 8 * mantissa <= 8 << 20)
  }

  /// The program `zstd` of the authors reads what is sent.
  @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/zstd"), "zstd is missing"))
  func anotherProgramReadsAZstandardBody() async throws {
    let content = Data((0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 7) })
    let body = RequestBody.stream {
      AsyncStream { continuation in
        continuation.yield(content)
        continuation.finish()
      }
    }.compressed(.zstd)
    let folder = try TemporaryFolder()
    try folder.write(try await read(body.open()).reduce(Data(), +), to: "body.zst")
    let process = try ChildProcess("zstd", ["-dc", folder.file("body.zst").path], output: .read)
    let isSame = process.readToEnd() == content
    #expect(isSame)
    #expect(process.succeeds())
  }

  @Test func streamThatIsThereOnlyOnceIsNotTakenBeforeItIsAskedFor() async throws {
    let chunks = AsyncStream<Data> { continuation in
      continuation.yield(Data("once".utf8))
      continuation.finish()
    }
    let body = RequestBody.singleUse(length: 4, chunks).compressed()

    _ = try await body.open()  // an attempt that finds no server
    #expect(body.canBeSent)
    #expect(try await !read(body.open()).isEmpty)
    #expect(!body.canBeSent)
  }

  @Test func fieldsOfTheOriginalStay() throws {
    let body = try RequestBody.json(["a": 1]).compressed(.deflate)
    #expect(body.fields == [.contentType: "application/json", .contentEncoding: "deflate"])
    #expect(RequestBody.empty.compressed().fields.isEmpty)
  }
}
