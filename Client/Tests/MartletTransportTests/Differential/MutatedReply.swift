#if os(Linux)
import MartletEngine
import MartletSemantics
import MartletTesting
import TestSupport

/// A reply of the table of raw responses after one to three changes. Its number determines it.
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

  /// The messages except for long ones: a change seldom affects their relevant part.
  private static let originals = Message.table.messages.map { ($0, $0.bytes) }.filter { $0.1.count < 600 }

  /// The answer of a server that closes the connection after it; the target is the number of a reply.
  static func reply(to target: String) -> Reply {
    guard let number = Int(target.dropFirst()), let reply = MutatedReply(number) else { return .status(.notFound) }
    return .raw(Data(reply.bytes))
  }
}

/// The properties that matter for the differences between clients, read from a reply without the code under test.
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

  /// Whether the response has no body by its method or status (RFC 9112 §6.3 rule 1).
  var hasNoBody: Bool {
    let status = head.first?.split(separator: " ").dropFirst().first
    return method == .head || status == "204" || status == "304"
  }

  /// All lines, without their line breaks.
  var lines: [String] { bytes.split(separator: 10).map { Self.text($0.last == 13 ? $0.dropLast() : $0) } }

  /// Whether a line begins with a version of HTTP/1 above 1.1.
  var hasHigherMinorVersion: Bool {
    lines.contains { line in
      line.hasPrefix("HTTP/1.") && line.dropFirst(7).first.map { ("2"..."9").contains($0) } == true
    }
  }

  /// Bytes as text, in which every byte is a character.
  static func text(_ bytes: some Sequence<UInt8>) -> String {
    String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
  }
}
#endif
