import MartletSemantics

/// Dates of the HTTP format (RFC 9110 §5.6.7), in whole seconds since 1970: the one place where the folder makes and
/// reads them.
enum FolderDate {
  private static let days = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]

  /// `Sun, 06 Nov 1994 08:49:37 GMT`.
  static func format(_ seconds: Int64) -> String {
    let date = Date(timeIntervalSince1970: Double(seconds))
    let parts = calendar.dateComponents([.year, .month, .day, .hour, .minute, .second], from: date)
    let day = Int(((seconds >= 0 ? seconds : seconds - 86_399) / 86_400 % 7 + 7) % 7)
    let time = [parts.hour, parts.minute, parts.second].map { padded($0 ?? 0) }.joined(separator: ":")
    let month = months[(parts.month ?? 1) - 1]
    return "\(days[day]), \(padded(parts.day ?? 1)) \(month) \(padded(parts.year ?? 1970, to: 4)) \(time) GMT"
  }

  /// Reads the preferred format; nil for anything else, which a server then ignores (RFC 9110 §13.1.3).
  static func parse(_ text: String) -> Int64? {
    let words = text.split(separator: " ")
    guard words.count == 6, words[5] == "GMT", let month = months.firstIndex(of: String(words[2])) else { return nil }
    let time = words[4].split(separator: ":").compactMap { Int($0) }
    guard time.count == 3, let day = Int(words[1]), let year = Int(words[3]) else { return nil }
    let parts = DateComponents(
      year: year, month: month + 1, day: day, hour: time[0], minute: time[1], second: time[2])
    return calendar.date(from: parts).map { Int64($0.timeIntervalSince1970) }
  }

  private static var calendar: Calendar {
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = .gmt
    return calendar
  }

  private static func padded(_ number: Int, to width: Int = 2) -> String {
    let digits = "\(number)"
    return String(repeating: "0", count: max(0, width - digits.count)) + digits
  }
}
