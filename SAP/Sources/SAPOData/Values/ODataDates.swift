@_spi(Toolkit) import MartletSemantics

/// A calendar day without a time: `Edm.Date` of V4, and in V2 an `Edm.DateTime` at midnight.
public struct ODataDay: Sendable, Hashable, Comparable {
  /// The year, 0…9999.
  public let year: Int
  /// 1…12.
  public let month: Int
  /// 1…31.
  public let day: Int

  /// Makes a day; nil if it does not exist.
  public init?(year: Int, month: Int, day: Int) {
    guard CivilTime(year: year, month: month, day: day, hour: 0, minute: 0, second: 0) != nil else { return nil }
    (self.year, self.month, self.day) = (year, month, day)
  }

  /// Makes the day that a date has in UTC.
  public init(_ date: Date) {
    let time = CivilTime(date)
    (year, month, day) = (time.year, time.month, time.day)
  }

  /// Midnight of the day in UTC.
  public var date: Date {
    CivilTime(year: year, month: month, day: day, hour: 0, minute: 0, second: 0)?.date ?? .distantPast
  }

  public static func < (left: Self, right: Self) -> Bool {
    (left.year, left.month, left.day) < (right.year, right.month, right.day)
  }
}

/// A time of day without a date: `Edm.TimeOfDay` of V4, `Edm.Time` of V2.
public struct ODataTime: Sendable, Hashable, Comparable {
  /// The time since midnight: at least zero, at most 24 hours, the end of the day. OData's own types end before that,
  /// but back ends of SAP send `24:00:00` and `PT24H`.
  public let sinceMidnight: Duration

  /// Makes a time; nil outside of one day.
  public init?(sinceMidnight: Duration) {
    guard sinceMidnight >= .zero, sinceMidnight <= .seconds(86_400) else { return nil }
    self.sinceMidnight = sinceMidnight
  }

  /// Makes a time; nil if there is no such time. 24:00:00 is the end of the day.
  public init?(hour: Int, minute: Int, second: Int = 0) {
    guard (0...24).contains(hour), (0...59).contains(minute), (0...59).contains(second) else { return nil }
    self.init(sinceMidnight: .seconds(hour * 3600 + minute * 60 + second))
  }

  public static func < (left: Self, right: Self) -> Bool { left.sinceMidnight < right.sinceMidnight }
}

/// A point in time that keeps its offset from UTC: `Edm.DateTimeOffset` in V2 and V4.
///
/// A plain `Date` reads both versions, too; V2 writes it as `Edm.DateTime`. Use this type for properties of V2 that are
/// declared as `Edm.DateTimeOffset`, or where the offset matters.
public struct ODataDateTimeOffset: Sendable, Hashable {
  /// The point in time.
  public var date: Date
  /// The offset from UTC in minutes, positive to the east. It is written as less than a day: one beyond becomes 23:59.
  public var offset: Int

  /// Makes a value; in UTC by default.
  public init(_ date: Date, offset: Int = 0) { (self.date, self.offset) = (date, offset) }
}

// The texts of dates, times and durations: OData 4.01 ABNF and JSON Format §7.1, V2 JSON §6.4.
enum ODataTimeText {
  /// `2026-01-01T12:00:00.5`, to a microsecond, without a zone.
  static func dateTime(_ date: Date) -> String {
    let microseconds = (clampedSeconds(date) * 1_000_000).rounded()
    let seconds = (microseconds / 1_000_000).rounded(.down)
    let time = CivilTime(Date(timeIntervalSince1970: seconds))
    let rest = Int(microseconds - seconds * 1_000_000)
    return "\(time.year.digits(4))-\(time.month.digits(2))-\(time.day.digits(2))T"
      + "\(time.hour.digits(2)):\(time.minute.digits(2)):\(time.second.digits(2))"
      + fraction(Int64(rest) * 1_000_000_000_000)
  }

  static func day(_ day: ODataDay) -> String { "\(day.year.digits(4))-\(day.month.digits(2))-\(day.day.digits(2))" }

  /// `13:05:00`
  static func timeOfDay(_ time: Duration) -> String {
    let (seconds, rest) = time.components
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60)
    return "\(hour.digits(2)):\(minute.digits(2)):\(second.digits(2))" + fraction(rest)
  }

  /// `PT13H5M0S`, with a sign before it if it is negative.
  static func duration(_ duration: Duration) -> String {
    // The negative of the shortest duration has too many seconds for a duration.
    let seconds = duration.components.seconds.magnitude
    let rest = Int64(duration.components.attoseconds.magnitude)
    let time = "PT\(seconds / 3600)H\(seconds / 60 % 60)M\(seconds % 60)\(fraction(rest))S"
    return duration < .zero ? "-" + time : time
  }

  /// `+01:00` or `Z`; the offset is clamped.
  static func zone(_ offset: Int) -> String {
    let offset = clampedOffset(offset)
    guard offset != 0 else { return "Z" }
    return (offset < 0 ? "-" : "+") + (abs(offset) / 60).digits(2) + ":" + (abs(offset) % 60).digits(2)
  }

  /// V2's form: milliseconds since 1970, and the offset in minutes if there is one; both are clamped.
  static func ticks(_ date: Date, offset: Int? = nil) -> String {
    let milliseconds = Int64((clampedSeconds(date) * 1000).rounded())
    let zone = offset.map(clampedOffset).map { ($0 < 0 ? "-" : "+") + abs($0).digits(4) } ?? ""
    return "/Date(\(milliseconds)\(zone))/"
  }

  /// Returns the seconds since 1970, clamped to the years 0 to 9999; NaN becomes 1970.
  private static func clampedSeconds(_ date: Date) -> Double {
    let seconds = date.timeIntervalSince1970
    return seconds.isNaN ? 0 : min(max(seconds, Double(years.lowerBound) / 1000), Double(years.upperBound) / 1000)
  }

  /// Returns the offset, clamped to the range that is read.
  static func clampedOffset(_ offset: Int) -> Int { min(max(offset, offsets.lowerBound), offsets.upperBound) }

  /// The offsets from UTC that are read, in minutes: less than a day.
  private static let offsets = -1439...1439
  /// The years 0 to 9999 in milliseconds since 1970.
  private static let years: ClosedRange<Int64> = -62_167_219_200_000...253_402_300_799_999

  /// Reads any of the forms of a date and time, or a day. Years outside of 0 to 9999 are refused, and so are offsets
  /// of a day or more. The time 24:00:00 is the beginning of the next day (ISO 8601).
  static func readDate(_ text: String) -> ODataDateTimeOffset? {
    if text.utf8.dropFirst(10).starts(with: "T24:00".utf8) {
      let isEndOfDay = text.dropFirst(13).prefix { !"Z+-".contains($0) }.allSatisfy { ":0.".contains($0) }
      guard isEndOfDay, var day = readDate(text.prefix(11) + "00" + text.dropFirst(13)) else { return nil }
      day.date += 86_400
      return day.date.timeIntervalSince1970 * 1000 <= Double(years.upperBound) ? day : nil
    }
    if text.hasPrefix("/Date("), text.hasSuffix(")/") {
      let inner = text.dropFirst(6).dropLast(2)
      let sign = inner.dropFirst().firstIndex { $0 == "+" || $0 == "-" }
      let offset = sign.map { Int(inner[$0...]) } ?? 0
      guard let milliseconds = Int64(inner[..<(sign ?? inner.endIndex)]), years.contains(milliseconds),
        let offset, offsets.contains(offset)
      else { return nil }
      return ODataDateTimeOffset(Date(timeIntervalSince1970: Double(milliseconds) / 1000), offset: offset)
    }
    guard let date = Timestamp.parse(text.contains("T") ? text : text + "T00:00:00Z") else { return nil }
    let zone = text.suffix(6)
    guard zone.count == 6, zone.dropFirst(3).first == ":", let sign = zone.first, "+-".contains(sign),
      let hours = Int(zone.dropFirst().prefix(2)), let minutes = Int(zone.suffix(2))
    else { return ODataDateTimeOffset(date) }
    let offset = (hours * 60 + minutes) * (sign == "-" ? -1 : 1)
    return offsets.contains(offset) ? ODataDateTimeOffset(date, offset: offset) : nil
  }

  /// Reads `P1DT2H3M4.5S` or `13:05:00.5`. Years and months have no fixed length and are refused.
  static func readDuration(_ text: String) -> Duration? {
    guard text.utf8.allSatisfy({ $0 < 0x80 }) else { return nil }  // `\d` matches the digits of every script.
    let clock = text.split(separator: ":")
    let seconds = clock.count == 3 ? clock[2] + "S" : ""
    let text = clock.count > 1 ? "PT\(clock[0])H\(clock[1])M" + seconds : text
    let period = #/(-)?P(?:(\d{1,9})D)?(?:T(?:(\d{1,9})H)?(?:(\d{1,9})M)?(?:(\d{1,15})(?:\.(\d{1,18}))?S)?)?/#
    guard clock.count <= 3, let parts = text.wholeMatch(of: period)?.output, text.last != "P",
      text.last != "T"
    else { return nil }
    let number = { (digits: Substring?) in digits.flatMap { Int64($0) } ?? 0 }
    let whole = number(parts.2) * 86_400 + number(parts.3) * 3600 + number(parts.4) * 60 + number(parts.5)
    let places = parts.6.map { $0 + String(repeating: "0", count: 18 - $0.utf8.count) }
    let total = Duration(secondsComponent: whole, attosecondsComponent: number(places))
    return parts.1 == nil ? total : .zero - total
  }

  private static func fraction(_ attoseconds: Int64) -> String {
    guard attoseconds > 0 else { return "" }
    var places = attoseconds.digits(18)
    while places.hasSuffix("0") { places.removeLast() }
    return "." + places
  }
}
