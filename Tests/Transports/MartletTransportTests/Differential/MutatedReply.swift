#if os(Linux)
import MartletEngine
import MartletSemantics
import MartletTesting
import TestSupport

/// A reply of the table of raw responses after one to three changes. It is determined by its number.
struct MutatedReply: Sendable {
  let number: Int
  let method: HTTPMethod
  let bytes: [UInt8]

  /// Makes the reply with this number; nil if the table could not be read.
  init?(_ number: Int) {
    var random = SeededGenerator(seed: UInt64(number))
    guard let (message, bytes) = Self.originals.randomElement(using: &random) else { return nil }
    self.init(
      number, message.method.flatMap(HTTPMethod.init(rawValue:)) ?? .get,
      Mutation.mutated(bytes, from: Self.originals.map(\.1), using: &random))
  }

  init(_ number: Int, _ method: HTTPMethod, _ bytes: [UInt8]) {
    (self.number, self.method, self.bytes) = (number, method, bytes)
  }

  /// The messages without those that are long: a change seldom meets what they are about.
  private static let originals = Message.table.messages.map { ($0, $0.bytes) }.filter { $0.1.count < 600 }

  /// What a server answers that closes the connection after it; the target is the number of a reply.
  static func reply(to target: String) -> Reply {
    guard let number = Int(target.dropFirst()), let reply = MutatedReply(number) else { return .status(.notFound) }
    return .raw(Data(reply.bytes))
  }
}

/// What matters for the differences between clients, read from a reply without the code that is under test.
extension MutatedReply {
  /// The lines of the first head, without their line breaks; the last one may be incomplete.
  var head: [String] {
    var lines: [String] = []
    for line in bytes.split(separator: 10, omittingEmptySubsequences: false) {
      let line = line.last == 13 ? line.dropLast() : line
      if line.isEmpty, !lines.isEmpty { break }
      lines.append(Self.text(line))
    }
    return lines
  }

  /// Whether an empty line ends the first head.
  var hasWholeHead: Bool { bodyStart != nil }

  /// Whether the first head is informational, so that another one follows.
  var isInformational: Bool { head.first?.hasPrefix("HTTP/1.1 1") == true }

  /// Whether the response has no body by its method or status (RFC 9112 §6.3 rule 1).
  var hasNoBody: Bool {
    let status = head.first?.split(separator: " ").dropFirst().first
    return method == .head || status == "204" || status == "304"
  }

  /// All lines, without their line breaks.
  var lines: [String] { bytes.split(separator: 10).map { Self.text($0.last == 13 ? $0.dropLast() : $0) } }

  /// Whether any line is a `Content-Length` that is not a number (RFC 9112 §6.3).
  var hasInvalidLength: Bool {
    lines.contains { line in
      guard let colon = line.firstIndex(of: ":"), line[..<colon].lowercased() == "content-length" else { return false }
      let value = line[line.index(after: colon)...].drop { $0 == " " }
      return Int64(value) == nil || !value.allSatisfy { ("0"..."9").contains($0) }
    }
  }

  /// Whether something that chunks do not allow (RFC 9112 §7.1) is found when they are read leniently: a size is the
  /// digits at the beginning of a line, and CRs and a LF follow the data. Valid are one CR and optional white space and
  /// extensions after the size.
  var hasInvalidChunk: Bool {
    guard var rest = bodyStart.map({ bytes[$0...] }) else { return false }
    while let end = rest.firstIndex(of: 10) {
      let line = rest[..<end].last == 13 ? rest[..<end].dropLast() : rest[..<end]
      let digits = line.prefix { Self.digit($0) != nil }
      let more = line[digits.endIndex...].drop { $0 == 32 || $0 == 9 }
      guard (1...16).contains(digits.count), more.isEmpty || more.first == UInt8(ascii: ";"),
        more.allSatisfy({ $0 == 9 || $0 >= 32 && $0 != 127 })
      else { return true }
      let size = digits.reduce(UInt64(0)) { $0 << 4 | UInt64(Self.digit($1) ?? 0) }
      rest = rest[(end + 1)...]
      guard size > 0, size < rest.count else { return false }
      rest = rest.dropFirst(Int(size))
      guard let lineEnd = rest.firstIndex(of: 10), rest[..<lineEnd].allSatisfy({ $0 == 13 }) else { return false }
      if lineEnd > rest.startIndex + 1 { return true }
      rest = rest[(lineEnd + 1)...]
    }
    return false
  }

  private var bodyStart: Int? {
    for index in bytes.indices where bytes[index] == 10 {
      let rest = bytes[(index + 1)...]
      if rest.starts(with: [10]) { return index + 2 }
      if rest.starts(with: [13, 10]) { return index + 3 }
    }
    return nil
  }

  private static func digit(_ byte: UInt8) -> Int? { Character(Unicode.Scalar(byte)).hexDigitValue }

  /// Bytes as text, in which every byte is a character.
  static func text(_ bytes: some Sequence<UInt8>) -> String {
    String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
  }
}
#endif
