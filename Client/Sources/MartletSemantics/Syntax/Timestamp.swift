/// Formats and parses ISO 8601 timestamps (RFC 3339), `2026-11-21T07:05:13.042Z`, for logs and recordings. Dates of
/// HTTP fields are ``HTTPDate``.
@_spi(Toolkit) public enum Timestamp {
  /// Returns the date in UTC, rounded to milliseconds.
  public static func format(_ date: Date) -> String {
    let milliseconds = (date.timeIntervalSince1970 * 1000).rounded()
    let whole = (milliseconds / 1000).rounded(.down)
    let time = CivilTime(Date(timeIntervalSince1970: whole))
    let fraction = Int(min(max(milliseconds - whole * 1000, 0), 999))
    return "\(time.year.digits(4))-\(time.month.digits(2))-\(time.day.digits(2))T"
      + "\(time.hour.digits(2)):\(time.minute.digits(2)):\(time.second.digits(2)).\(fraction.digits(3))Z"
  }

  /// Parses a timestamp with or without a fraction of a second, with `Z` or an offset. UTC is assumed if there is no
  /// zone.
  public static func parse(_ text: some StringProtocol) -> Date? {
    var digits = Scanner(rest: Substring(text).utf8)
    guard let year = digits.number(4), digits.skip("-"), let month = digits.number(2), digits.skip("-"),
      let day = digits.number(2), digits.skip("T") || digits.skip("t") || digits.skip(" "),
      let hour = digits.number(2), digits.skip(":"), let minute = digits.number(2)
    else { return nil }
    let second = digits.skip(":") ? digits.number(2) : 0
    let fraction = digits.skip(".") || digits.skip(",") ? digits.fraction() : 0
    guard let second, let offset = digits.offset(), digits.rest.isEmpty,
      let time = CivilTime(year: year, month: month, day: day, hour: hour, minute: minute, second: second)
    else { return nil }
    return time.date.addingTimeInterval(fraction - Double(offset))
  }

  private struct Scanner {
    var rest: Substring.UTF8View

    mutating func skip(_ character: Unicode.Scalar) -> Bool {
      guard rest.first == UInt8(ascii: character) else { return false }
      rest = rest.dropFirst()
      return true
    }

    mutating func number(_ count: Int) -> Int? {
      let digits = rest.prefix(count)
      guard digits.count == count, digits.allSatisfy(ASCII.isDigit) else { return nil }
      rest = rest.dropFirst(count)
      return digits.reduce(0) { $0 * 10 + Int($1) - 48 }
    }

    mutating func fraction() -> Double {
      var value = 0.0
      var scale = 0.1
      while let digit = rest.first, ASCII.isDigit(digit) {
        value += Double(digit - 48) * scale
        scale /= 10
        rest = rest.dropFirst()
      }
      return value
    }

    /// The offset from UTC in seconds, positive to the east.
    mutating func offset() -> Int? {
      if rest.isEmpty || skip("Z") || skip("z") { return 0 }
      let sign = skip("-") ? -1 : skip("+") ? 1 : 0
      guard sign != 0, let hours = number(2) else { return nil }
      _ = skip(":")
      return sign * (hours * 3600 + (rest.isEmpty ? 0 : number(2) ?? 0) * 60)
    }
  }
}
