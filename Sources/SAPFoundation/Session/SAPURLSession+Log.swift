public import MartletEngine
import Synchronization

extension SAPURLSession {
  /// Where all sessions write what they do: to standard error, from warnings on, unless the app puts another sink here.
  ///
  /// Every line begins with `SAP.Foundation.SAPURLSession`, and shows no secrets: tokens, cookies, the values of queries and
  /// the keys of entities are left out.
  public static var logSink: any LogSink {
    get { sink.withLock { $0 } }
    set { sink.withLock { $0 = newValue } }
  }

  private static let sink = Mutex<any LogSink>(StandardErrorLog(from: .warning))

  /// Writes a line.
  ///
  /// - Parameter part: what of the session speaks: `CorrelationObserver` for `SAP.Foundation.SAPURLSession.CorrelationObserver`.
  package static func log(_ level: LogLevel, _ part: String? = nil, _ text: @autoclosure () -> String) {
    let sink = logSink
    guard sink.isEnabled(level) else { return }
    sink.write("SAP.Foundation.SAPURLSession\(part.map { "." + $0 } ?? "") \(withoutKeys(text()))", at: level)
  }

  /// A key is as private as what it names: `/Patients('Anna')` becomes `/Patients(***)`.
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

  /// What a part of the session warns of.
  static func log(_ part: String, _ text: String) { log(.warning, part, text) }
}

/// What the engine's listener writes, under SAP's name.
struct PrefixedLog: LogSink {
  func write(_ line: String, at level: LogLevel) { SAPURLSession.log(level, nil, line) }

  func isEnabled(_ level: LogLevel) -> Bool { SAPURLSession.logSink.isEnabled(level) }
}
