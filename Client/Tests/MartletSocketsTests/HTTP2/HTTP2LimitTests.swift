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

    #expect(recorder.failure?.error.kind == .headTooLarge)
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
      let (_, recorder) = try client.submit(headLimit: limit)
      client.pull()

      client.receive(Frames.settings() + frames.joined())

      #expect((recorder.failure?.error.kind == .headTooLarge) == isTooLarge)
    }
  }

  /// nghttp2 does not decode it, so the rest of the connection is unknown.
  @Test func aLineAbove64KiBEndsTheConnection() throws {
    let client = try HTTP2Client()
    let (_, recorder) = try client.submit()
    client.pull()

    client.receive(Frames.settings() + Frames.headers("200", fields(1, size: 70_000)))

    #expect(recorder.failure?.error.kind == .protocolViolation)
    #expect(recorder.failure?.error.message.contains("64 KiB") == true)
    #expect(client.session.failure != nil)
  }

  /// Each of them comes too often. Stream 1 is closed, stream 3 is open.
  static let floods: [(name: String, frame: [UInt8])] = [
    ("PING", Frames.ping()), ("PING that acknowledges nothing", Frames.ping(9, flags: Frames.acknowledgement)),
    ("SETTINGS", Frames.settings()), ("SETTINGS with values", Frames.settings([(3, 100), (4, 65_535)])),
    ("RST_STREAM of a closed stream", Frames.reset(0)), ("HEADERS of a closed stream", Frames.headers()),
    ("empty DATA", Frames.data("", stream: 3)), ("padded empty DATA", Frames.data("", stream: 3, padding: 0)),
    ("WINDOW_UPDATE", Frames.windowUpdate(1, stream: 3)), ("PRIORITY", Frames.frame(2, stream: 3, [0, 0, 0, 0, 1])),
    ("PRIORITY of idle streams", Frames.frame(2, stream: 201, [0, 0, 0, 0, 1])),
    ("DATA of padding", Frames.data("", stream: 3, padding: 9)), ("GOAWAY", Frames.goAway(0x7fff_ffff)),
    ("GOAWAY with a reason", Frames.goAway(0x7fff_ffff, debug: String(repeating: "x", count: 8000))),
    ("an unknown type", Frames.frame(0xfa, stream: 0)), ("an unknown type of a stream", Frames.frame(0xfa, stream: 3)),
    ("an unknown type with content", Frames.frame(0xfa, stream: 0, [UInt8](repeating: 0, count: 16_000))),
    ("ALTSVC", Frames.frame(10, stream: 0, [0, 1, 97, 98])),
    ("PRIORITY_UPDATE", Frames.frame(16, stream: 0, [0, 0, 0, 3])),
    ("DATA of a closed stream", Frames.data("x")),
    ("large HEADERS of a closed stream", Frames.headers("200", [("a", String(repeating: "b", count: 60_000))])),
  ]

  /// Also after a large upload, whose updates the server has not sent yet.
  @Test(arguments: floods.map(\.name), [false, true])
  func aFloodEndsTheConnection(_ name: String, afterUpload: Bool) throws {
    let frame = try #require(Self.floods.first { $0.name == name }?.frame)
    for perRead in [min(400, 100_000 / frame.count), min(5000, 100_000 / frame.count)] {
      let client = try HTTP2Client()
      _ = try client.submit()
      let (_, recorder) = try client.submit()
      client.pull()
      client.receive(Frames.settings() + Frames.headers(ends: true) + Frames.headers(stream: 3))
      if afterUpload { client.session.budget.addForDataSent(1 << 30, isCutShort: false) }
      let flood = Array(repeatElement(frame, count: perRead).joined())
      var sent = 0
      var frames = 0
      while client.session.failure == nil, sent < 6_000_000 {
        client.receive(flood, pieces: 16 << 10)
        sent += perRead * frame.count
        frames += perRead
        _ = client.takeOutput()
      }

      #expect(sent <= 5_000_000)
      #expect(frames <= FrameBudget.frameLimit + FrameBudget.updateLimit + FrameBudget.byteLimit / 9 + 5000)
      #expect(client.session.failure?.kind == .protocolViolation)
      #expect(recorder.events.count == 2)
      #expect(recorder.events.last?.hasPrefix("failed") == true)
    }
  }

  /// A body in pieces: the recorder copies the rest of one each time.
  private func parts(_ count: Int) -> [HTTP2TestPart] {
    let size = 64 << 10
    return Array(repeating: .bytes([UInt8](repeating: 1, count: size), .more), count: count / size) + [.bytes([], .end)]
  }

  /// CVE-2024-27316: the head is too large long before its end.
  @Test func aFloodOfContinuationsEndsTheConnection() throws {
    let client = try HTTP2Client()
    let (_, recorder) = try client.submit()
    client.pull()
    client.receive(Frames.settings())
    var sent = 0
    while client.session.failure == nil, sent < 6_000_000 {
      let block = Frames.literal("a", String(repeating: "b", count: 15_000))
      let frame = Frames.frame(
        sent == 0 ? 1 : 9, stream: 1, sent == 0 ? Frames.literal(":status", "200") + block : block)
      client.receive(frame)
      sent += frame.count
    }

    #expect(sent <= 5_000_000)
    #expect(recorder.failure?.error.kind == .headTooLarge)
  }

  /// CVE-2019-9511: each byte of the window costs a frame, and two updates.
  @Test func aWindowThatIsOpenedByteByByteEndsTheConnection() throws {
    let client = try HTTP2Client()
    client.receive(Frames.settings([(4, 1)]))
    let (id, recorder) = try client.submit(.post, framing: .unknownLength, parts: parts(1 << 20))
    client.pull()
    var sent = 0
    while client.session.failure == nil, sent < 6_000_000 {
      let updates = Frames.windowUpdate(1, stream: Int(id)) + Frames.windowUpdate(1)
      client.receive(updates)
      sent += updates.count
    }

    #expect(sent <= 5_000_000)
    #expect(recorder.failure?.error.message.contains("floods") == true)
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

  /// The output of an honest server during an upload: an update of the stream and one of the connection for each piece
  /// that it received, and a PING with each of them. They come at once, for everything that its window allowed.
  @Test(arguments: [
    (piece: 1 << 10, window: 65_535, size: 4 << 20), (4 << 10, 65_535, 12 << 20), (1 << 10, 1 << 20, 4 << 20),
    (1 << 10, 16 << 20, 17 << 20),
  ])
  func updatesForEachPieceOfABodyAreFine(piece: Int, window: Int, size: Int) throws {
    let client = try HTTP2Client()
    client.receive(Frames.settings([(4, window)]) + Frames.windowUpdate(window - 65_535 + 1))
    let (id, recorder) = try client.submit(.post, framing: .unknownLength, parts: parts(size))
    client.pull()
    while !recorder.isSent, client.session.failure == nil {
      let taken = dataCount(client.takeOutput())
      try #require(taken > 0)
      let whole = updates(piece, of: id)
      let atOnce = 200  // fits into the session's input at once
      for start in stride(from: 0, to: taken / piece, by: atOnce) {
        client.receive(Array(repeatElement(whole, count: min(atOnce, taken / piece - start)).joined()))
      }
      if taken % piece > 0 { client.receive(updates(taken % piece, of: id)) }
    }
    #expect(recorder.isSent)
    #expect(client.session.failure == nil)
  }

  private func updates(_ count: Int, of id: Int32) -> [UInt8] {
    Frames.windowUpdate(count, stream: Int(id)) + Frames.ping() + Frames.windowUpdate(count) + Frames.ping()
  }

  /// The same with messages that are shorter than a KiB.
  @Test func updatesForEachMessageAreFine() throws {
    let client = try HTTP2Client()
    client.receive(Frames.settings())
    let (id, recorder) = try client.submit(.post, framing: .unknownLength, parts: [])
    client.pull()
    for _ in 0..<2000 {
      recorder.parts = [.bytes([1, 2, 3], .more), .pause]
      client.session.resume(id)
      client.pull()
      let count = dataCount(client.takeOutput())
      try #require(count == 3)
      client.receive(updates(count, of: id))
    }
    #expect(client.session.failure == nil)
  }

  /// The number of bytes in the DATA of frames.
  private func dataCount(_ frames: [UInt8]) -> Int {
    var count = 0
    var position = frames.starts(with: "PRI".utf8) ? 24 : 0
    while position + 9 <= frames.count {
      let size = frames[position..<(position + 3)].reduce(0) { $0 << 8 | Int($1) }
      if frames[position + 3] == 0 { count += size }
      position += 9 + size
    }
    return count
  }

  /// A server that measures the bandwidth of a response.
  @Test func aPingWithEachPieceOfAResponseIsFine() throws {
    let client = try HTTP2Client()
    let (id, recorder) = try client.submit()
    client.pull()
    client.receive(Frames.settings() + Frames.headers())
    let frames = Frames.data("x") + Frames.ping()
    for _ in 0..<5000 {
      client.receive(frames)
      client.session.consumed(1, of: id)
      _ = client.takeOutput()
    }
    client.receive(Frames.data("", ends: true))

    #expect(recorder.events.last == "end")
  }

  /// The frames in transit when requests were cancelled.
  @Test func theRestOfBodiesThatWereCancelledIsFine() throws {
    let client = try HTTP2Client()
    client.receive(Frames.settings())
    let ids = try (0..<8).map { _ in try client.submit().id }
    client.pull()
    for id in ids { client.receive(Frames.headers(stream: Int(id))) }
    for id in ids { client.session.reset(id) }
    client.pull()
    let piece = String(repeating: "x", count: 16_000)
    for id in ids {
      let frame = Frames.data(piece, stream: Int(id))
      for _ in 0..<131 { client.receive(frame) }
    }

    #expect(client.session.failure == nil)
    let frame = Frames.data(piece)
    for _ in 0..<500 { client.receive(frame) }
    #expect(client.session.failure != nil)
  }

  @Test func manyContinuationsAreTooLarge() throws {
    let client = try HTTP2Client()
    let (_, recorder) = try client.submit()
    client.pull()
    client.receive(Frames.settings() + Frames.frame(1, stream: 1, Frames.literal(":status", "200")))

    for _ in 0..<100 { client.receive(Frames.frame(9, stream: 1)) }

    #expect(recorder.failure?.error.kind == .headTooLarge)
    #expect(client.session.failure?.kind == .headTooLarge)
  }

  /// Returns how many frames the budget allows, at most 10,000.
  private func spend(_ budget: inout FrameBudget) -> Int {
    var count = 0
    while count < 10_000, budget.spend() { count += 1 }
    return count
  }

  @Test func aBudgetGrowsWithTime() {
    var budget = FrameBudget()
    budget.refill(now: 5_000_000_000)
    #expect(spend(&budget) == FrameBudget.frameLimit)

    budget = FrameBudget()
    budget.refill(now: 0)
    for _ in 0..<FrameBudget.frameLimit { _ = budget.spend() }
    // in steps that are shorter than the time of a frame
    for step in 1...10 { budget.refill(now: UInt64(step) * 1_000_000) }
    #expect(spend(&budget) == 2)
  }

  @Test func aBudgetGrowsWithFramesSent() {
    var budget = FrameBudget()
    for _ in 0..<FrameBudget.frameLimit { _ = budget.spend() }
    budget.addForHeadersSent()
    #expect(spend(&budget) == FrameBudget.perFrameSent)
  }

  @Test(arguments: [
    (0, false, 4), (1023, false, 7), (1024, false, 8), (16_384, false, 68), (1, true, 0), (1024, true, 4),
    (1 << 30, false, FrameBudget.updateLimit),
  ])
  func aBudgetForUpdatesGrowsWithDataSent(_ count: Int, isCutShort: Bool, updates: Int) {
    var budget = FrameBudget()
    for _ in 0..<FrameBudget.frameLimit { _ = budget.spend() }
    budget.addForDataSent(count, isCutShort: isCutShort)
    var paid = 0
    while budget.spendUpdate(bytes: 13) { paid += 1 }
    #expect(paid == updates)
  }

  @Test func aBudgetOfBytesGrowsWithTime() {
    var budget = FrameBudget()
    budget.refill(now: 0)
    let results = [
      (0, FrameBudget.byteLimit), (0, 1), (1_000_000_000, 100_000), (1_000_000_000_000, FrameBudget.byteLimit + 1),
    ].map { (now: UInt64, bytes: Int) in
      budget.refill(now: now)
      return budget.spend(bytes: bytes)
    }
    #expect(results == [true, false, true, false])
  }

  @Test func aClockThatJumpsDoesNotBreakABudget() {
    var budget = FrameBudget()
    budget.refill(now: 10)
    for _ in 0..<FrameBudget.frameLimit { _ = budget.spend() }
    budget.refill(now: 5)
    #expect(spend(&budget) == 0)
    budget.refill(now: .max)
    #expect((1...FrameBudget.frameLimit).contains(spend(&budget)))
  }
}
#endif
