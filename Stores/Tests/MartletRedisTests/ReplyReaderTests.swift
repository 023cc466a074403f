import MartletSemantics
import TestSupport
import Testing

@testable import MartletRedis

@Suite struct ReplyReaderTests {
  /// A reader's result from bytes: the complete answers, and why it stops.
  private struct Outcome: Equatable {
    var answers: [RedisReply] = []
    var fault: ReplyFault?
  }

  /// - Parameter pieces: the number of bytes per piece.
  private func read(
    _ bytes: [UInt8], upTo limit: Int = ReplyReader.answerLimit, pieces: () -> Int = { .max }
  ) -> Outcome {
    var (reader, outcome, rest) = (ReplyReader(), Outcome(), bytes[...])
    while !rest.isEmpty, outcome.fault == nil {
      let piece = Array(rest.prefix(pieces()))
      rest = rest.dropFirst(piece.count)
      piece.withUnsafeBytes { bytes in
        var bytes = bytes
        do throws(ReplyFault) {
          while !bytes.isEmpty {
            if let answer = try reader.read(&bytes, upTo: limit) { outcome.answers.append(answer) }
          }
        } catch { outcome.fault = error }
      }
    }
    return outcome
  }

  private func read(_ text: String, upTo limit: Int = ReplyReader.answerLimit) -> Outcome {
    read(Array(text.utf8), upTo: limit)
  }

  @Test(arguments: [
    ("+OK\r\n", RedisReply.status("OK")), ("+\r\n", .status("")), (":0\r\n", .integer(0)), (":-12\r\n", .integer(-12)),
    (":9223372036854775807\r\n", .integer(.max)), (":-9223372036854775808\r\n", .integer(.min)),
    ("-ERR no\r\n", .error("ERR no")), ("$-1\r\n", .null), ("*-1\r\n", .null), ("$0\r\n\r\n", .bytes(Data())),
    ("$4\r\na\r\nb\r\n", .bytes(Data("a\r\nb".utf8))), ("*0\r\n", .array([])),
    ("*2\r\n$1\r\na\r\n:1\r\n", .array([.bytes(Data("a".utf8)), .integer(1)])),
    ("*2\r\n$2\r\n17\r\n*2\r\n$-1\r\n*0\r\n", .array([.bytes(Data("17".utf8)), .array([.null, .array([])])])),
    ("*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n", .array([.array([.array([.array([.integer(1)])])])])),
  ])
  func anAnswerIsReadWholeAndByteByByte(text: String, reply: RedisReply) {
    let bytes = Array((text + text).utf8)
    #expect(read(bytes) == Outcome(answers: [reply, reply]))
    #expect(read(bytes, pieces: { 1 }) == Outcome(answers: [reply, reply]))
    for count in 0..<text.utf8.count {
      #expect(read(Array(bytes.prefix(count))) == Outcome(), "an answer of \(count) bytes is not complete")
    }
  }

  @Test(arguments: [
    ("HTTP/1.1 400", ReplyFault.type(72)), ("\r\n", .type(13)), ("%1\r\n", .type(37)), ("_\r\n", .type(95)),
    ("+OK\n", .lineEnd), ("+\n", .lineEnd), ("$1\r\nab\r\n", .lineEnd), ("$1\r\na\n\n", .lineEnd),
    ("$1\r\na\r\r", .lineEnd),
    (":\r\n", .number), (":1a\r\n", .number), (":9223372036854775808\r\n", .number), ("$\r\n", .number),
    ("$-2\r\n", .number), ("*-2\r\n", .number), ("*1.0\r\n", .number), (":1111111111111111111111111", .longLine),
    ("*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n", .depth), ("$2147483647\r\n", .size), ("*2147483647\r\n", .size),
    ("*9223372036854775807\r\n", .size), ("*2\r\n:1\r\n$9223372036854775807\r\n", .size),
  ])
  func aFaultIsFoundAsSoonAsItIsThere(text: String, fault: ReplyFault) {
    #expect(read(text).fault == fault)
    #expect(read(Array(text.utf8), pieces: { 1 }).fault == fault)
  }

  @Test func anAnswerHasAtMostTheBytesOfItsLimit() {
    let value = String(repeating: "a", count: 1_000)
    #expect(read("$1000\r\n\(value)\r\n", upTo: 1_000).answers == [.bytes(Data(value.utf8))])
    #expect(read("$1001\r\n", upTo: 1_000).fault == .size)
    let (fitting, cost) = (1_000 / ReplyReader.elementCost, ReplyReader.elementCost)
    #expect(read("*\(fitting)\r\n", upTo: 1_000) == Outcome())
    #expect(read("*\(fitting + 1)\r\n", upTo: 1_000).fault == .size)
    #expect(read("*1\r\n$\(1_000 - cost)\r\n", upTo: 1_000) == Outcome())
    #expect(read("*1\r\n$\(1_001 - cost)\r\n", upTo: 1_000).fault == .size)
    #expect(read("*2\r\n*1\r\n:1\r\n*\(fitting - 2)\r\n", upTo: 1_000).fault == .size)
    let two = "$1000\r\n\(value)\r\n$1000\r\n\(value)\r\n"
    #expect(read(two, upTo: 1_000).answers.count == 2, "each answer has the limit")
  }

  @Test func aLineHasAtMostSixteenKibibytes() {
    let text = String(repeating: "a", count: ReplyReader.lineLimit - 3)
    #expect(read("+\(text)\r\n").answers == [.status(text)])
    #expect(read("+\(text)a\r\n").fault == .longLine)
    #expect(read("-\(text)aaa").fault == .longLine)
  }

  @Test func theLongestHonestAnswersAreRead() {
    let names = (0..<100_000).map { "$\("martlet:c:{\($0)}:".utf8.count)\r\nmartlet:c:{\($0)}:\r\n" }.joined()
    #expect(read("*2\r\n$1\r\n0\r\n*100000\r\n\(names)").answers.first?.elements.last?.elements.count == 100_000)
    let body = "$16425\r\n\(String(repeating: "b", count: 16_425))\r\n"
    let entries = String(repeating: "$33\r\nh\(String(repeating: "v", count: 32))\r\n\(body)", count: 64)
    #expect(read("*128\r\n\(entries)", upTo: 16 << 20).answers.first?.elements.count == 128)
  }

  @Test(arguments: [
    ("ERR a\u{7}b\u{202E}c\u{9B}d", "ERR a b\u{FFFD}c d"), ("ERR a\rb", "ERR a b"),
    ("ERR unknown command 'HSET', with args beginning with: 'secret'", "ERR unknown command 'HSET'"),
  ])
  func anErrorIsATextThatMayBeShown(text: String, shown: String) {
    #expect(read("-\(text)\r\n").answers == [.error(shown)])
  }

  @Test func aLongErrorIsShownInPart() {
    let text = String(repeating: "é", count: 1_000)
    #expect(read("-\(text)\r\n").answers == [.error(String(text.prefix(300)))])
  }

  private static let answers = [
    "+OK\r\n", "-ERR no such key\r\n", ":1000\r\n", "$-1\r\n", "$5\r\nhello\r\n", "*0\r\n", "*-1\r\n",
    "*3\r\n$1\r\na\r\n:-1\r\n$-1\r\n", "*2\r\n$2\r\n17\r\n*3\r\n$1\r\nx\r\n$0\r\n\r\n$2\r\n\r\n\r\n",
    "*2\r\n*1\r\n*1\r\n+a\r\n*0\r\n",
  ].map { Array($0.utf8) }

  /// The result does not depend on how the bytes are cut, and does not exceed the limit.
  @Test(arguments: 0..<20 as Range<UInt64>) func piecesGiveTheSameAsTheWhole(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    for _ in 0..<500 {
      let answers = (0..<3).flatMap { _ in Self.answers.randomElement(using: &random) ?? [] }
      let bytes = Mutation.mutated(answers, from: Self.answers, using: &random)
      let limit = [ReplyReader.answerLimit, 1_000, 300, 10].randomElement(using: &random) ?? 10
      let whole = read(bytes, upTo: limit)
      let cut = read(bytes, upTo: limit) { Int.random(in: 1...9, using: &random) }
      #expect(cut == whole, "\(String(decoding: bytes, as: UTF8.self).debugDescription)")
      #expect(whole.answers.allSatisfy { size($0) <= limit })
    }
  }

  private func size(_ reply: RedisReply) -> Int {
    switch reply {
    case .bytes(let bytes): bytes.count
    case .status(let text): text.unicodeScalars.count
    case .array(let elements): elements.reduce(0) { $0 + ReplyReader.elementCost + size($1) }
    case .null, .integer, .error: 0
    }
  }
}
