#if os(Linux)
import MartletEngine
import MartletSemantics

/// A reply of which another client and sockets have different outcomes.
struct Difference: Sendable, CustomStringConvertible {
  let reply: MutatedReply
  let client: OtherClient
  let other: OtherClient.Outcome
  let sockets: ReplyOutcome

  /// nil if the outcomes are the same: refused by both as cut off or as invalid, or equal status, fields and body.
  init?(_ reply: MutatedReply, _ client: OtherClient, _ other: OtherClient.Outcome, _ sockets: ReplyOutcome) {
    switch (other, sockets) {
    case (.refused(_, let isCutOff), .refused(let kind, _)):
      if isCutOff == nil || isCutOff == (kind == .connectionLost) { return nil }
    case (.response(let status, let fields, let body), .response(let own)):
      if status == own.status, body == own.body, fields.map(Self.normalized) == own.fields.map(Self.normalized) {
        return nil
      }
    default: break
    }
    (self.reply, self.client, self.other, self.sockets) = (reply, client, other, sockets)
  }

  /// The reason; nil if it has no name yet.
  var reason: Reason? { Reason.all.first { $0.explains(self) } }

  /// A field line with its name in lower case, without the white space around its value; h11 writes a
  /// `Transfer-Encoding` in lower case.
  static func normalized(_ line: String) -> String {
    let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2 else { return line }
    let isSpace: (Character) -> Bool = { $0 == " " || $0 == "\t" }
    let value = String(parts[1].drop(while: isSpace).reversed().drop(while: isSpace).reversed())
    let name = parts[0].lowercased()
    return name + ":" + (name == "transfer-encoding" ? value.lowercased() : value)
  }

  var description: String {
    "reply \(reply.number) to \(reply.method.rawValue): \(MutatedReply.text(reply.bytes).debugDescription)\n"
      + "  \(client): \(other)\n  sockets: \(sockets)"
  }
}
#endif
