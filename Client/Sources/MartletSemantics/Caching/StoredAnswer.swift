/// The response to a request, made from a stored one: its head, and the range of its body.
package struct StoredAnswer: Sendable, Hashable {
  package let head: ResponseHead
  /// The range of the stored body; empty if no body is sent.
  package let range: Range<Int64>

  /// Makes the response (RFC 9111 §4, §4.3.2).
  ///
  /// - Parameters:
  ///   - stored: the stored response.
  ///   - length: the length of the stored body.
  ///   - request: the request, which may have conditions and a range.
  ///   - now: the current time.
  ///   - isConfirmed: whether the origin has just validated the response, so that fields that require validation may be
  ///     used (`no-cache="…"`, §5.2.2.4).
  package init(
    of stored: StoredResponse, length: Int64, to request: RequestHead, at now: Date, isConfirmed: Bool = false
  ) {
    var head = stored.head
    let facts = stored.facts
    if !isConfirmed { for name in facts.control.fieldNames("no-cache") { head.fields.remove(name) } }
    // §5.1: a response of a cache has an `Age` field.
    head.fields[.age] = String(Int(min(Freshness(facts, at: now).age, Double(CacheControl.secondsLimit))))
    if let part = stored.part, let range = part.range(for: request, of: stored) {
      let offset = part.range.lowerBound
      self.init(
        head: Self.partial(head, range, of: part.size), range: range.lowerBound - offset..<range.upperBound - offset)
    } else if head.status == .ok, Self.isNotModified(stored, for: request) {
      self.init(head: Self.notModified(head), range: 0..<0)
    } else if request.method == .head {
      self.init(head: head, range: 0..<0)
    } else {
      self.init(head, of: stored, length: length, rangeOf: request)
    }
  }

  /// Makes the response to a request that may have a range.
  private init(_ head: ResponseHead, of stored: StoredResponse, length: Int64, rangeOf request: RequestHead) {
    guard head.status == .ok, request.fields.contains(.range), RangeRule.ifRangeHolds(request.fields, for: stored)
    else {
      self.init(head: head, range: 0..<length)
      return
    }
    switch RangeRule.read(request.fields, length: length) {
    case .part(let range): self.init(head: Self.partial(head, range, of: length), range: range)
    case .unsatisfiable: self.init(head: Self.notSatisfiable(head, length: length), range: 0..<0)
    case .whole, .other: self.init(head: head, range: 0..<length)
    }
  }

  private init(head: ResponseHead, range: Range<Int64>) {
    self.head = head
    self.range = range
  }

  /// Whether the stored body can answer the request: a part answers ranges within it, a complete body one range at a
  /// time. The origin answers requests for several ranges, or for ranges of a decoded body.
  package static func canAnswer(_ request: RequestHead, with stored: StoredResponse, length: Int64) -> Bool {
    guard stored.head.status != .partialContent else { return stored.part?.range(for: request, of: stored) != nil }
    guard request.method.retrieves, request.fields.contains(.range) else { return true }
    guard stored.head.status == .ok, !stored.isDecoded else { return false }
    return RangeRule.read(request.fields, length: length) != .other
  }

  /// Evaluates the caller's conditions (§4.3.2): `If-None-Match`, or if it is absent `If-Modified-Since`.
  private static func isNotModified(_ stored: StoredResponse, for request: RequestHead) -> Bool {
    let fields = stored.head.fields
    if request.fields.contains(.ifNoneMatch) {
      return EntityTag.isListed(fields[values: .eTag].first, in: request.fields.list(.ifNoneMatch))
    }
    guard let line = request.fields[values: .ifModifiedSince].first,
      let since = HTTPDate.parse(line, now: stored.responseTime)
    else { return false }
    let modified = fields[values: .lastModified].first.flatMap { HTTPDate.parse($0, now: stored.responseTime) }
    // `Date` replaces a missing Last-Modified, and the time of reception a missing `Date` (§4.3.2).
    return (modified ?? stored.facts.date) <= since
  }

  /// Returns the head of a 304, without most of the fields that describe the content (RFC 9110 §15.4.5).
  private static func notModified(_ head: ResponseHead) -> ResponseHead {
    var head = withoutContent(head)
    head.status = .notModified
    return head
  }

  /// Returns the head of a 416 (RFC 9110 §15.5.17).
  private static func notSatisfiable(_ head: ResponseHead, length: Int64) -> ResponseHead {
    var head = withoutContent(head)
    head.status = .rangeNotSatisfiable
    head.fields[.contentRange] = "bytes */\(length)"
    head.fields[.contentLength] = "0"
    return head
  }

  private static func withoutContent(_ head: ResponseHead) -> ResponseHead {
    var head = head
    head.fields.removeAll { name in
      switch name {
      case .contentLength, .contentType, .contentEncoding, .contentLanguage, .contentRange: true
      default: false
      }
    }
    return head
  }

  /// Returns the head of a 206 (RFC 9110 §15.3.7).
  private static func partial(_ head: ResponseHead, _ range: Range<Int64>, of length: Int64) -> ResponseHead {
    var head = head
    head.status = .partialContent
    head.fields[.contentRange] = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(length)"
    head.fields[.contentLength] = String(range.count)
    return head
  }
}
