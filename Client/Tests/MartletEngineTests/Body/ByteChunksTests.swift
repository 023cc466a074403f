import MartletSemantics
import MartletSockets
import MartletTesting
import Synchronization
import TestSupport
import Testing

@testable import MartletEngine

/// Bodies that are streams of any collections of bytes, in both directions.
@Suite(.timeLimit(.minutes(5)))
struct ByteChunksTests {
  private let session = HTTPSession(transport: SocketTransport())

  /// A stream of the words.
  private func stream<Chunk: Sendable>(_ words: [String], _ make: @Sendable (String) -> Chunk) -> AsyncStream<Chunk> {
    let (stream, continuation) = AsyncStream.makeStream(of: Chunk.self)
    for word in words { continuation.yield(make(word)) }
    continuation.finish()
    return stream
  }

  private func echo(_ body: RequestBody) async throws -> String {
    let server = try LoopbackServer { .text($0.text) }
    return try await session.text(for: HTTPRequest(.post, server.url("/"), body: body)).0
  }

  @Test func anyCollectionOfBytesCanBeSent() async throws {
    let words = ["one ", "", "two ", "three"]
    let arrays = stream(words) { Array($0.utf8) }
    #expect(try await echo(.singleUse(chunks: arrays)) == "one two three")
    #expect(
      try await echo(.singleUse(chunks: stream(words) { ArraySlice(Array(("-" + $0).utf8)).dropFirst() }))
        == "one two three")
    #expect(try await echo(.singleUse(chunks: stream(words) { $0.utf8 })) == "one two three")
    #expect(try await echo(.singleUse(chunks: stream(words) { Data($0.utf8) })) == "one two three")
    #expect(try await echo(.stream(chunks: { stream(words) { Array($0.utf8) } })) == "one two three")
    #expect(try await echo(.stream(length: 13, chunks: { stream(words) { Array($0.utf8) } })) == "one two three")
  }

  @Test func aStreamIsMadeAgainForEachAttempt() async throws {
    let server = try LoopbackServer { request in
      request.path == "/" ? .redirect(to: "/there", status: .temporaryRedirect) : .text(request.text)
    }
    let body = RequestBody.stream(chunks: { stream(["a", "b"]) { Array($0.utf8) } })
    #expect(try await session.text(for: HTTPRequest(.post, server.url("/"), body: body)).0 == "ab")

    let once = RequestBody.singleUse(chunks: stream(["a"]) { Array($0.utf8) })
    await #expect { try await session.data(for: HTTPRequest(.post, server.url("/"), body: once)) } throws: {
      ($0 as? HTTPError)?.kind == .bodyNotReplayable
    }
  }

  @Test func anErrorOfTheStreamIsTheErrorOfTheCall() async throws {
    struct Broken: Error {}
    let server = try LoopbackServer { .text($0.text) }
    let body = RequestBody.stream(chunks: {
      AsyncThrowingStream<[UInt8], any Error> { stream in
        stream.yield([1])
        stream.finish(throwing: Broken())
      }
    })
    await #expect { try await session.data(for: HTTPRequest(.post, server.url("/"), body: body)) } throws: {
      ($0 as? HTTPError)?.underlying is Broken
    }
  }

  @Test func aSlowServerSlowsTheStreamDown() async throws {
    let gate = Gate()
    let server = try LoopbackServer(bodies: .streamed) { request in
      try request.wait(for: gate)
      return .text("\(try request.drainBody())")
    }
    let source = Endless(limit: 2_000)
    let request = HTTPRequest(.post, server.url("/"), body: .singleUse(chunks: source))
    let call = Task { [session] in try await session.text(for: request).0 }
    _ = try await server.request(1)
    // The stream is read until the buffers are full, which are far smaller than the whole.
    try await until { source.count > 10 }
    #expect(source.count < 1_500)
    gate.open()
    #expect(try await call.value == "\(2_000 * 32_768)")
  }

  @Test func aResponseIsGivenAsOtherCollections() async throws {
    let server = try LoopbackServer { _ in .text("hello").chunked(size: 2) }
    let request = HTTPRequest(.get, server.url("/"))
    let slices = try await session.bytes(for: request).0.chunks(as: ArraySlice<UInt8>.self)
    #expect(try await slices.reduce(into: [UInt8]()) { $0 += $1 } == Array("hello".utf8))
    let data = try await session.bytes(for: request).0.chunks(as: Data.self)
    #expect(try await data.reduce(into: Data()) { $0 += $1 } == Data("hello".utf8))
    let truncated = try LoopbackServer { _ in .text("hello").truncated(after: 2) }
    let body = try await session.bytes(for: HTTPRequest(.get, truncated.url("/"))).0
    await #expect { for try await _ in body.chunks(as: [UInt8].self) {} } throws: {
      ($0 as? HTTPError)?.kind == .connectionLost
    }
  }

  @Test func aResponseIsMadeOfAnyCollections() async throws {
    let body = ResponseBody(length: 6, chunks: stream(["one", "", "two"]) { Array($0.utf8) })
    #expect(body.length == 6)
    #expect(try await body.collect(upTo: 10) == Data("onetwo".utf8))
    await #expect { try await body.collect(upTo: 10) } throws: { ($0 as? HTTPError)?.kind == .bodyAlreadyRead }
  }

  @Test func dataIsNotCopied() async throws {
    let chunk = Data(repeating: 7, count: 1 << 16)
    let body = ResponseBody(
      chunks: AsyncStream<Data> { stream in
        stream.yield(chunk)
        stream.finish()
      })
    var iterator = body.chunks(as: Data.self).makeAsyncIterator()
    let received = try #require(try await iterator.next())
    let addresses = [chunk, received].map { $0.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) } }
    #expect(addresses[0] == addresses[1])
  }
}

/// A stream of arrays that counts how many were asked for.
private final class Endless: AsyncSequence, Sendable {
  typealias Element = [UInt8]
  private let made = Atomic(0)
  private let limit: Int

  init(limit: Int) { self.limit = limit }

  var count: Int { made.load(ordering: .relaxed) }

  func makeAsyncIterator() -> Iterator { Iterator(stream: self) }

  struct Iterator: AsyncIteratorProtocol {
    let stream: Endless

    mutating func next() async throws -> [UInt8]? {
      guard stream.made.add(1, ordering: .relaxed).newValue <= stream.limit else { return nil }
      return [UInt8](repeating: 1, count: 32_768)
    }
  }
}
