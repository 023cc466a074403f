/// The part of a representation that a 206 contains, if a cache can store it and combine it with others (RFC 9111 §3.3
/// and §3.4, RFC 9110 §15.3.7).
package struct StoredPart: Sendable, Hashable {
  /// The bytes of the representation.
  package let range: Range<Int64>
  /// The number of bytes of the complete representation.
  package let size: Int64
  /// The strong validator of the representation: parts with the same validator belong together.
  package let validator: String

  /// Reads the part in a response: one range of a representation without content coding, of known size and with a
  /// strong validator. nil for every other response.
  package init?(of head: ResponseHead, receivedAt responseTime: Date) {
    guard head.status == .partialContent, head.fields[values: .contentRange].count == 1,
      let content = head.fields[.contentRange].flatMap({ ContentRange($0) }), let bytes = content.bytes,
      let size = content.size, ResumeRule.hasLength(of: bytes, head),
      let validator = ResumeRule.validator(of: head, now: responseTime)
    else { return nil }
    self.init(range: bytes.lowerBound..<bytes.upperBound + 1, size: size, validator: validator)
  }

  private init(range: Range<Int64>, size: Int64, validator: String) {
    self.range = range
    self.size = size
    self.validator = validator
  }

  /// The bytes that are missing before or after the part; nil if bytes are missing on both sides.
  package var missing: Range<Int64>? {
    if range.lowerBound == 0 { return range.upperBound..<size }
    return range.upperBound == size ? 0..<range.lowerBound : nil
  }

  /// The fields of a request for the missing bytes, or for everything if the representation has changed (RFC 9110
  /// §13.1.5); nil if bytes are missing on both sides.
  package var fieldsForRest: HTTPFields? {
    missing.map { missing in
      let last = missing.upperBound == size ? "" : String(missing.upperBound - 1)
      return [.range: "bytes=\(missing.lowerBound)-\(last)", .ifRange: validator]
    }
  }

  /// Returns this part joined with another one; nil if they belong to different representations or do not touch.
  package func joined(with other: StoredPart) -> StoredPart? {
    guard validator == other.validator, size == other.size, range.lowerBound <= other.range.upperBound,
      other.range.lowerBound <= range.upperBound
    else { return nil }
    let start = min(range.lowerBound, other.range.lowerBound)
    let end = max(range.upperBound, other.range.upperBound)
    return StoredPart(range: start..<end, size: size, validator: validator)
  }

  /// Returns the head for the part: a 206, or a 200 if it is complete.
  package func applied(to head: ResponseHead) -> ResponseHead {
    var head = head
    let isComplete = range == 0..<size
    head.status = isComplete ? .ok : .partialContent
    head.fields[.contentRange] = isComplete ? nil : "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(size)"
    head.fields[.contentLength] = String(range.count)
    return head
  }

  /// Returns the requested range of the representation if the part can answer it: one range within the part, and no
  /// condition on the complete representation.
  func range(for request: RequestHead, of stored: StoredResponse) -> Range<Int64>? {
    guard request.method.retrieves, !request.fields.contains(.cacheConditions),
      case .part(let asked) = RangeRule.read(request.fields, length: size), asked.clamped(to: range) == asked,
      RangeRule.ifRangeHolds(request.fields, for: stored)
    else { return nil }
    return asked
  }
}

extension StoredResponse {
  /// The part of a representation; nil if the response is complete.
  package var part: StoredPart? {
    head.status == .partialContent ? StoredPart(of: head, receivedAt: responseTime) : nil
  }
}

// Parts of responses (RFC 9111 §3.4).
extension CacheUpdate {
  /// Decides what to do with a response if a part of the representation is stored; nil if the part does not matter.
  static func combination(
    of response: ResponseHead, with stored: StoredResponse, _ context: Context, at responseTime: Date,
    isDecoded: Bool
  ) -> CacheUpdate? {
    guard let part = stored.part else { return nil }
    let asksForRest = context.sent.fields[.range] != context.request.fields[.range]
    let received = isDecoded ? nil : StoredPart(of: response, receivedAt: responseTime)
    guard let received, let joined = received.joined(with: part) else {
      // Otherwise it is another representation, or the server does not know `If-Range`.
      let isAboutRest = response.status == .partialContent || response.status == .rangeNotSatisfiable
      return asksForRest && isAboutRest ? .repeatWithoutConditions : nil
    }
    var combined = Validation.updated(
      stored, with: response.fields, requestTime: context.requestTime, responseTime: responseTime)
    combined.head = joined.applied(to: combined.head)
    combined.variant = VaryRule.variant(of: combined.head, for: context.request.fields, in: context.partition)
    let refusal = StorageRule.refusal(
      of: response, to: context.sent, receivedAt: responseTime, wantsStale: context.policy.wantsStale)
    if asksForRest {
      guard received.range == part.missing else { return .repeatWithoutConditions }
      return .known(.complete(combined, isStored: refusal == nil))
    }
    if let refusal { return .ignore(refusal) }
    return .known(joined == part ? .update(combined) : .extend(combined))
  }
}
