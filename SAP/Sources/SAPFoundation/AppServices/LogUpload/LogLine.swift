/// The lines of Mobile Services' log files: `#Date#Severity#CorrelationId#Source#Location#Message#`.
enum LogLine {
  /// Returns the line of a message, with a line break at its end.
  ///
  /// The correlation identifier is empty, as the format permits, because a message does not know the request that it is
  /// about. The source is the logger's name.
  static func line(for record: LogRecord, in zone: TimeZone = .current) -> String {
    let date = record.date.formatted(
      Date.ISO8601FormatStyle(timeZoneSeparator: .colon, includingFractionalSeconds: true, timeZone: zone))
    let place = "\(record.file):\(record.line) \(record.function)"
    let message = record.message + (record.error.map { ": \($0)" } ?? "")
    let fields = [date, severity(of: record.logLevel), "", record.loggerName, place, message]
    return fields.reduce("#") { $0 + escaped($1) + "#" } + "\n"
  }

  private static func severity(of level: LogLevel) -> String {
    switch level {
    case .trace, .debug, .off: "DEBUG"
    case .info, .notice: "INFO"
    case .warning: "WARN"
    case .error: "ERROR"
    case .critical: "FATAL"
    }
  }

  /// SAP publishes that `#` has to be escaped, and not how: here by a backslash. A line break becomes `\n`, so that a
  /// message never begins a line of its own.
  private static func escaped(_ text: String) -> String {
    var escaped = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "#", "\\": escaped += "\\\(scalar)"
      case "\n": escaped += "\\n"
      case "\r": escaped += "\\r"
      default: escaped.unicodeScalars.append(scalar.properties.generalCategory == .control ? " " : scalar)
      }
    }
    return escaped
  }
}
