#if os(Linux)
import MartletEngine
@_spi(Toolkit) import MartletSemantics

/// A reason why the outcome of another client differs from that of sockets.
struct Reason: Sendable, CustomStringConvertible {
  let name: String
  let section: String
  let right: Right
  let explains: @Sendable (Difference) -> Bool

  /// The one of the two that follows the RFC; `both` if the RFC leaves the choice.
  enum Right: String, Sendable {
    case sockets, other, both
  }

  var description: String { "\(name) (\(section); right: \(right.rawValue))" }

  static let all: [Reason] = cutOff + taken + refused

  /// Replies that are cut off, and have a fault besides: which one counts is open (RFC 9112 §8).
  private static let cutOff = [
    Reason("an invalid reply is cut off, which the client says", "RFC 9112 §8", .both) { difference in
      guard case .refused(_, isCutOff: true) = difference.other else { return false }
      return difference.sockets.kind == .protocolViolation
    },
    Reason("an invalid reply is cut off, which sockets say", "RFC 9112 §8", .both) { difference in
      guard case .refused(_, isCutOff: false) = difference.other else { return false }
      return difference.sockets.kind == .connectionLost
    },
    Reason("a head that is cut off is no response; curl takes it for one", "RFC 9112 §8", .sockets) { difference in
      difference.client == .curl && difference.sockets.kind == .connectionLost
        && difference.sockets.message.contains("within the response's head")
    },
  ]

  /// The client accepts a reply that sockets refuse, or reads it differently.
  private static let taken = [
    Reason("what follows a chunk's size or data is skipped up to the LF", "RFC 9112 §7.1", .sockets) { difference in
      difference.client == .curl && difference.sockets.kind == .protocolViolation
        && difference.sockets.message.contains("chunk")
    },
    Reason("a status line is read leniently", "RFC 9112 §4", .sockets, sockets: "the status line is invalid"),
    Reason(
      "a status code is not from 100 to 999", "RFC 9110 §15", .sockets, sockets: "the status code is not a number"),
    Reason(
      "a control character in a status line or name is taken", "RFC 9112 §4, RFC 9110 §5.5", .sockets,
      sockets: "contains a control character"),
    Reason(
      "white space precedes the first field", "RFC 9112 §2.2: reject or skip the lines", .both,
      sockets: "white space before the first field"),
    Reason(
      "white space before the colon is removed", "RFC 9112 §5.1 asks that of proxies", .both,
      sockets: "a field name is not a token"),
    Reason(
      "a folded Content-Length or Transfer-Encoding is read as one line", "RFC 9112 §5.2", .other,
      sockets: "Content-Length or Transfer-Encoding is folded"),
    Reason(
      "a coding that is not known is not removed", "RFC 9112 §6.1, §6.3 rule 4", .both,
      sockets: "the Transfer-Encoding is not 'chunked'"),
    Reason(
      "a chunk's size has more than 16 digits", "RFC 9112 §7.1", .other, sockets: "a chunk's size is not a hexadecimal"
    ),
    Reason(
      "the protocol is switched unasked", "RFC 9110 §7.8", .sockets, sockets: "that the request did not ask for"),
    Reason(
      "control characters and folds in a value are kept; sockets make one blank of them",
      "RFC 9110 §5.5, RFC 9112 §5.2", .both
    ) { $0.differs(inBlanks: true) },
    Reason(
      "equal lengths become one", "RFC 9112 §6.3 rule 5", .both
    ) { $0.differs(inBlanks: true, inLengths: true) },
    Reason(
      "the digits at the beginning of a Content-Length count, and the last of several", "RFC 9112 §6.3 rule 5",
      .sockets, sockets: "Content-Length"),
    Reason("a line without a field's name is skipped", "RFC 9112 §5", .sockets, sockets: "line is not a field"),
    Reason("CR ends the line after the last chunk", "RFC 9112 §7.1", .sockets) { difference in
      difference.client == .curl && difference.sockets.message.contains("within the response's trailers")
        && difference.reply.bytes.last == 13
    },
  ]

  /// The client refuses a reply that sockets accept.
  private static let refused = [
    Reason(
      "a minor version above 1 is HTTP/1.1", "RFC 9110 §2.5", .sockets, client: "Invalid HTTP version",
      "Unsupported HTTP version", "Connection reset by peer"
    ) { $0.reply.hasHigherMinorVersion },
    Reason(
      "framing counts only where there may be a body", "RFC 9112 §6.3 rule 1", .sockets,
      client: "Content-Length", "Only Transfer-Encoding: chunked"
    ) { $0.reply.hasNoBody },
    Reason(
      "framing fields in trailers are ignored", "RFC 9110 §6.5.1", .sockets, client: "Content-Length can't be present",
      "Only Transfer-Encoding: chunked"
    ) { $0.reply.lines.contains("0") },
    Reason(
      "equal lengths may be combined", "RFC 9112 §6.3 rule 5", .both, client: "Duplicate Content-Length",
      "Invalid character in Content-Length"),
    Reason(
      "chunks count more than a length", "RFC 9112 §6.1: an error, or that", .both,
      client: "Transfer-Encoding can't be present"),
    Reason(
      "an empty element of a list is ignored", "RFC 9110 §5.6.1.2", .sockets, client: "Only Transfer-Encoding: chunked"
    ) { $0.reply.head.contains { $0.hasSuffix(",chunked") } },
    Reason(
      "a control character in a value may be replaced", "RFC 9110 §5.5", .both, client: "illegal header line"),
    Reason(
      "white space may follow a chunk's size, and LF ends a line", "RFC 9112 §7.1.1, §2.2", .both,
      client: "illegal chunk header", "malformed chunk footer", "after chunk size", "in chunk", "unexpectedly closed"),
    Reason(
      "what follows a whole response is not read", "RFC 9112 §9.2", .both,
      client: "Bad status line", "Data after", "Invalid header token", "Expected LF after"
    ) { $0.client == .aiohttp },
  ]

  init(
    _ name: String, _ section: String, _ right: Right, explains: @escaping @Sendable (Difference) -> Bool
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
    where isSo: @escaping @Sendable (Difference) -> Bool = { _ in true }
  ) {
    self.init(name, section, right) { difference in
      guard case .refused(let text, _) = difference.other else { return false }
      return words.contains { text.contains($0) } && isSo(difference)
    }
  }
}

extension Difference {
  /// Whether status and body are equal, and the fields too, but for this.
  ///
  /// - Parameters:
  ///   - inBlanks: whether each run of white space and control characters in a value is a blank.
  ///   - inLengths: whether only the first `Content-Length` counts, and only its first element.
  fileprivate func differs(inBlanks: Bool = false, inLengths: Bool = false) -> Bool {
    guard case .response(let status, let fields, let body) = other, let own = sockets.response else { return false }
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
