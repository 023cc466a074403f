#if os(Linux)
import MartletEngine
import MartletSemantics

/// A reason why the outcome of a client of Python's differs from that of sockets.
struct PythonReason: Sendable, CustomStringConvertible {
  let name: String
  let section: String
  let right: Right
  let explains: @Sendable (PythonDifference) -> Bool

  /// Which of the two does as the RFC says; `both` where it leaves the choice.
  enum Right: String, Sendable {
    case sockets, python, both
  }

  var description: String { "\(name) (\(section); right: \(right.rawValue))" }

  static let all: [PythonReason] = taken + refused

  /// The client takes what sockets refuse, or reads it otherwise.
  private static let taken = [
    PythonReason("a status line is read leniently", "RFC 9112 §4", .sockets, sockets: "the status line is invalid"),
    PythonReason(
      "a status code is not from 100 to 999", "RFC 9110 §15", .sockets, sockets: "the status code is not a number"),
    PythonReason(
      "a control character in a status line or name is taken", "RFC 9112 §4, RFC 9110 §5.5", .sockets,
      sockets: "contains a control character"),
    PythonReason(
      "white space precedes the first field", "RFC 9112 §2.2: reject or skip the lines", .both,
      sockets: "white space before the first field"),
    PythonReason(
      "white space before the colon is removed", "RFC 9112 §5.1 asks that of proxies", .both,
      sockets: "a field name is not a token"),
    PythonReason(
      "a folded Content-Length or Transfer-Encoding is read as one line", "RFC 9112 §5.2", .python,
      sockets: "Content-Length or Transfer-Encoding is folded"),
    PythonReason(
      "a coding that is not known is not removed", "RFC 9112 §6.1, §6.3 rule 4", .both,
      sockets: "the Transfer-Encoding is not 'chunked'"),
    PythonReason(
      "a chunk's size has more than 16 digits", "RFC 9112 §7.1", .python, sockets: "a chunk's size is not a hexadecimal"
    ),
    PythonReason(
      "the protocol is switched unasked", "RFC 9110 §7.8", .sockets, sockets: "that the request did not ask for"),
    PythonReason(
      "control characters and folds in a value are kept; sockets make one blank of them",
      "RFC 9110 §5.5, RFC 9112 §5.2", .both
    ) { $0.differs(inBlanks: true) },
    PythonReason(
      "equal lengths become one", "RFC 9112 §6.3 rule 5", .both
    ) { $0.differs(inBlanks: true, inLengths: true) },
  ]

  /// The client refuses what sockets take.
  private static let refused = [
    PythonReason(
      "a minor version above 1 is HTTP/1.1", "RFC 9110 §2.5", .sockets, client: "Invalid HTTP version"),
    PythonReason(
      "framing counts only where there may be a body", "RFC 9112 §6.3 rule 1", .sockets,
      client: "Content-Length", "Only Transfer-Encoding: chunked"
    ) { $0.reply.hasNoBody },
    PythonReason(
      "framing fields in trailers are ignored", "RFC 9110 §6.5.1", .sockets, client: "Content-Length can't be present",
      "Only Transfer-Encoding: chunked"
    ) { $0.reply.lines.contains("0") },
    PythonReason(
      "equal lengths may be combined", "RFC 9112 §6.3 rule 5", .both, client: "Duplicate Content-Length",
      "Invalid character in Content-Length"),
    PythonReason(
      "chunks count more than a length", "RFC 9112 §6.1: an error, or that", .both,
      client: "Transfer-Encoding can't be present"),
    PythonReason(
      "an empty element of a list is ignored", "RFC 9110 §5.6.1.2", .sockets, client: "Only Transfer-Encoding: chunked"
    ) { $0.reply.head.contains { $0.hasSuffix(",chunked") } },
    PythonReason(
      "a control character in a value may be replaced", "RFC 9110 §5.5", .both, client: "illegal header line"),
    PythonReason(
      "white space may follow a chunk's size, and LF ends a line", "RFC 9112 §7.1.1, §2.2", .both,
      client: "illegal chunk header", "malformed chunk footer", "after chunk size", "in chunk", "unexpectedly closed"),
    PythonReason(
      "what follows a whole response is not read", "RFC 9112 §9.2", .both,
      client: "Bad status line", "Data after", "Invalid header token", "Expected LF after"
    ) { $0.client == .aiohttp },
  ]

  init(
    _ name: String, _ section: String, _ right: Right, explains: @escaping @Sendable (PythonDifference) -> Bool
  ) {
    (self.name, self.section, self.right, self.explains) = (name, section, right, explains)
  }

  /// Sockets refuse the reply with these words.
  private init(_ name: String, _ section: String, _ right: Right, sockets words: String) {
    self.init(name, section, right) { $0.sockets.kind == .protocolViolation && $0.sockets.message.contains(words) }
  }

  /// The client refuses the reply with one of these words.
  private init(
    _ name: String, _ section: String, _ right: Right, client words: String...,
    where isSo: @escaping @Sendable (PythonDifference) -> Bool = { _ in true }
  ) {
    self.init(name, section, right) { difference in
      guard case .refused(let text) = difference.python else { return false }
      return words.contains { text.contains($0) } && isSo(difference)
    }
  }
}

extension PythonDifference {
  /// The reason; nil if it has no name yet.
  var reason: PythonReason? { PythonReason.all.first { $0.explains(self) } }

  /// Whether status and body are equal, and the fields too, but for this.
  ///
  /// - Parameters:
  ///   - inBlanks: whether each run of white space and control characters in a value is a blank.
  ///   - inLengths: whether only the first `Content-Length` counts, and only its first element.
  fileprivate func differs(inBlanks: Bool = false, inLengths: Bool = false) -> Bool {
    guard case .response(let status, let fields, let body) = python, let own = sockets.response else { return false }
    func read(_ lines: [String]) -> [[Substring]] {
      var hasLength = false
      return lines.map(Self.normalized).filter { line in
        guard inLengths, line.hasPrefix("content-length:") else { return true }
        defer { hasLength = true }
        return !hasLength
      }.map { line in
        if inLengths, line.hasPrefix("content-length:") { return [line.prefix { $0 != "," }] }
        guard inBlanks else { return [line[...]] }
        return line.split(separator: ":", maxSplits: 1).flatMap { part in
          part.unicodeScalars.split { $0.value <= 32 || $0.value == 127 }.map { Substring($0) }
        }
      }
    }
    return status == own.status && body == own.body && read(fields) == read(own.fields)
  }
}
#endif
