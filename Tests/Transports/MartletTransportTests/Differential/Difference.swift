#if os(Linux)
import MartletEngine
import MartletSemantics

/// A reply of which libcurl and sockets have different outcomes.
struct Difference: Sendable, CustomStringConvertible {
  let reply: MutatedReply
  let curl: ReplyOutcome
  let sockets: ReplyOutcome

  var description: String {
    "reply \(reply.number) to \(reply.method.rawValue): \(MutatedReply.text(reply.bytes).debugDescription)\n"
      + "  libcurl: \(curl)\n  sockets: \(sockets)"
  }

  /// The reason; nil if it has no name yet.
  var reason: Reason? { Reason.all.first { $0.explains(self) } }
}

/// A reason why the outcomes differ.
struct Reason: Sendable {
  /// What the difference is.
  let name: String
  let section: String
  let right: Right
  let explains: @Sendable (Difference) -> Bool

  /// Which of the two does as the RFC says. `both`: both refuse the reply, and only the kinds of their errors differ.
  enum Right: String, Sendable {
    case sockets, both
  }

  static let all: [Reason] = heads + chunks

  private static let heads = [
    Reason(
      name: "a minor version above 1 is HTTP/1.1", section: "RFC 9110 §2.5", right: .sockets
    ) { difference in
      difference.curl.kind == .protocolViolation && difference.sockets.kind != .protocolViolation
        && difference.reply.lines.contains { line in
          line.hasPrefix("HTTP/1.") && line.dropFirst(7).first.map { ("2"..."9").contains($0) } == true
        }
    },
    Reason(
      name: "no byte of a response comes before 'HTTP/1.'; libcurl waits for a whole line", section: "RFC 9112 §4",
      right: .both
    ) { difference in
      difference.sockets.isViolation("the status line") && difference.curl.kind == .connectionLost
        && (difference.reply.head.first?.hasPrefix("HTTP/1.") != true || difference.reply.isInformational)
    },
    Reason(
      name: "a blank precedes the status code", section: "RFC 9112 §4", right: .sockets
    ) { difference in
      difference.sockets.isViolation("the status line") && difference.curl.response != nil
        && (difference.reply.head.first ?? "").dropFirst(8).first != " "
    },
    Reason(
      name: "an invalid length counts only where there may be a body", section: "RFC 9112 §6.3 rule 1", right: .sockets
    ) { difference in
      difference.curl.kind == .protocolViolation && difference.sockets.response?.body.isEmpty == true
        && difference.reply.hasNoBody && difference.reply.hasInvalidLength
    },
    Reason(
      name: "a head has an invalid length and is cut off", section: "RFC 9112 §6.3, §8", right: .both
    ) { difference in
      difference.curl.kind == .protocolViolation && difference.sockets.isLost("within the response's head")
        && difference.reply.hasInvalidLength
    },
    Reason(
      name: "a head has an invalid line and is cut off", section: "RFC 9112 §5, §8", right: .both
    ) { difference in
      difference.curl.isLost("within the response's head") && difference.sockets.isViolation("line")
        && !difference.reply.hasWholeHead
    },
    Reason(
      name: "a NUL in a head is refused; for libcurl the line ends there", section: "RFC 9110 §5.5", right: .both
    ) { difference in
      difference.curl.kind == .connectionLost && difference.sockets.isViolation("control character")
        && difference.reply.head.contains { $0.contains("\0") }
    },
  ]

  private static let chunks = [
    Reason(
      name: "only an extension follows a chunk's size, and CRLF its data; libcurl skips the rest of a line",
      section: "RFC 9112 §7.1", right: .sockets
    ) { difference in
      difference.sockets.isViolation("chunk") && difference.curl.kind != .protocolViolation
        && difference.reply.hasInvalidChunk
    },
    Reason(
      name: "the line after the last chunk ends with LF; libcurl takes CR for it", section: "RFC 9112 §7.1",
      right: .sockets
    ) { difference in
      difference.sockets.isLost("within the response's trailers") && difference.curl.response != nil
        && difference.reply.bytes.last == 13
    },
    Reason(
      name: "a line of the trailers is invalid and cut off", section: "RFC 9112 §7.1.2, §8", right: .both
    ) { difference in
      difference.sockets.isLost("within the response's trailers") && difference.curl.kind == .protocolViolation
        && difference.reply.bytes.last != 10
    },
    Reason(
      name: "a chunk's line is invalid and cut off", section: "RFC 9112 §7.1, §8", right: .both
    ) { difference in
      difference.sockets.isLost("before its last chunk") && difference.curl.kind == .protocolViolation
        && difference.reply.bytes.last != 10
    },
  ]
}

extension ReplyOutcome {
  fileprivate func isViolation(_ words: String) -> Bool { kind == .protocolViolation && message.contains(words) }

  fileprivate func isLost(_ words: String) -> Bool { kind == .connectionLost && message.contains(words) }
}
#endif
