import MartletEngine
@_spi(Toolkit) import MartletSemantics
import TestSupport
import Testing

@_spi(Toolkit) @testable import MartletSockets

/// The table of raw responses, without a connection: at once, in pieces, and mutated.
@Suite(.timeLimit(.minutes(5)))
struct RawMessageTests {
  @Test func theTableIsRead() { #expect(RawMessage.table.count >= 200) }

  @Test(arguments: RawMessage.table)
  func messageHasTheExpectedOutcome(_ message: RawMessage) throws {
    let read = try read(message, [message.bytes[...]])
    let expected = message.expect
    switch expected.refused {
    case nil, "undecodableBody": #expect(read.failure == nil)
    case "bodyTooLarge": return #expect(read.framing == .length(.max))
    case let kind?: return #expect(read.failure?.kind.name == kind)
    }
    #expect(read.isComplete)
    let head = ResponseHead(lines: try #require(read.head))
    #expect(read.informational.map { ResponseHead(lines: $0).status.code } == expected.interim ?? [])
    if let status = expected.status { #expect(head.status.code == status) }
    // content codings are decoded above the transport
    if let body = expected.body, !head.fields.contains(.contentEncoding) { #expect(read.body == body.bytes) }
    for (name, values) in expected.fields ?? [:] where name != "Content-Encoding" {
      #expect(try head.fields[values: FieldName(name)] == values.map(\.text))
    }
    for (name, values) in expected.trailers ?? [:] {
      #expect(try HTTPFields(lines: read.trailers[...])[values: FieldName(name)] == values.map(\.text))
    }
    if let reused = expected.reused { #expect(isReused(read, message) == reused) }
  }

  /// Byte by byte, and in two pieces, cut at every byte; a long one only at some.
  @Test(arguments: RawMessage.table)
  func cutMessageHasTheSameOutcome(_ message: RawMessage) throws {
    let bytes = message.bytes
    let whole = try read(message, [bytes[...]])
    let isShort = bytes.count < 1000
    #expect(try read(message, cut(bytes, at: Array(stride(from: 0, to: bytes.count, by: isShort ? 1 : 97)))) == whole)
    let offsets = Array(stride(from: 0, through: bytes.count, by: isShort ? 1 : 30_011))
    for offset in offsets {
      let read = try read(message, cut(bytes, at: [offset]))
      if read != whole { Issue.record("cut at \(offset): \(read)") }
    }
  }

  /// The parser never traps, an outcome does not depend on how the input is cut, and nothing is consumed beyond the end
  /// of a response.
  @Test(arguments: [1, 2, 3, 4] as [UInt64])
  func mutatedMessagesHaveOneOutcome(_ seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let replies = RawMessage.table.map { ($0, $0.bytes) }.filter { $0.1.count < 400 }
    var outcomes: [String: Int] = [:]
    for _ in 0..<5000 {
      guard let (message, bytes) = replies.randomElement(using: &random) else { break }
      let mutated = Mutation.mutated(bytes, from: replies.map(\.1), using: &random)
      // small limits, too
      let limit = Int.random(in: 20...400, using: &random)
      let whole = try read(message, [mutated[...]], headLimit: limit)
      let offsets = (0..<Int.random(in: 1...4, using: &random)).map { _ in
        Int.random(in: 0...mutated.count, using: &random)
      }
      let pieces = try read(message, cut(mutated, at: offsets.sorted()), headLimit: limit)
      if pieces != whole { Issue.record("cut at \(offsets): \(mutated) \(whole) \(pieces)") }
      if whole.isComplete, whole.framing != .untilClose { try checkEnd(of: whole, message, mutated) }
      outcomes[whole.failure?.kind.name ?? (whole.isComplete ? "complete" : "open"), default: 0] += 1
    }
    #expect(outcomes.keys.sorted() == ["complete", "connectionLost", "headTooLarge", "open", "protocolViolation"])
    #expect(outcomes.values.allSatisfy { $0 > 50 })
  }

  /// A response needs all of its bytes, and none after them.
  private func checkEnd(of whole: ReadResponse, _ message: RawMessage, _ bytes: [UInt8]) throws {
    let end = bytes.count - whole.rest.count
    var exact = try read(message, [bytes[..<end]])
    exact.rest = whole.rest
    if exact != whole { Issue.record("it consumes too much: \(bytes)") }
    if try read(message, [bytes[..<(end - 1)]], then: .open).isComplete {
      Issue.record("it has ended before: \(bytes)")
    }
  }

  private func read(
    _ message: RawMessage, _ pieces: [ArraySlice<UInt8>], then ending: ReadResponse.Ending? = nil,
    headLimit: Int = 256 << 10
  ) throws -> ReadResponse {
    let method = try #require(HTTPMethod(rawValue: message.method ?? "GET"))
    let declared: ReadResponse.Ending =
      message.idle != nil ? .open : message.then == "close" ? .closed : message.then == "reset" ? .unclean : .open
    return ReadResponse.read(pieces, then: ending ?? declared, answering: method, headLimit: headLimit)
  }

  /// Whether the connection would get another request after the response and the bytes after it.
  private func isReused(_ read: ReadResponse, _ message: RawMessage) -> Bool {
    var state = HTTP1ConnectionState()
    _ = state.beginRequest()
    state.sentBytes()
    state.sentRequest()
    _ = state.receivedBytes()
    _ = state.receivedHead(status: read.status)
    _ = state.receivedEnd(
      keepsConnection: read.keepsConnection, hasUpgraded: read.hasUpgraded, hasExcess: !read.rest.isEmpty)
    if message.idle?.isEmpty == false { _ = state.receivedBytes() }
    return message.then == nil && state.beginRequest()
  }
}
