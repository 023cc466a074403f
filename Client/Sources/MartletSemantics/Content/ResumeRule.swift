/// The downloaded part on disk, and the validator and size that the rest must match.
package struct ResumePoint: Sendable, Hashable {
  /// The number of bytes received so far.
  package let count: Int64
  /// The strong validator of the representation.
  package let validator: String
  /// The size of the complete representation; nil if it is unknown.
  package let size: Int64?

  package init(count: Int64, validator: String, size: Int64?) {
    self.count = count
    self.validator = validator
    self.size = size
  }

  /// The fields that request the rest, or the complete representation if it has changed (RFC 9110 §13.1.5, §14.2).
  package var fields: HTTPFields { [.range: "bytes=\(count)-", .ifRange: validator] }
}

/// Decides whether a download can be resumed, and how to use the response. In case of doubt it is restarted.
package enum ResumeRule {
  /// The action after a response.
  package enum Decision: Sendable, Hashable {
    /// Append the body: it is the rest.
    case append(size: Int64?)
    /// Start with this body: it is the complete representation.
    case whole
    /// Finish: no bytes are missing.
    case complete
    /// Discard the bytes received so far and request the complete representation: they do not match the response.
    case restart
    /// Do not use the body: it belongs to an error or to a redirect that was not followed.
    case other
  }

  /// Returns the validator for resuming a download of this representation; nil if it cannot be resumed.
  ///
  /// - Parameter now: the current time, to resolve two-digit years.
  package static func validator(of head: ResponseHead, now: Date) -> String? {
    guard head.status == .ok || head.status == .partialContent, isPlain(head), !refusesRanges(head) else { return nil }
    let tags = head.fields[values: .eTag]
    // A date only without an entity tag, and never a weak tag (RFC 9110 §13.1.5).
    guard tags.isEmpty else { return tags.count == 1 && isStrong(tags[0]) ? tags[0] : nil }
    guard let text = head.fields[.lastModified], let modified = HTTPDate.parse(text, now: now),
      let date = head.fields[.date].flatMap({ HTTPDate.parse($0, now: now) })
    else { return nil }
    // Otherwise a change within the same second is not detected (RFC 9110 §8.8.2.2).
    return modified.addingTimeInterval(1) <= date ? text : nil
  }

  /// Decides how to use a response to a request for the rest, or for everything if `point` is nil.
  package static func decide(_ head: ResponseHead, after point: ResumePoint?) -> Decision {
    guard let point else { return head.status.isSuccessful && head.status != .partialContent ? .whole : .other }
    let range = head.fields[.contentRange].flatMap { ContentRange($0) }
    switch head.status {
    case .partialContent:
      // A server may send less than was requested (§15.3.7): without a size the end is unknown.
      guard let range, let bytes = range.bytes, bytes.lowerBound == point.count, agrees(range.size, point.size),
        let size = range.size ?? point.size, isPlain(head), hasLength(of: bytes, head),
        validator(in: head, like: point.validator) == point.validator
      else { return .restart }
      return .append(size: size)
    case .rangeNotSatisfiable:
      guard let range, range.bytes == nil, range.size == point.count, agrees(range.size, point.size),
        agrees(validator(in: head, like: point.validator), point.validator)
      else { return .restart }
      return .complete
    default: return head.status.isSuccessful ? .whole : .other
    }
  }

  /// Returns the validator of the same kind (RFC 9110 §15.3.7.3: parts are combined only if they share a strong one).
  private static func validator(in head: ResponseHead, like validator: String) -> String? {
    head.fields[validator.hasPrefix("\"") ? .eTag : .lastModified]
  }

  /// Whether `Content-Length` is absent or equal to the length of the range.
  static func hasLength(of bytes: ClosedRange<Int64>, _ head: ResponseHead) -> Bool {
    guard let text = head.fields[.contentLength] else { return true }
    return Int64(text) == bytes.upperBound - bytes.lowerBound + 1
  }

  private static func agrees<Value: Equatable>(_ left: Value?, _ right: Value?) -> Bool {
    left == nil || right == nil || left == right
  }

  /// Whether the tag has quotes around visible characters other than quotes, and no `W/` prefix (RFC 9110 §8.8.3).
  private static func isStrong(_ tag: String) -> Bool {
    let bytes = tag.utf8
    guard bytes.count >= 2, bytes.first == 34, bytes.last == 34 else { return false }
    return bytes.dropFirst().dropLast().allSatisfy { $0 > 32 && $0 != 34 && $0 != 127 }
  }

  /// Whether no content coding was applied, which could be removed or differ for the rest.
  private static func isPlain(_ head: ResponseHead) -> Bool {
    head.fields.list(.contentEncoding).allSatisfy { ASCII.equalIgnoringCase($0, "identity") }
  }

  /// Whether `Accept-Ranges` is `none`, which advises against range requests (RFC 9110 §14.3).
  private static func refusesRanges(_ head: ResponseHead) -> Bool {
    head.fields.list(.acceptRanges).contains { ASCII.equalIgnoringCase($0, "none") }
  }
}

/// The value of `Content-Range` in bytes (RFC 9110 §14.4).
package struct ContentRange: Sendable, Hashable {
  /// The first and last byte of the part; nil in a 416, which contains none.
  package let bytes: ClosedRange<Int64>?
  /// The size of the complete representation; nil if it is unknown (`*`).
  package let size: Int64?

  /// Parses a value such as `bytes 0-499/1234`, `bytes 0-499/*` or `bytes */1234`.
  ///
  /// - Returns: nil for another unit, and for an invalid value: a last byte before the first, or a size that is not
  ///   larger than the last byte.
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

  /// Returns the size, `.some(nil)` for `*`, nil if the text is neither.
  private static func size(_ text: Substring) -> Int64?? {
    text == "*" ? .some(nil) : number(text).map { .some($0) } ?? .none
  }

  private static func number(_ digits: Substring) -> Int64? {
    !digits.isEmpty && digits.utf8.allSatisfy(ASCII.isDigit) ? Int64(digits) : nil
  }
}
