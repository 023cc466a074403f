#if os(Linux)
import MartletEngine
import MartletSemantics
import TestSupport
import Testing
@testable import MartletSockets

/// Randomly damaged frames, with fixed seeds. Whatever a server sends, there is no trap, the memory is bounded, and
/// each request has one last event with nothing after it.
@Suite(.timeLimit(.minutes(5)))
struct HTTP2FuzzTests {
  @Test(arguments: 1...8)
  func damagedFramesAreHarmless(seed: Int) throws {
    var random = SeededGenerator(seed: UInt64(seed))
    let rows = HTTP2Row.valid + HTTP2Row.malformed + HTTP2Row.broken + HTTP2Row.unfinished
    for _ in 0..<150 {
      var bytes = Frames.settings()
      for _ in 0..<Int.random(in: 1...4, using: &random) { bytes += rows.randomElement(using: &random)?.frames ?? [] }
      for _ in 0..<Int.random(in: 0...6, using: &random) { damage(&bytes, &random) }
      try check(bytes, &random)
    }
  }

  @Test(arguments: 1...8)
  func framesAtRandomAreHarmless(seed: Int) throws {
    var random = SeededGenerator(seed: UInt64(seed) &* 7919)
    for _ in 0..<150 {
      var bytes = Frames.settings()
      for _ in 0..<Int.random(in: 1...30, using: &random) { bytes += frame(&random) }
      try check(bytes, &random)
    }
  }

  private func damage(_ bytes: inout [UInt8], _ random: inout SeededGenerator) {
    guard !bytes.isEmpty else { return }
    let place = Int.random(in: 0..<bytes.count, using: &random)
    let end = min(bytes.count, place + Int.random(in: 1...20, using: &random))
    switch Int.random(in: 0..<5, using: &random) {
    case 0: bytes[place] = UInt8.random(in: 0...255, using: &random)
    case 1: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
    case 2: bytes.removeSubrange(place..<end)
    case 3: bytes.insert(contentsOf: bytes[place..<end], at: place)
    default: bytes.insert(UInt8.random(in: 0...255, using: &random), at: place)
    }
  }

  /// A frame whose parts are each correct most of the time.
  private func frame(_ random: inout SeededGenerator) -> [UInt8] {
    let stream = [0, 1, 1, 1, 3, 3, 5, 2, 7, 101].randomElement(using: &random) ?? 1
    let text = ["", "a", "body", String(repeating: "x", count: 3000)].randomElement(using: &random) ?? ""
    let ends = Int.random(in: 0..<4, using: &random) == 0
    switch Int.random(in: 0..<14, using: &random) {
    case 0, 1, 2:
      let status = ["200", "200", "204", "103", "404", "99", ""].randomElement(using: &random)
      let fields = [
        ("a", "b"), ("content-length", "4"), ("set-cookie", text), ("A", "b"), (":status", "200"), ("te", "x"),
      ]
      let count = Int.random(in: 0...2, using: &random)
      return Frames.headers(
        status, Array(fields.shuffled(using: &random).prefix(count)), stream: stream, ends: ends,
        pieces: Int.random(in: 1...40, using: &random))
    case 3, 4, 5: return Frames.data(text, stream: stream, ends: ends, padding: ends ? nil : 2)
    case 6: return Frames.trailers([("t", text)], stream: stream, ends: !ends)
    case 7: return Frames.reset(Int.random(in: 0...14, using: &random), stream: stream)
    case 8:
      return Frames.settings([
        (Int.random(in: 1...9, using: &random), [0, 1, 100, 65_535].randomElement(using: &random) ?? 0)
      ])
    case 9:
      return Frames.windowUpdate([1, 1, 0, 70_000, 0x7fff_ffff].randomElement(using: &random) ?? 1, stream: stream)
    case 10: return Frames.ping(1, flags: ends ? 1 : 0)
    case 11: return ends ? Frames.goAway([0, 1, 3, 0x7fff_ffff].randomElement(using: &random) ?? 0) : []
    case 12:
      return Frames.frame(
        UInt8.random(in: 0...12, using: &random), flags: UInt8.random(in: 0...63, using: &random), stream: stream,
        Array(text.utf8.prefix(20)))
    default: return Frames.frame(4, flags: 1, stream: 0)
    }
  }

  /// Passes the bytes in pieces, while requests are sent, read, and reset.
  private func check(_ bytes: [UInt8], _ random: inout SeededGenerator) throws {
    let client = try HTTP2Client()
    var recorders: [(id: Int32, recorder: HTTP2Recorder)] = []
    let body = [UInt8](repeating: 1, count: 100_000)
    for number in 0..<4 {
      recorders.append(
        number == 1
          ? try client.submit(.post, framing: .unknownLength, parts: [.bytes(body, .more), .pause, .bytes([1], .end)])
          : try client.submit(number == 2 ? .head : .get))
      if number == 2 { client.pull() }
    }
    var reset: Set<Int32> = []
    var rest = bytes[...]
    while !rest.isEmpty {
      let piece = rest.prefix(Int.random(in: 1...200, using: &random))
      rest = rest.dropFirst(piece.count)
      if client.receive(Array(piece)) != nil { break }
      #expect(client.takeOutput().count < 400_000)
      switch Int.random(in: 0..<12, using: &random) {
      case 0:
        let id = recorders[Int.random(in: 0..<recorders.count, using: &random)].id
        client.session.reset(id)
        reset.insert(id)
      case 1: client.session.resume(3)
      case 2: client.session.consumed(Int.random(in: 0...3000, using: &random), of: 1)
      case 3: client.session.ping()
      case 4 where client.capacity > 0: recorders.append(try client.submit())
      default: break
      }
    }
    client.session.connectionEnded()

    for (id, recorder) in recorders {
      let lasts = recorder.events.count { $0.hasPrefix("end") || $0.hasPrefix("failed") }
      #expect(lasts == 1 || lasts == 0 && reset.contains(id), "\(recorder.events)")
      if lasts == 1 { #expect(recorder.events.last.map { $0.hasPrefix("end") || $0.hasPrefix("failed") } == true) }
      #expect(recorder.events.count { $0.hasPrefix("head") } <= 1)
    }
    #expect(client.session.streams.isEmpty)
  }
}
#endif
