#if os(Linux)
import MartletEngine
import MartletSemantics
import Testing
@testable import MartletSockets

/// Windows, limits of streams, and the order in which requests and bodies are sent.
@Suite(.timeLimit(.minutes(5)))
struct HTTP2FlowTests {
  private func settings(streamWindow: Int, connectionWindow: Int) -> HTTP2Settings {
    var settings = HTTP2Settings()
    settings.streamWindow = streamWindow
    settings.connectionWindow = connectionWindow
    return settings
  }

  @Test func aStalledReaderBlocksNobody() throws {
    let client = try HTTP2Client(settings(streamWindow: 20_000, connectionWindow: 65_535))
    let server = HTTP2Server()
    let body = [UInt8](repeating: 3, count: 100_000)
    server.onRequest = { server.respond($0, body: body) }
    let (stalled, stalledRecorder) = try client.submit()
    let others = try (0..<63).map { _ in
      let (id, recorder) = try client.submit()
      recorder.onBody = { client.session.consumed($0, of: id) }
      return recorder
    }

    client.talk(to: server)

    for other in others {
      #expect(other.events.last == "end")
      #expect(other.body.count == body.count)
    }
    #expect(stalledRecorder.body.count == 20_000)
    #expect(server.unsentCount(stalled) == 80_000)

    stalledRecorder.onBody = { client.session.consumed($0, of: stalled) }
    client.session.consumed(20_000, of: stalled)
    client.talk(to: server)
    #expect(stalledRecorder.events.last == "end")
    #expect(stalledRecorder.body == body)
  }

  @Test func ignoredDataGivesTheConnectionsWindowBack() throws {
    let client = try HTTP2Client(settings(streamWindow: 60_000, connectionWindow: 65_535))
    let server = HTTP2Server()
    server.onRequest = { server.respond($0, body: [UInt8](repeating: 3, count: 50_000)) }
    for _ in 0..<10 {
      let (id, _) = try client.submit()
      client.pull()
      server.receive(client.takeOutput())
      let response = server.pull()
      client.session.reset(id)
      client.receive(response)
    }
    let (_, recorder) = try client.submit()

    client.talk(to: server)

    #expect(recorder.events.last == "end")
  }

  @Test func aServerThatExceedsTheWindowOfAStreamIsRefused() throws {
    let client = try HTTP2Client(settings(streamWindow: 65_535, connectionWindow: 1 << 20))
    let (_, recorder) = try client.submit()
    client.pull()
    client.receive(Frames.settings())
    client.receive(Frames.headers())
    for _ in 0..<5 { client.receive(Frames.data(String(repeating: "x", count: 16_000))) }

    #expect(recorder.events == ["head HTTP/2 200 |", "body", "failed protocolViolation receiving unknown"])
    #expect(recorder.failure?.error.message.contains("window") == true)
    #expect(recorder.body.count <= 65_535 + 16_384)
    #expect(client.session.failure == nil)
  }

  @Test func aBodyIsReadAsFarAsTheWindowAllows() throws {
    let client = try HTTP2Client()
    let (id, recorder) = try client.submit(
      .post, framing: .unknownLength, parts: [.bytes([UInt8](repeating: 1, count: 200_000), .end)])
    client.receive(Frames.settings())
    client.pull()
    #expect(client.takeOutput().count < 70_000)
    #expect(!recorder.isSent)

    client.receive(Frames.windowUpdate(1000, stream: Int(id)) + Frames.windowUpdate(1000))
    #expect((1000..<1100).contains(client.takeOutput().count))

    client.receive(Frames.windowUpdate(1 << 20, stream: Int(id)) + Frames.windowUpdate(1 << 20))
    #expect(recorder.isSent)
  }

  @Test func aPullStopsAtItsLimit() throws {
    let client = try HTTP2Client()
    let (_, recorder) = try client.submit(
      .post, framing: .unknownLength, parts: [.bytes([UInt8](repeating: 1, count: 60_000), .end)])
    client.receive(Frames.settings())
    _ = client.takeOutput()

    client.pull(upTo: 20_000)

    #expect(recorder.readCount <= 4)
    #expect(client.output.count < 40_000)
    client.pull()
    #expect(recorder.isSent)
  }

  @Test func a100StreamsAreAssumedBeforeSettings() throws {
    let client = try HTTP2Client()
    #expect(client.capacity == 100)
    for _ in 0..<100 { try client.submit() }
    #expect(client.capacity == 0)

    client.receive(Frames.settings([(3, 128)]))

    #expect(client.capacity == 28)
    #expect(client.session.hasNewCapacity)
    client.receive(Frames.headers(stream: 1, ends: true))
    #expect(client.capacity == 29)
  }

  @Test func requestsAboveTheLimitWaitForAStream() throws {
    let client = try HTTP2Client()
    let server = HTTP2Server(maxStreams: 2)
    client.talk(to: server)
    #expect(client.capacity == 2)
    let recorders = try (0..<5).map { _ in try client.submit().recorder }
    client.talk(to: server)
    #expect(server.order == [1, 3])
    #expect(client.capacity == 0)

    for id in [3, 1, 5, 7, 9] as [Int32] {
      server.respond(id)
      client.talk(to: server)
    }

    #expect(server.order == [1, 3, 5, 7, 9])
    #expect(recorders.allSatisfy { $0.events == ["head HTTP/2 200 |", "end"] })
    #expect(client.capacity == 2)
  }

  @Test func aServerThatAllowsNoStreamsHasNoCapacity() throws {
    let client = try HTTP2Client()
    client.receive(Frames.settings([(3, 0)]))
    #expect(client.capacity == 0)
    #expect(!client.session.isDraining)
  }

  @Test func aRequestIsSentBeforeTheRestOfABody() throws {
    let client = try HTTP2Client()
    client.receive(Frames.settings())
    let (_, first) = try client.submit(
      .post, framing: .unknownLength, parts: [.bytes([UInt8](repeating: 1, count: 60_000), .end)])
    while first.readCount < 1 { client.pull(upTo: client.output.count + 1) }
    let (_, second) = try client.submit()

    while !second.isSent { client.pull(upTo: client.output.count + 1) }

    #expect(first.readCount < 4)
    #expect(!first.isSent)
  }

  @Test func bodiesAreSentInTurns() throws {
    let client = try HTTP2Client()
    let most = 0x7fff_ffff
    client.receive(Frames.settings([(4, most)]) + Frames.windowUpdate(most - 65_535))
    let piece = HTTP2TestPart.bytes([UInt8](repeating: 1, count: 16_384), .more)
    let recorders = try (0..<8).map { _ in
      try client.submit(.post, framing: .unknownLength, parts: Array(repeating: piece, count: 100)).recorder
    }

    for _ in 0..<40 { client.pull(upTo: client.output.count + 1) }

    let counts = recorders.map(\.readCount)
    #expect((counts.max() ?? 0) - (counts.min() ?? 0) <= 1)
    #expect(counts.reduce(0, +) > 24)
  }

  /// The owner submits after each change, like a pool with waiters.
  @Test func aWaiterMaySubmitWhenAStreamIsClosed() throws {
    let client = try HTTP2Client()
    let server = HTTP2Server(maxStreams: 2)
    client.talk(to: server)
    server.onRequest = { server.respond($0, body: [1, 2, 3]) }
    var recorders: [HTTP2Recorder] = []
    client.onNewCapacity = {
      while client.capacity > 0, recorders.count < 20 {
        guard let recorder = try? client.submit().recorder else { return }
        recorders.append(recorder)
      }
    }
    recorders.append(try client.submit().recorder)

    client.talk(to: server)

    #expect(recorders.count == 20)
    #expect(recorders.allSatisfy { $0.events == ["head HTTP/2 200 |", "body", "end"] })
  }
}
#endif
