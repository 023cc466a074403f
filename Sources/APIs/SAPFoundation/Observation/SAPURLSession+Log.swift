public import MartletEngine
import Synchronization

extension SAPURLSession {
  /// The sink for the log of all sessions: by default the loggers below `SAP.Foundation.SAPURLSession`, whose levels
  /// and handlers determine what is written (see ``Logger``). A sink that the app sets gets all levels that it has
  /// enabled, whatever the levels of the loggers.
  ///
  /// Every line in a sink begins with `SAP.Foundation.SAPURLSession`. Lines have no secrets: tokens, cookies, values of
  /// queries and keys of entities are replaced.
  public static var logSink: any LogSink {
    get { sink.withLock { $0 } }
    set { sink.withLock { $0 = newValue } }
  }

  private static let sink = Mutex<any LogSink>(SessionLoggers())

  /// Writes a line.
  ///
  /// - Parameter part: the part of the session: `CorrelationObserver` for
  ///   `SAP.Foundation.SAPURLSession.CorrelationObserver`.
  package static func log(_ level: LogLevel, _ part: String? = nil, _ text: @autoclosure () -> String) {
    let sink = logSink
    if sink is SessionLoggers { return SessionLoggers.logger(of: part).log(level, withoutKeys(text())) }
    guard sink.isEnabled(level) else { return }
    sink.write("\(SessionLoggers.name(of: part)) \(withoutKeys(text()))", at: level)
  }

  /// Replaces the keys of entities, which may be confidential: `/Patients('Anna')` becomes `/Patients(***)`.
  private static func withoutKeys(_ line: String) -> String {
    let segments = line.split(separator: "/", omittingEmptySubsequences: false)
    let shown = segments.dropFirst().map { segment in
      let word = segment.prefix { !$0.isWhitespace && $0 != "?" }
      guard let open = word.firstIndex(of: "("), open > word.startIndex, let close = word.lastIndex(of: ")"),
        open < close
      else { return segment }
      return word[..<open] + "(***" + segment[close...]
    }
    return (segments.prefix(1) + shown).joined(separator: "/")
  }

  /// Logs a warning of a part of the session.
  static func log(_ part: String, _ text: String) { log(.warning, part, text) }
}

/// Writes the lines of the engine's listener to the session's log.
struct PrefixedLog: LogSink {
  func write(_ line: String, at level: LogLevel) { SAPURLSession.log(level, nil, line) }

  func isEnabled(_ level: LogLevel) -> Bool { SAPURLSession.logSink.isEnabled(level) }
}

/// The default sink: the loggers of sessions and their parts.
struct SessionLoggers: LogSink {
  private static let session = Logger.shared(named: "SAP.Foundation.SAPURLSession")

  static func name(of part: String?) -> String { session.name + (part.map { "." + $0 } ?? "") }

  static func logger(of part: String?) -> Logger { part == nil ? session : Logger.shared(named: name(of: part)) }

  func write(_ line: String, at level: LogLevel) { Self.session.log(level, line) }

  func isEnabled(_ level: LogLevel) -> Bool { Self.session.isEnabled(level) }
}
