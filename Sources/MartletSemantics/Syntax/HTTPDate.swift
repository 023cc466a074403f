/// Dates as HTTP writes them (RFC 9110 §5.6.7): `Date`, `Expires`, `Last-Modified`, `Retry-After`.
///
/// ```swift
/// HTTPDate.parse("Sun, 06 Nov 1994 08:49:37 GMT", now: Date())   // 784111777 seconds after 1970
/// HTTPDate.format(Date(timeIntervalSince1970: 784_111_777))      // "Sun, 06 Nov 1994 08:49:37 GMT"
/// ```
public enum HTTPDate {
  /// Reads a date in one of the three forms that a recipient must accept: IMF-fixdate, RFC 850, asctime.
  ///
  /// Case does not matter. That the day of the week fits the date is not checked: the date says it all. What has another
  /// form, another zone than `GMT`, be it `UTC` (RFC 9111 §4.2), or names a day or a time that does not exist is no date.
  ///
  /// - Parameters:
  ///   - text: The value, or the element of a list, that should be a date.
  ///   - now: The present. A year of two digits is the one that lies at most 50 years ahead of it.
  /// - Returns: The date, in whole seconds; nil if the text is none.
  public static func parse(_ text: some StringProtocol, now: Date) -> Date? {
    var scanner = DateScanner(text)
    guard let weekday = scanner.word() else { return nil }
    let moment: CivilTime? =
      if scanner.skip(" ") {
        isShortWeekday(weekday) ? asctime(&scanner) : nil
      } else if isShortWeekday(weekday) {
        fixdate(&scanner)
      } else if weekdays.contains(weekday) {
        rfc850(&scanner, now: CivilTime(now))
      } else {
        nil
      }
    return scanner.isAtEnd ? moment?.date : nil
  }

  /// Writes a date as IMF-fixdate, the one form that a sender may use.
  ///
  /// A fraction of a second is cut off. The form knows the years 0 to 9999: a date outside becomes the nearest inside.
  public static func format(_ date: Date) -> String {
    let moment = CivilTime(date)
    let weekday = capitalized(weekdays[moment.weekday].prefix(3))
    let month = capitalized(months[moment.month - 1][...])
    let time = "\(padded(moment.hour)):\(padded(moment.minute)):\(padded(moment.second))"
    return "\(weekday), \(padded(moment.day)) \(month) \(padded(moment.year, to: 4)) \(time) GMT"
  }

  private static let weekdays = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"]
  private static let months = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
  ]

  private static func isShortWeekday(_ word: String) -> Bool {
    word.utf8.count == 3 && weekdays.contains { $0.hasPrefix(word) }
  }

  /// `Sun, 06 Nov 1994 08:49:37 GMT`, from the comma on.
  private static func fixdate(_ scanner: inout DateScanner) -> CivilTime? {
    guard scanner.skip(", "), let day = scanner.number(digits: 2), scanner.skip(" "), let month = month(&scanner),
      scanner.skip(" "), let year = scanner.number(digits: 4), scanner.skip(" "), let time = time(&scanner),
      zone(&scanner)
    else { return nil }
    return moment(year, month, day, time)
  }

  /// `Sunday, 06-Nov-94 08:49:37 GMT`, from the comma on.
  private static func rfc850(_ scanner: inout DateScanner, now: CivilTime) -> CivilTime? {
    guard scanner.skip(", "), let day = scanner.number(digits: 2), scanner.skip("-"), let month = month(&scanner),
      scanner.skip("-"), let year = scanner.number(digits: 2), scanner.skip(" "), let time = time(&scanner),
      zone(&scanner)
    else { return nil }
    // The latest of the years with these digits that is not more than 50 years ahead.
    let latest = (now.year / 100 + 1) * 100 + year
    return [latest, latest - 100, latest - 200].lazy
      .compactMap { moment($0, month, day, time) }
      .first { !isMoreThanFiftyYears($0, after: now) }
  }

  /// `Sun Nov  6 08:49:37 1994`, from the month on.
  private static func asctime(_ scanner: inout DateScanner) -> CivilTime? {
    guard let month = month(&scanner), scanner.skip(" "),
      let day = scanner.skip(" ") ? scanner.number(digits: 1) : scanner.number(digits: 2),
      scanner.skip(" "), let time = time(&scanner), scanner.skip(" "), let year = scanner.number(digits: 4)
    else { return nil }
    return moment(year, month, day, time)
  }

  private typealias Time = (hour: Int, minute: Int, second: Int)

  private static func moment(_ year: Int, _ month: Int, _ day: Int, _ time: Time) -> CivilTime? {
    CivilTime(year: year, month: month, day: day, hour: time.hour, minute: time.minute, second: time.second)
  }

  private static func month(_ scanner: inout DateScanner) -> Int? {
    guard let word = scanner.word(), let index = months.firstIndex(of: word) else { return nil }
    return index + 1
  }

  private static func time(_ scanner: inout DateScanner) -> Time? {
    guard let hour = scanner.number(digits: 2), scanner.skip(":"), let minute = scanner.number(digits: 2),
      scanner.skip(":"), let second = scanner.number(digits: 2)
    else { return nil }
    return (hour, minute, second)
  }

  private static func zone(_ scanner: inout DateScanner) -> Bool {
    guard scanner.skip(" "), let zone = scanner.word() else { return false }
    return zone == "gmt"
  }

  private static func isMoreThanFiftyYears(_ moment: CivilTime, after now: CivilTime) -> Bool {
    let years = moment.year - now.year
    guard years == 50 else { return years > 50 }
    let left = (moment.month, moment.day, moment.hour, moment.minute, moment.second)
    return left > (now.month, now.day, now.hour, now.minute, now.second)
  }

  private static func padded(_ number: Int, to width: Int = 2) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
  }

  private static func capitalized(_ word: Substring) -> String { word.prefix(1).uppercased() + word.dropFirst() }
}

/// Reads a date from left to right.
private struct DateScanner {
  private var rest: ArraySlice<UInt8>

  init(_ text: some StringProtocol) {
    rest = Array(text.utf8)[...]
    while let first = rest.first, ASCII.isWhitespace(first) { rest.removeFirst() }
    while let last = rest.last, ASCII.isWhitespace(last) { rest.removeLast() }
  }

  var isAtEnd: Bool { rest.isEmpty }

  /// Letters, in lower case; nil if there is none.
  mutating func word() -> String? {
    let letters = rest.prefix { ASCII.isLetter($0) }
    guard !letters.isEmpty else { return nil }
    rest = rest.dropFirst(letters.count)
    return String(decoding: letters.map { ASCII.lowercased($0) }, as: UTF8.self)
  }

  /// A number of exactly so many digits, or nil.
  mutating func number(digits count: Int) -> Int? {
    let digits = rest.prefix { ASCII.isDigit($0) }
    guard digits.count == count else { return nil }
    rest = rest.dropFirst(count)
    return digits.reduce(0) { $0 * 10 + Int($1 - 48) }
  }

  mutating func skip(_ text: StaticString) -> Bool {
    let expected = UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
    guard rest.starts(with: expected) else { return false }
    rest = rest.dropFirst(expected.count)
    return true
  }
}
