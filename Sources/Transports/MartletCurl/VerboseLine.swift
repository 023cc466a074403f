#if os(Linux)
import MartletSemantics

/// A line of libcurl's log with information that libcurl gives nowhere else.
///
/// Lines are recognized by their beginnings, which are fixed texts of libcurl. What follows may be a URL, a host or a
/// field of the caller, and is not used.
package enum VerboseLine: Hashable {
  /// The request uses this stream of its HTTP/2 connection.
  case stream(Int)
  /// The server sent a GOAWAY (RFC 9113 §6.8).
  case goAway(lastStream: Int)
  /// The server refused the request's stream.
  case refused
  /// The stream ended, without an error, before the request's body was sent.
  case streamClosed
  /// libcurl dropped bytes that came with the end of a response, and would reuse the connection.
  case excess
  /// libcurl closed the connection that was idle for the longest time, because it has too many.
  case evicted
  /// libcurl keeps the connection open for reuse: its last transfer ended and it has not failed.
  case leftIntact

  /// Parses a line; nil for any other.
  package init?(_ line: UnsafeRawBufferPointer) {
    var rest = Rest(bytes: line[...])
    switch line.first {
    case UInt8(ascii: "U") where rest.take("Using Stream ID: "):
      guard let id = rest.number() else { return nil }
      self = .stream(id)
    case UInt8(ascii: "[") where rest.take("[HTTP/2] ["):
      // since libcurl 8, the lines for the request's head have the name of a field after the number
      guard let id = rest.number(), rest.take("] OPENED stream for ") else { return nil }
      self = .stream(id)
    case UInt8(ascii: "r") where rest.take("received GOAWAY, error=") || rest.take("recveived GOAWAY, error="):
      guard rest.number() != nil, rest.take(", last_stream="), let last = rest.number() else { return nil }
      self = .goAway(lastStream: last)
    case UInt8(ascii: "R") where rest.take("REFUSED_STREAM, "): self = .refused
    case UInt8(ascii: "H") where rest.take("HTTP/2 stream "):
      guard rest.number() != nil, rest.take(" refused by server") else { return nil }
      self = .refused
    case UInt8(ascii: "s") where rest.take("stream "):
      guard rest.number() != nil, rest.take(" closed") else { return nil }
      self = .streamClosed
    case UInt8(ascii: "E") where rest.take("Excess found"): self = .excess
    case UInt8(ascii: "L") where rest.take("Leftovers after chunking"): self = .excess
    case UInt8(ascii: "C") where rest.take("Connection cache is full"): self = .evicted
    case UInt8(ascii: "C") where rest.take("Connection #"):
      guard rest.number() != nil, rest.take(" to host "), rest.ends(with: " left intact") else { return nil }
      self = .leftIntact
    default: return nil
    }
  }

  /// The unparsed rest of a line.
  private struct Rest {
    var bytes: Slice<UnsafeRawBufferPointer>

    mutating func take(_ text: StaticString) -> Bool {
      let text = UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
      guard bytes.starts(with: text) else { return false }
      bytes = bytes.dropFirst(text.count)
      return true
    }

    func ends(with text: String) -> Bool {
      let line = bytes.last == UInt8(ascii: "\n") ? bytes.dropLast() : bytes
      return line.suffix(text.utf8.count).elementsEqual(text.utf8)
    }

    mutating func number() -> Int? {
      let digits = bytes.prefix(while: ASCII.isDigit)
      bytes = bytes[digits.endIndex...]
      return Int(String(decoding: digits, as: UTF8.self))
    }
  }
}
#endif
