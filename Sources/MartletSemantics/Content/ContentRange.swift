/// What `Content-Range` says of a part (RFC 9110 §14.4), in bytes.
package struct ContentRange: Sendable, Hashable {
  /// The first and the last byte that the message holds; nil in a 416, which holds none.
  package let bytes: ClosedRange<Int64>?
  /// The size of the whole; nil where the server does not know it.
  package let size: Int64?

  /// Reads a value such as `bytes 0-499/1234`, `bytes 0-499/*` or `bytes */1234`.
  ///
  /// - Returns: nil for another unit, and for what is invalid: a last byte before the first, a size that is not larger than
  ///   the last byte.
  package init?(_ text: some StringProtocol) {
    let words = ASCII.trimmed(String(text)).split(separator: " ", maxSplits: 1)
    guard words.count == 2, ASCII.equalIgnoringCase(words[0], "bytes") else { return nil }
    let parts = words[1].split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2 else { return nil }
    guard let size = Self.size(parts[1]) else { return nil }
    self.size = size
    if parts[0] == "*" {
      guard size != nil else { return nil }
      bytes = nil
      return
    }
    let ends = parts[0].split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false).map(Self.number)
    guard ends.count == 2, let first = ends[0], let last = ends[1], first <= last, size.map({ last < $0 }) ?? true
    else {
      return nil
    }
    bytes = first...last
  }

  /// The size, nil for `*`; no value at all for what is neither.
  private static func size(_ text: Substring) -> Int64?? {
    text == "*" ? .some(nil) : number(text).map { .some($0) } ?? .none
  }

  private static func number(_ digits: Substring) -> Int64? {
    !digits.isEmpty && digits.utf8.allSatisfy(ASCII.isDigit) ? Int64(digits) : nil
  }
}
