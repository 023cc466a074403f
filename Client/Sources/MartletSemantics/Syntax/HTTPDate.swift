/// Parses and formats the dates of HTTP (RFC 9110 §5.6.7): `Date`, `Expires`, `Last-Modified`, `Retry-After`.
///
/// ```swift
/// HTTPDate.parse("Sun, 06 Nov 1994 08:49:37 GMT", now: Date())   // 784111777 seconds after 1970
/// HTTPDate.format(Date(timeIntervalSince1970: 784_111_777))      // "Sun, 06 Nov 1994 08:49:37 GMT"
/// ```
public enum HTTPDate {
  /// Parses a date in one of the three formats that a recipient must accept: IMF-fixdate, RFC 850, asctime.
  ///
  /// Case-insensitive. The day of the week is not checked against the date. Other formats, other zones than `GMT`,
  /// including `UTC` (RFC 9111 §4.2), and dates or times that do not exist are not accepted.
  ///
  /// - Parameters:
  ///   - text: the field value or list element.
  ///   - now: the current time. A two-digit year is the latest one that is at most 50 years in the future.
  /// - Returns: the date in whole seconds; nil if the text is not a date.
  public static func parse(_ text: some StringProtocol, now: Date) -> Date? {
    if let moment = usual(String(text)) { return moment.date }
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

  /// Formats a date as IMF-fixdate, the only format that a sender may use.
  ///
  /// A fraction of a second is truncated. Dates outside the years 0 to 9999 are clamped.
  public static func format(_ date: Date) -> String {
    let moment = CivilTime(date)
    let weekday = capitalized(weekdays[moment.weekday].prefix(3))
    let month = capitalized(months[moment.month - 1][...])
    let time = "\(moment.hour.digits(2)):\(moment.minute.digits(2)):\(moment.second.digits(2))"
    return "\(weekday), \(moment.day.digits(2)) \(month) \(moment.year.digits(4)) \(time) GMT"
  }

  private static let weekdays = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"]
  private static let months = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
  ]

  private static func isShortWeekday(_ word: String) -> Bool {
    word.utf8.count == 3 && weekdays.contains { $0.hasPrefix(word) }
  }

  /// Reads `Sun, 06 Nov 1994 08:49:37 GMT` in exactly the form that must be sent, which takes a tenth of the time. nil
  /// for any other text, even if it is a date.
  private static func usual(_ text: String) -> CivilTime? {
    var text = text
    return text.withUTF8 { bytes in
      guard bytes.count == form.utf8CodeUnitCount else { return nil }
      // All other characters are as in the form.
      for index in 0..<bytes.count {
        let expected = form.utf8Start[index]
        switch expected {
        case UInt8(ascii: "?"): break
        case UInt8(ascii: "0"): guard ASCII.isDigit(bytes[index]) else { return nil }
        default: guard bytes[index] == expected else { return nil }
        }
      }
      func number(_ start: Int, _ end: Int) -> Int { (start..<end).reduce(0) { $0 * 10 + Int(bytes[$1] - 48) } }
      guard place(of: bytes, 0, in: "SunMonTueWedThuFriSat") != nil,
        let month = place(of: bytes, 8, in: "JanFebMarAprMayJunJulAugSepOctNovDec")
      else { return nil }
      return moment(number(12, 16), month + 1, number(5, 7), (number(17, 19), number(20, 22), number(23, 25)))
    }
  }

  /// Digits are 0, and letters of names are question marks.
  private static let form: StaticString = "???, 00 ??? 0000 00:00:00 GMT"

  /// Returns the position of the three letters at an index in a list of such names.
  private static func place(of bytes: UnsafeBufferPointer<UInt8>, _ index: Int, in names: StaticString) -> Int? {
    (0..<names.utf8CodeUnitCount / 3).first { place in
      (0..<3).allSatisfy { bytes[index + $0] == names.utf8Start[place * 3 + $0] }
    }
  }

  /// `Sun, 06 Nov 1994 08:49:37 GMT`, starting at the comma.
  private static func fixdate(_ scanner: inout DateScanner) -> CivilTime? {
    guard scanner.skip(", "), let day = scanner.number(digits: 2), scanner.skip(" "), let month = month(&scanner),
      scanner.skip(" "), let year = scanner.number(digits: 4), scanner.skip(" "), let time = time(&scanner),
      zone(&scanner)
    else { return nil }
    return moment(year, month, day, time)
  }

  /// `Sunday, 06-Nov-94 08:49:37 GMT`, starting at the comma.
  private static func rfc850(_ scanner: inout DateScanner, now: CivilTime) -> CivilTime? {
    guard scanner.skip(", "), let day = scanner.number(digits: 2), scanner.skip("-"), let month = month(&scanner),
      scanner.skip("-"), let year = scanner.number(digits: 2), scanner.skip(" "), let time = time(&scanner),
      zone(&scanner)
    else { return nil }
    // The latest year with these digits that is at most 50 years in the future.
    let latest = (now.year / 100 + 1) * 100 + year
    return [latest, latest - 100, latest - 200].lazy
      .compactMap { moment($0, month, day, time) }
      .first { !isMoreThanFiftyYears($0, after: now) }
  }

  /// `Sun Nov  6 08:49:37 1994`, starting at the month.
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

  private static func capitalized(_ word: Substring) -> String { word.prefix(1).uppercased() + word.dropFirst() }
}

/// Scans a date from left to right.
private struct DateScanner {
  private var rest: ArraySlice<UInt8>

  init(_ text: some StringProtocol) {
    rest = Array(text.utf8)[...]
    while let first = rest.first, ASCII.isWhitespace(first) { rest.removeFirst() }
    while let last = rest.last, ASCII.isWhitespace(last) { rest.removeLast() }
  }

  var isAtEnd: Bool { rest.isEmpty }

  /// Scans letters and returns them in lower case; nil if there are none.
  mutating func word() -> String? {
    let letters = rest.prefix { ASCII.isLetter($0) }
    guard !letters.isEmpty else { return nil }
    rest = rest.dropFirst(letters.count)
    return String(decoding: letters.map { ASCII.lowercased($0) }, as: UTF8.self)
  }

  /// Scans a number with exactly that many digits; nil if there is none.
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
