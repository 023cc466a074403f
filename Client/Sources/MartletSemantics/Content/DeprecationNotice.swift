/// What a response says about the end of its resource: that it is deprecated (`Deprecation`, RFC 9745), and when it
/// will probably stop responding (`Sunset`, RFC 8594).
///
/// ```swift
/// if let notice = response.fields.deprecationNotice() { print(notice) }
/// // deprecated as of 2023-06-30T23:59:59Z, may stop responding after 2024-06-30T23:59:59Z
/// ```
///
/// Both are hints, and change nothing about the response. `LogListener`, and `CallMetrics` of `MartletObservation`,
/// note them once for each resource.
public struct DeprecationNotice: Sendable, Hashable, CustomStringConvertible {
  /// Whether the response says that its resource is, or will be, deprecated. False if it has only a `Sunset`.
  public let isDeprecated: Bool
  /// When the resource becomes or became deprecated; nil if the response does not say.
  public let deprecation: Date?
  /// When the resource will probably stop responding; nil if the response does not say. It may be in the past: then
  /// that can happen at any time (RFC 8594 §3).
  public let sunset: Date?
  /// The links with the relation types `deprecation` and `sunset`, whose targets explain the fields to people.
  public let links: [WebLink]

  /// Whether the resource would end before it becomes deprecated, which servers must not say (RFC 9745 §4). Ask them
  /// what they mean.
  public var contradictsItself: Bool {
    guard let deprecation, let sunset else { return false }
    return sunset < deprecation
  }

  /// The dates in words.
  public var description: String {
    var parts: [String] = []
    if isDeprecated { parts.append("deprecated" + (deprecation.map { " as of \(Self.text($0))" } ?? "")) }
    if let sunset { parts.append("may stop responding after \(Self.text(sunset))") }
    if contradictsItself { parts.append("these dates contradict each other") }
    return parts.joined(separator: ", ")
  }

  private static func text(_ date: Date) -> String { "\(Timestamp.format(date).prefix(19))Z" }

  fileprivate init?(_ fields: HTTPFields, now: Date) {
    let deprecation = Self.deprecation(fields[values: "Deprecation"], now: now)
    sunset = Self.sunset(fields[values: "Sunset"], now: now)
    guard deprecation != nil || sunset != nil else { return nil }
    (isDeprecated, self.deprecation) = (deprecation != nil, deprecation?.date)
    links = fields.links.filter { $0.anchor == nil && !Self.relations.isDisjoint(with: $0.relations) }
  }

  private static let relations: Set<String> = ["deprecation", "sunset"]

  private struct Deprecation {
    let date: Date?
  }

  /// The years 1 to 9999, which every parser of dates has to support (RFC 9651 §3.3.7). No other year makes sense.
  private static let years: ClosedRange<Int64> = -62_135_596_800...253_402_300_799

  /// Parses the field: a structured item that is a date (RFC 9745 §2.1). Servers also send the forms of earlier drafts,
  /// which were `true` and a date of HTTP. Any other value is ignored, as is a repeated field.
  private static func deprecation(_ lines: [String], now: Date) -> Deprecation? {
    guard lines.count == 1, let text = lines.first.map({ ASCII.trimmed($0) }) else { return nil }
    if ASCII.equalIgnoringCase(text, "true") { return Deprecation(date: nil) }
    if let date = HTTPDate.parse(text, now: now) { return Deprecation(date: date) }
    guard let item = try? StructuredField.Item(parsing: String(text)), case .date(let seconds) = item.value,
      years.contains(seconds)
    else { return nil }
    return Deprecation(date: Date(timeIntervalSince1970: TimeInterval(seconds)))
  }

  /// Parses the field: a date of HTTP (RFC 8594 §3). Any other value is ignored, as is a repeated field.
  private static func sunset(_ lines: [String], now: Date) -> Date? {
    guard lines.count == 1, let text = lines.first.map({ ASCII.trimmed($0) }) else { return nil }
    return HTTPDate.parse(text, now: now)
  }
}

extension HTTPFields {
  /// What the fields of a response say about the end of its resource; nil if they say nothing about it, or nothing
  /// valid.
  ///
  /// - Parameter now: the current time, which decides the century of a year with two digits.
  public func deprecationNotice(now: Date = .now) -> DeprecationNotice? {
    contains("Deprecation") || contains("Sunset") ? DeprecationNotice(self, now: now) : nil
  }
}
