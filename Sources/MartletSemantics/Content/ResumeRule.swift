/// How far a download has come, and what it must still be to go on.
package struct ResumePoint: Sendable, Hashable {
  /// The bytes that are there.
  package let count: Int64
  /// The strong validator of what they are a part of.
  package let validator: String
  /// The size of the whole, nil where it is not known.
  package let size: Int64?

  package init(count: Int64, validator: String, size: Int64?) {
    self.count = count
    self.validator = validator
    self.size = size
  }

  /// The fields that ask for the rest, or for everything if it is not the same any more (RFC 9110 §13.1.5, §14.2).
  package var fields: HTTPFields { [.range: "bytes=\(count)-", .ifRange: validator] }
}

/// When a download may go on where it stopped, and what an answer to that means. What is in doubt begins anew.
package enum ResumeRule {
  /// What becomes of a download after a response.
  package enum Decision: Sendable, Hashable {
    /// The body is the rest.
    case append(size: Int64?)
    /// The body is the whole.
    case whole
    /// Nothing is missing.
    case complete
    /// What is there and what the server has do not belong together: ask for the whole.
    case restart
    /// The response is about something else: an error, a redirect that was not followed.
    case other
  }

  /// The validator with which a download of this representation can go on; nil if it cannot.
  ///
  /// - Parameter now: the present, for dates that name only two digits of their year.
  package static func validator(of head: ResponseHead, now: Date) -> String? {
    guard head.status == .ok || head.status == .partialContent, isPlain(head), !refusesRanges(head) else { return nil }
    let tags = head.fields[values: .eTag]
    // a date only where there is no entity tag, and a weak tag for nothing (RFC 9110 §13.1.5)
    guard tags.isEmpty else { return tags.count == 1 && isStrong(tags[0]) ? tags[0] : nil }
    guard let text = head.fields[.lastModified], let modified = HTTPDate.parse(text, now: now),
      let date = head.fields[.date].flatMap({ HTTPDate.parse($0, now: now) })
    else { return nil }
    // a change within the same second would go unseen (RFC 9110 §8.8.2.2)
    return modified.addingTimeInterval(1) <= date ? text : nil
  }

  /// What an answer means to a download that asked for the rest; a nil point asked for the whole.
  package static func decide(_ head: ResponseHead, after point: ResumePoint?) -> Decision {
    guard let point else { return head.status.isSuccessful && head.status != .partialContent ? .whole : .other }
    let range = head.fields[.contentRange].flatMap { ContentRange($0) }
    switch head.status {
    case .partialContent:
      // a server may send less than was asked for (§15.3.7): without a size nobody would know where the end is
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

  /// The same kind of validator (RFC 9110 §15.3.7.3: parts are combined only if they share a strong one).
  private static func validator(in head: ResponseHead, like validator: String) -> String? {
    head.fields[validator.hasPrefix("\"") ? .eTag : .lastModified]
  }

  /// Whether the message says that it holds as much as its range.
  private static func hasLength(of bytes: ClosedRange<Int64>, _ head: ResponseHead) -> Bool {
    guard let text = head.fields[.contentLength] else { return true }
    return Int64(text) == bytes.upperBound - bytes.lowerBound + 1
  }

  private static func agrees<Value: Equatable>(_ left: Value?, _ right: Value?) -> Bool {
    left == nil || right == nil || left == right
  }

  /// RFC 9110 §8.8.3: quotes around visible characters that are no quotes, and no `W/` before.
  private static func isStrong(_ tag: String) -> Bool {
    let bytes = tag.utf8
    guard bytes.count >= 2, bytes.first == 34, bytes.last == 34 else { return false }
    return bytes.dropFirst().dropLast().allSatisfy { $0 > 32 && $0 != 34 && $0 != 127 }
  }

  /// Whether the bytes are those of the representation: a coding may be undone on the way, or chosen anew.
  private static func isPlain(_ head: ResponseHead) -> Bool {
    head.fields.list(.contentEncoding).allSatisfy { ASCII.equalIgnoringCase($0, "identity") }
  }

  /// RFC 9110 §14.3: `none` advises a client not to ask for ranges.
  private static func refusesRanges(_ head: ResponseHead) -> Bool {
    head.fields.list(.acceptRanges).contains { ASCII.equalIgnoringCase($0, "none") }
  }
}
