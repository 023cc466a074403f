/// A date and time of day in UTC, in the proleptic Gregorian calendar. It is computed with integers, without formatter,
/// locale or time zone.
@_spi(Toolkit) public struct CivilTime: Sendable, Hashable {
  public let year: Int
  /// 1…12.
  public let month: Int
  /// 1…31.
  public let day: Int
  /// 0…23.
  public let hour: Int
  /// 0…59.
  public let minute: Int
  /// 0…60: a leap second is counted as the second after it.
  public let second: Int

  /// Makes a time; nil if the date or the time of day does not exist.
  public init?(year: Int, month: Int, day: Int, hour: Int, minute: Int, second: Int) {
    guard (0...9999).contains(year), (1...12).contains(month),
      (1...Self.length(ofMonth: month, year: year)).contains(day),
      (0...23).contains(hour), (0...59).contains(minute), (0...60).contains(second)
    else { return nil }
    self.year = year
    self.month = month
    self.day = day
    self.hour = hour
    self.minute = minute
    self.second = second
  }

  /// Makes the time of a date, with the fraction of a second truncated. Dates outside the years 0 to 9999 are
  /// clamped.
  public init(_ date: Date) {
    let seconds = Self.clamped(date.timeIntervalSince1970)
    let days = seconds.quotientRoundingDown(by: 86_400)
    let time = seconds - days * 86_400
    (year, month, day) = Self.date(ofDay: days)
    (hour, minute, second) = (time / 3600, time / 60 % 60, time % 60)
  }

  /// The time as a date.
  public var date: Date {
    Date(timeIntervalSince1970: Double(daysSinceEpoch * 86_400 + hour * 3600 + minute * 60 + second))
  }

  /// 0 for Sunday … 6 for Saturday.
  package var weekday: Int {
    let days = daysSinceEpoch + 4  // 1 January 1970 was a Thursday.
    return days - days.quotientRoundingDown(by: 7) * 7
  }

  /// Days since 1 January 1970.
  private var daysSinceEpoch: Int {
    // The year begins in March here, so that the leap day is the last day and no table of months is needed.
    let marchYear = month > 2 ? year : year - 1
    let marchMonth = month > 2 ? month - 3 : month + 9
    let leapDays =
      marchYear.quotientRoundingDown(by: 4) - marchYear.quotientRoundingDown(by: 100)
      + marchYear.quotientRoundingDown(by: 400)
    return marchYear * 365 + leapDays + Self.dayOfMarchYear(month: marchMonth) + (day - 1) - Self.epoch
  }

  /// 1 January 1970, in days since 1 March of the year 0.
  private static let epoch = 719_468

  /// The first day of a month in a year that begins in March: any five consecutive months have 153 days.
  private static func dayOfMarchYear(month: Int) -> Int { (153 * month + 2) / 5 }

  private static func date(ofDay daysSinceEpoch: Int) -> (year: Int, month: Int, day: Int) {
    let days = daysSinceEpoch + epoch
    let era = days.quotientRoundingDown(by: 146_097)  // 400 years, after which the calendar repeats.
    let dayOfEra = days - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100)
    let month = (5 * dayOfYear + 2) / 153
    let marchYear = yearOfEra + era * 400
    return (
      year: month < 10 ? marchYear : marchYear + 1, month: month < 10 ? month + 3 : month - 9,
      day: dayOfYear - dayOfMarchYear(month: month) + 1
    )
  }

  private static func length(ofMonth month: Int, year: Int) -> Int {
    switch month {
    case 2: (year % 4 == 0 && year % 100 != 0) || year % 400 == 0 ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }

  /// Returns whole seconds, clamped to the years 0 to 9999; NaN becomes the epoch.
  private static func clamped(_ seconds: Double) -> Int {
    guard !seconds.isNaN else { return 0 }
    return Int(min(max(seconds.rounded(.down), -62_167_219_200), 253_402_300_799))
  }
}

extension Int {
  fileprivate func quotientRoundingDown(by divisor: Int) -> Int {
    self >= 0 ? self / divisor : (self + 1) / divisor - 1
  }
}
