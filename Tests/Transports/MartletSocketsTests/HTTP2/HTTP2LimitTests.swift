#if os(Linux)
import MartletEngine
import MartletSemantics
import Testing
@testable import MartletSockets

/// Sizes of heads, and floods of frames (RFC 9113 §10.5).
@Suite(.timeLimit(.minutes(5)))
struct HTTP2LimitTests {
  private func fields(_ count: Int, size: Int) -> [(String, String)] {
    (0..<count).map { ("field-\($0)", String(repeating: "v", count: size)) }
  }

  @Test func aHeadOf250KiBIsAccepted() throws {
    let client = try HTTP2Client()
    let (_, recorder) = try client.submit()
    client.pull()

    client.receive(Frames.settings() + Frames.headers("200", fields(5, size: 50_000), ends: true))

    #expect(recorder.events.last == "end")
    #expect(recorder.head?.fields.count == 5)
  }

  @Test func aHeadAboveTheLimitFailsItsStreamOnly() throws {
    let client = try HTTP2Client()
    let (_, recorder) = try client.submit()
    client.pull()

    client.receive(Frames.settings() + Frames.headers("200", fields(6, size: 50_000)))

    #expect(recorder.failure?.error.kind == .headersTooLarge)
    #expect(recorder.failure?.error.phase == .waiting)
    #expect(client.session.failure == nil)
    let (next, nextRecorder) = try client.submit()
    client.pull()
    client.receive(Frames.headers(stream: Int(next), ends: true))
    #expect(nextRecorder.events.last == "end")
  }

  /// All heads and the trailers count together.
  @Test(arguments: [
    [Frames.headers("103", [("a", "0123456789")]), Frames.headers("200", [("b", "0123456789")])],
    [Frames.headers("200", [("a", "0123456789")]), Frames.trailers([("b", "0123456789")])],
  ])
  func everyHeadCounts(_ frames: [[UInt8]]) throws {
    for (limit, isTooLarge) in [(20, true), (60, false)] {
      let client = try HTTP2Client()
      let (_, recorder) = try client.submit(headerLimit: limit)
      client.pull()

      client.receive(Frames.settings() + frames.joined())

      #expect((recorder.failure?.error.kind == .headersTooLarge) == isTooLarge)
    }
  }

  /// nghttp2 does not decode it, so that nothing can be said about the rest of the connection.
  @Test func aLineAbove64KiBEndsTheConnection() throws {
    let client = try HTTP2Client()
    let (_, recorder) = try client.submit()
    client.pull()

    client.receive(Frames.settings() + Frames.headers("200", fields(1, size: 70_000)))

    #expect(recorder.failure?.error.kind == .protocolViolation)
    #expect(recorder.failure?.error.message.contains("64 KiB") == true)
    #expect(client.session.failure != nil)
  }

  /// Each comes too often. Stream 1 is closed, stream 3 is open.
  static let floods: [(name: String, frame: [UInt8])] = [
    ("PING", Frames.ping()), ("PING that acknowledges nothing", Frames.ping(9, flags: Frames.acknowledgement)),
    ("SETTINGS", Frames.settings()), ("SETTINGS with values", Frames.settings([(3, 100), (4, 65_535)])),
    ("RST_STREAM of a closed stream", Frames.reset(0)), ("HEADERS of a closed stream", Frames.headers()),
    ("empty DATA", Frames.data("", stream: 3)), ("padded empty DATA", Frames.data("", stream: 3, padding: 0)),
    ("WINDOW_UPDATE", Frames.windowUpdate(1, stream: 3)), ("PRIORITY", Frames.frame(2, stream: 3, [0, 0, 0, 0, 1])),
    ("PRIORITY of idle streams", Frames.frame(2, stream: 201, [0, 0, 0, 0, 1])),
    ("DATA of padding", Frames.data("", stream: 3, padding: 9)), ("GOAWAY", Frames.goAway(0x7fff_ffff)),
  ]

  @Test(arguments: floods.map(\.name))
  func aFloodEndsTheConnection(_ name: String) throws {
    let frame = try #require(Self.floods.first { $0.name == name }?.frame)
    for perRead in [1, 400, 5000] {
      let client = try HTTP2Client()
      _ = try client.submit()
      let (_, recorder) = try client.submit()
      client.pull()
      client.receive(Frames.settings() + Frames.headers(ends: true) + Frames.headers(stream: 3))
      var sent = 0
      while client.session.failure == nil, sent < 20_000 {
        client.receive(Array(repeatElement(frame, count: perRead).joined()))
        sent += perRead
        _ = client.takeOutput()
      }

      #expect(sent <= FrameBudget.most + 5000)
      #expect(client.session.failure != nil)
      #expect(recorder.events.count == 2)
      #expect(recorder.events.last?.hasPrefix("failed") == true)
    }
  }

  @Test func framesWithoutContentAreFineAtAModestPace() throws {
    let client = try HTTP2Client()
    client.receive(Frames.settings())
    for _ in 0..<10_000 {
      client.now += 10_000_000
      #expect(client.receive(Frames.ping()) == nil)
      _ = client.takeOutput()
    }
  }

  @Test func updatesOfTheWindowAreFineWhileABodyIsSent() throws {
    let client = try HTTP2Client()
    client.receive(Frames.settings())
    let (id, recorder) = try client.submit(
      .post, body: .unknownLength, parts: [.bytes([UInt8](repeating: 1, count: 20_000_000), .end)])
    client.pull()
    var updates = 0
    while !recorder.isSent, client.session.failure == nil, updates < 100_000 {
      let count = client.takeOutput().count
      if count == 0 { break }
      client.receive(Frames.windowUpdate(count, stream: Int(id)) + Frames.windowUpdate(count) + Frames.ping())
      updates += 1
    }
    #expect(recorder.isSent)
    #expect(client.session.failure == nil)
  }

  @Test func manyContinuationsAreTooLarge() throws {
    let client = try HTTP2Client()
    let (_, recorder) = try client.submit()
    client.pull()
    client.receive(Frames.settings() + Frames.frame(1, stream: 1, Frames.literal(":status", "200")))

    for _ in 0..<100 { client.receive(Frames.frame(9, stream: 1)) }

    #expect(recorder.failure?.error.kind == .headersTooLarge)
    #expect(client.session.failure?.kind == .headersTooLarge)
  }

  /// Returns how many frames the budget pays for, at most 10,000.
  private func spend(_ budget: inout FrameBudget) -> Int {
    var count = 0
    while count < 10_000, budget.spend() { count += 1 }
    return count
  }

  @Test func aBudgetGrowsWithTime() {
    var budget = FrameBudget()
    budget.refill(now: 5_000_000_000)
    #expect(spend(&budget) == FrameBudget.most)

    budget = FrameBudget()
    budget.refill(now: 0)
    for _ in 0..<FrameBudget.most { _ = budget.spend() }
    // in steps that are shorter than the time of a frame
    for step in 1...10 { budget.refill(now: UInt64(step) * 1_000_000) }
    #expect(spend(&budget) == 2)
  }

  @Test func aBudgetGrowsWithFramesSent() {
    var budget = FrameBudget()
    for _ in 0..<FrameBudget.most { _ = budget.spend() }
    budget.addForFrameSent()
    #expect(spend(&budget) == FrameBudget.perFrameSent)
  }

  @Test func aClockThatJumpsDoesNotBreakABudget() {
    var budget = FrameBudget()
    budget.refill(now: 10)
    for _ in 0..<FrameBudget.most { _ = budget.spend() }
    budget.refill(now: 5)
    #expect(spend(&budget) == 0)
    budget.refill(now: .max)
    #expect((1...FrameBudget.most).contains(spend(&budget)))
  }
}
#endif
