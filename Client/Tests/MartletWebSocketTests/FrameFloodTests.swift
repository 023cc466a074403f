import Foundation
@_spi(Transports) import MartletEngine
import MartletSemantics
import MartletTesting
import Synchronization
import TestSupport
import Testing

@testable import MartletWebSocket

/// Very many frames at once, on a thread that serves other connections, too.
@Suite(.timeLimit(.minutes(5)))
struct FrameFloodTests {
  private static let frameCount = 100_000

  /// A stream that has received all its bytes at once, and whose executor counts how often a task takes its thread.
  private final class FloodedStream: DuplexStream, TaskExecutor {
    private let input: Mutex<Data?>
    private let queue = DispatchQueue(label: "loop")
    private let turns = Counter()
    let isClosed = Gate()

    init(_ input: Data) { self.input = Mutex(input) }

    func read(missing: Int) async throws -> Data? { input.withLock { $0.take() } }
    func write(_ bytes: Data) async throws {}
    func finish() {}
    func close() { isClosed.open() }

    var executor: (any TaskExecutor)? { self }
    var turnCount: Int { turns.value }

    func enqueue(_ job: consuming ExecutorJob) {
      let job = UnownedJob(job)
      turns.next()
      queue.async { [self] in job.runSynchronously(on: asUnownedTaskExecutor()) }
    }
  }

  /// A ping, and an empty frame in the middle of a message.
  @Test(arguments: [[0x89, 0], [0, 0]] as [[UInt8]])
  func theThreadOfAFloodedConnectionServesOthersInBetween(frame: [UInt8]) async throws {
    var input = Data([1, 0])  // a text begins
    for _ in 0..<Self.frameCount { input += frame }
    let stream = FloodedStream(input)
    let connection = FramedConnection(stream, try terms())
    connection.start()
    try await stream.isClosed.wait()
    #expect(stream.turnCount >= Self.frameCount / 1000)
    withExtendedLifetime(connection) {}
  }

  private func terms() throws -> FramedConnection.Terms {
    let url = try #require(URL(string: "http://127.0.0.1/"))
    return FramedConnection.Terms(
      compression: nil, ratioLimit: nil, options: WebSocket.Options(), clock: ManualClock(),
      reporter: MessageReporter(Call()), request: RequestHead(method: .get, url: url),
      response: ResponseHead(status: .switchingProtocols, fields: [:]))
  }
}
