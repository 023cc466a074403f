import MartletEngine
import MartletSemantics
import MartletTesting
import Synchronization
import TestServers
import TestSupport
import Testing

/// What a server receives of a request's body whose sequence ends early.
@Suite(.timeLimit(.minutes(5)))
struct CancelledUploadTests {
  /// One chunk, and then nothing until its task is cancelled: that ends it.
  private struct FirstChunk: AsyncSequence, AsyncIteratorProtocol, Sendable {
    private var hasBegun = false

    func makeAsyncIterator() -> Self { self }

    mutating func next() async -> Data? {
      guard hasBegun else {
        hasBegun = true
        return Data("first".utf8)
      }
      let (silence, _) = AsyncStream.makeStream(of: Data.self)
      for await chunk in silence { return chunk }
      return nil
    }
  }

  @Test func bodyThatEndsBecauseItsTaskWasCancelledIsCutOff() async throws {
    let hasArrived = Gate()
    let isOver = Gate()
    let hasEnded = Mutex<Bool?>(nil)
    let server = try LoopbackServer(bodies: .streamed) { request in
      defer { isOver.open() }
      do {
        while try request.nextChunk() != nil { hasArrived.open() }
        hasEnded.withLock { $0 = true }
      } catch {
        hasEnded.withLock { $0 = false }
        throw error
      }
      return .text("ok")
    }
    let session = HTTPSession.uncached()
    let request = HTTPRequest(.post, server.url, body: .stream { FirstChunk() })
    let task = Task { try await session.data(for: request) }
    try await hasArrived.wait()
    task.cancel()
    await #expect(throws: HTTPError.self) { try await task.value }
    try await isOver.wait()
    #expect(hasEnded.withLock { $0 } == false)
  }
}
