import Foundation
import MartletEngine
import MartletSemantics
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

  @Test(arguments: [(ContentCoding.gzip, [0x1F, 0x8B]), (.deflate, [0x78])] as [(ContentCoding, [UInt8])])
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

  @Test func largeBodyIsCompressedWhileItIsReadAndCanBeReadAgain() async throws {
    let counted = Mutex(0)
    let body = RequestBody.stream {
      counted.withLock { $0 += 1 }
      return AsyncStream { continuation in
        for _ in 0..<100 { continuation.yield(Data.random(50_000)) }
        continuation.finish()
      }
    }.compressed()

    for attempt in 1...2 {
      let open = try await body.open()
      let chunks = try await read(open)
      #expect(open.length == nil)
      #expect(chunks.count > 10)
      #expect(chunks.allSatisfy { !$0.isEmpty && $0.count <= 1 << 20 })
      #expect(counted.withLock { $0 } == attempt)
    }
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
