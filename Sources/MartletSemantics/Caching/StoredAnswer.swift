/// The response that a stored one becomes for a request: its head, and which of its bytes.
package struct StoredAnswer: Sendable, Hashable {
  package let head: ResponseHead
  /// The bytes of the stored body; empty where there is no body to send.
  package let range: Range<Int64>

  /// Makes the answer (RFC 9111 §4, §4.3.2).
  ///
  /// - Parameters:
  ///   - stored: What is stored.
  ///   - length: The length of its body.
  ///   - request: The request, with the conditions and the range that its caller may have given it.
  ///   - isConfirmed: Whether the origin has just confirmed the response, so that fields which must not be used without
  ///     asking (`no-cache="…"`, §5.2.2.4) may be.
  package init(
    of stored: StoredResponse, length: Int64, to request: RequestHead, at now: Date, isConfirmed: Bool = false
  ) {
    var head = stored.head
    let control = CacheControl(head.fields)
    if !isConfirmed { for name in control.fieldNames("no-cache") { head.fields.remove(name) } }
    // §5.1: what comes from a cache says how old it is.
    head.fields[.age] = String(Int(min(Freshness(of: stored, control, at: now).age, Double(1 << 31))))
    if head.status == .ok, Self.isNotModified(stored, for: request) {
      self.init(head: Self.notModified(head), range: 0..<0)
    } else if request.method == .head {
      self.init(head: head, range: 0..<0)
    } else if head.status == .ok, case .part(let range) = RangeRule.read(request.fields, length: length),
      RangeRule.ifRangeHolds(request.fields, for: stored)
    {
      self.init(head: Self.partial(head, range, of: length), range: range)
    } else {
      self.init(head: head, range: 0..<length)
    }
  }

  private init(head: ResponseHead, range: Range<Int64>) {
    self.head = head
    self.range = range
  }

  /// Whether the request's `Range` can be answered from the stored body alone. Bytes that were unpacked are not those that
  /// a range counts; several ranges, and those beyond the end, are for the origin.
  package static func canAnswer(_ request: RequestHead, with stored: StoredResponse, length: Int64) -> Bool {
    guard request.method == .get, request.fields.contains(.range) else { return true }
    guard stored.head.status == .ok, !stored.isUnpacked else { return false }
    return RangeRule.read(request.fields, length: length) != .other
  }

  /// Evaluates the caller's own conditions (§4.3.2): `If-None-Match`, and only without it `If-Modified-Since`.
  private static func isNotModified(_ stored: StoredResponse, for request: RequestHead) -> Bool {
    let fields = stored.head.fields
    if request.fields.contains(.ifNoneMatch) {
      return EntityTag.isListed(fields[values: .eTag].first, in: request.fields.list(.ifNoneMatch))
    }
    guard let line = request.fields[values: .ifModifiedSince].first,
      let since = HTTPDate.parse(line, now: stored.responseTime)
    else { return false }
    let modified = fields[values: .lastModified].first.flatMap { HTTPDate.parse($0, now: stored.responseTime) }
    // Without Last-Modified, its Date counts, and without that the time when it came (§4.3.2).
    return (modified ?? Freshness.date(of: stored.head, receivedAt: stored.responseTime)) <= since
  }

  /// RFC 9110 §15.4.5: what describes the content stays away, but for what a cache needs.
  private static func notModified(_ head: ResponseHead) -> ResponseHead {
    var head = head
    head.status = .notModified
    head.fields.removeAll { name in
      switch name {
      case .contentLength, .contentType, .contentEncoding, .contentLanguage, .contentRange: true
      default: false
      }
    }
    return head
  }

  /// RFC 9110 §15.3.7.
  private static func partial(_ head: ResponseHead, _ range: Range<Int64>, of length: Int64) -> ResponseHead {
    var head = head
    head.status = .partialContent
    head.fields[.contentRange] = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(length)"
    head.fields[.contentLength] = String(range.count)
    return head
  }
}
