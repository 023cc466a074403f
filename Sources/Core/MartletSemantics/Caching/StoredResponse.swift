import Synchronization

/// A stored response without its body.
public struct StoredResponse: Sendable, Hashable {
  private var content: Content

  /// Status and fields, without those of the connection (RFC 9111 §3.1).
  public var head: ResponseHead {
    get { content.values.head }
    set { change { $0.head = newValue } }
  }
  /// The variant: fingerprints of the request fields that `Vary` names (RFC 9111 §4.1). Empty if the response does not
  /// depend on any. A key has at most one stored response for each variant.
  public var variant: String {
    get { content.values.variant }
    set { change { $0.variant = newValue } }
  }
  /// When the request was sent whose response was this one or last validated it.
  public var requestTime: Date {
    get { content.values.requestTime }
    set { change { $0.requestTime = newValue } }
  }
  /// When the response was received or last validated.
  public var responseTime: Date {
    get { content.values.responseTime }
    set { change { $0.responseTime = newValue } }
  }
  /// Whether the transport has removed a content coding: the stored bytes are then not those to which the origin's
  /// validators and ranges refer.
  public var isUnpacked: Bool {
    get { content.values.isUnpacked }
    set { change { $0.isUnpacked = newValue } }
  }

  /// Creates a stored response.
  public init(
    head: ResponseHead, variant: String = "", requestTime: Date, responseTime: Date, isUnpacked: Bool = false
  ) {
    content = Content(
      Values(
        head: head, variant: variant, requestTime: requestTime, responseTime: responseTime, isUnpacked: isUnpacked))
  }

  private mutating func change(_ body: (inout Values) -> Void) {
    var values = content.values
    body(&values)
    content = Content(values)
  }

  private struct Values: Sendable, Equatable {
    var head: ResponseHead
    var variant: String
    var requestTime: Date
    var responseTime: Date
    var isUnpacked: Bool
  }

  /// The content that all copies of a stored response share. It is copied several times for each request that it
  /// answers, and hardly ever changed.
  private final class Content: Sendable {
    let values: Values
    /// Facts that every use of the response needs; made on first use.
    private let derived = Mutex<StoredFacts?>(nil)

    init(_ values: Values) { self.values = values }

    func facts(of stored: StoredResponse) -> StoredFacts {
      if let facts = derived.withLock({ $0 }) { return facts }
      let facts = StoredFacts(of: stored)
      derived.withLock { $0 = facts }
      return facts
    }
  }
}

extension StoredResponse {
  public static func == (left: Self, right: Self) -> Bool {
    left.content === right.content || left.content.values == right.content.values
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(variant)
    hasher.combine(responseTime)
  }

  /// Facts that every use of the response needs.
  var facts: StoredFacts { content.facts(of: self) }
}

/// The response to a request, made from a stored one: its head, and the range of its body.
package struct StoredAnswer: Sendable, Hashable {
  package let head: ResponseHead
  /// The range of the stored body; empty if no body is sent.
  package let range: Range<Int64>

  /// Creates the response (RFC 9111 §4, §4.3.2).
  ///
  /// - Parameters:
  ///   - stored: The stored response.
  ///   - length: The length of the stored body.
  ///   - request: The request, which may have conditions and a range.
  ///   - now: The current time.
  ///   - isConfirmed: Whether the origin has just validated the response, so that fields that require validation may be
  ///     used (`no-cache="…"`, §5.2.2.4).
  package init(
    of stored: StoredResponse, length: Int64, to request: RequestHead, at now: Date, isConfirmed: Bool = false
  ) {
    var head = stored.head
    let facts = stored.facts
    if !isConfirmed { for name in facts.control.fieldNames("no-cache") { head.fields.remove(name) } }
    // §5.1: a response of a cache has an `Age` field.
    head.fields[.age] = String(Int(min(Freshness(facts, at: now).age, Double(1 << 31))))
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

  /// Creates the response to a request that may have a range.
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
  /// time. The origin answers requests for several ranges, or for ranges of a body whose content coding was removed.
  package static func canAnswer(_ request: RequestHead, with stored: StoredResponse, length: Int64) -> Bool {
    guard stored.head.status != .partialContent else { return stored.part?.range(for: request, of: stored) != nil }
    guard request.method == .get, request.fields.contains(.range) else { return true }
    guard stored.head.status == .ok, !stored.isUnpacked else { return false }
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

/// Evaluates range requests for a complete body (RFC 9110 §14).
package enum RangeRule {
  /// The content of a `Range` field.
  package enum Request: Sendable, Hashable {
    /// The whole body: the field is absent, or has an unknown unit or invalid syntax (§14.2).
    case whole
    /// One part of the body.
    case part(Range<Int64>)
    /// One part beyond the end: the response is a 416.
    case unsatisfiable
    /// Several parts, which only the origin answers.
    case other
  }

  /// Parses `Range` for a body of this length.
  package static func read(_ fields: HTTPFields, length: Int64) -> Request {
    let lines = fields[values: .range]
    guard let line = lines.first, lines.count == 1, let equals = line.utf8.firstIndex(of: UInt8(ascii: "=")),
      ASCII.equalIgnoringCase(line[..<equals], "bytes")
    else { return lines.count > 1 ? .other : .whole }
    let ranges = FieldList.elements(of: line[line.utf8.index(after: equals)...])
    guard ranges.count == 1 else { return ranges.isEmpty ? .whole : .other }
    let bounds = ranges[0].split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
    guard bounds.count == 2 else { return .whole }
    return read(first: bounds[0], last: bounds[1], length: length)
  }

  private static func read(first: Substring, last: Substring, length: Int64) -> Request {
    if first.isEmpty {
      // An empty body has no last bytes, but they are not beyond its end either (§14.1.2).
      guard let count = number(last), length > 0 || count == 0 else { return .whole }
      return part(max(0, length - count), length - 1, length: length)
    }
    guard let start = number(first), last.isEmpty || number(last) != nil else { return .whole }
    let end = number(last) ?? .max
    return end < start ? .whole : part(start, min(end, length - 1), length: length)
  }

  private static func part(_ first: Int64, _ last: Int64, length: Int64) -> Request {
    first < length && first <= last ? .part(first..<last + 1) : .unsatisfiable
  }

  /// Parses digits; a number that is too large becomes the largest.
  private static func number(_ text: Substring) -> Int64? {
    guard !text.isEmpty, text.utf8.allSatisfy(ASCII.isDigit) else { return nil }
    return Int64(text) ?? .max
  }

  /// Whether `If-Range`, if present, allows a part of this representation (§13.1.5): with the same strong tag, or the
  /// same date, if that is old enough to be a strong validator (§8.8.2.2).
  package static func ifRangeHolds(_ fields: HTTPFields, for stored: StoredResponse) -> Bool {
    guard let validator = fields[.ifRange] else { return true }
    let head = stored.head.fields
    if validator.contains("\"") {
      return head[values: .eTag].first.map { EntityTag.matchesStrongly($0, validator) } ?? false
    }
    guard let asked = HTTPDate.parse(validator, now: stored.responseTime),
      let modified = head[values: .lastModified].first.flatMap({ HTTPDate.parse($0, now: stored.responseTime) })
    else { return false }
    let date = stored.facts.date
    return asked == modified && date.timeIntervalSince(modified) >= 1
  }
}
