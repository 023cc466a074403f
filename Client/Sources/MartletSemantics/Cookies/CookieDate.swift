/// Parses the date of an `Expires` attribute (RFC 6265bis §5.1.1), such as `Wed, 21-Oct-15 07:28:00 GMT`. Order and
/// punctuation do not matter.
@_spi(Toolkit) public enum CookieDate {
  /// Returns the date in UTC, whatever zone the text contains; nil if day, month, year or time is missing, does not
  /// exist, or is before 1601. A two-digit year is between 1970 and 2069.
  public static func parse(_ text: some StringProtocol) -> Date? {
    var time: (hour: Int, minute: Int, second: Int)?
    var day: Int?
    var month: Int?
    var year: Int?
    for token in text.utf8.split(whereSeparator: isDelimiter) {
      // The first token that can be a time is the time, and so on, in this order, each once.
      if time == nil, let found = self.time(token) {
        time = found
      } else if day == nil, let found = number(token, digits: 1...2) {
        day = found
      } else if month == nil, let found = self.month(token) {
        month = found
      } else if year == nil, let found = number(token, digits: 2...4) {
        year = found
      }
    }
    guard let time, let day, let month, let year = year.map(fullYear), year >= 1601, time.second <= 59 else {
      return nil
    }
    return CivilTime(
      year: year, month: month, day: day, hour: time.hour, minute: time.minute, second: time.second)?.date
  }

  /// Whether the byte is a delimiter: printable ASCII except digits, letters and the colon; and the tab.
  private static func isDelimiter(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x09, 0x20...0x2F, 0x3B...0x40, 0x5B...0x60, 0x7B...0x7E: true
    default: false
    }
  }

  /// Parses three numbers of one or two digits, separated by colons. Text after the last digit is ignored.
  private static func time(_ token: some Collection<UInt8>) -> (hour: Int, minute: Int, second: Int)? {
    let fields = token.split(separator: UInt8(ascii: ":"), maxSplits: 2, omittingEmptySubsequences: false)
    guard fields.count == 3, fields[0].allSatisfy(ASCII.isDigit), fields[1].allSatisfy(ASCII.isDigit),
      let hour = number(fields[0], digits: 1...2), let minute = number(fields[1], digits: 1...2),
      let second = number(fields[2], digits: 1...2)
    else { return nil }
    return (hour, minute, second)
  }

  /// Parses the number at the beginning of the token, if it has an allowed number of digits.
  private static func number(_ token: some Collection<UInt8>, digits: ClosedRange<Int>) -> Int? {
    let found = token.prefix(while: ASCII.isDigit)
    guard digits.contains(found.count) else { return nil }
    return found.reduce(0) { $0 * 10 + Int($1 - 48) }
  }

  private static func month(_ token: some Collection<UInt8>) -> Int? {
    let name = token.prefix(3).map { ASCII.lowercased($0) }
    return months.firstIndex { $0.elementsEqual(name) }.map { $0 + 1 }
  }

  private static let months = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
  ].map { Array($0.utf8) }

  private static func fullYear(_ year: Int) -> Int {
    switch year {
    case 70...99: year + 1900
    case 0...69: year + 2000
    default: year
    }
  }
}
