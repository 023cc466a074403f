import MartletEngine
import Synchronization

/// The log of all sessions. Lines contain no secrets: keys of entities, which may be confidential, are replaced.
@_spi(Toolkit) public enum SessionLog {
  /// Where lines go; see ``SAPURLSession/logSink``.
  static var sink: any LogSink {
    get { current.withLock { $0 } }
    set { current.withLock { $0 = newValue } }
  }

  private static let current = Mutex<any LogSink>(SessionLoggers())

  /// A line that is written later.
  private struct KeptLine {
    let level: LogLevel
    let part: String?
    let text: String
  }

  private static let kept = Mutex<[KeptLine]>([])
  /// Whether there are kept lines. There hardly ever are when ``writeKept()`` is called, which each request does.
  private static let hasKept = Atomic(false)

  /// Keeps a line until ``writeKept()``, for code that holds a lock or makes a static constant. The sink is the app's
  /// code and may use a session that needs either.
  static func keep(_ level: LogLevel, _ part: String?, _ text: String) {
    kept.withLock { kept in
      kept.append(KeptLine(level: level, part: part, text: text))
      hasKept.store(true, ordering: .releasing)
    }
  }

  /// Writes the kept lines. The caller holds no lock.
  static func writeKept() {
    guard hasKept.load(ordering: .acquiring) else { return }
    let lines = kept.withLock { kept in
      defer { kept = [] }
      hasKept.store(false, ordering: .releasing)
      return kept
    }
    for line in lines { write(line.level, line.part, line.text) }
  }

  /// Writes a line. The caller holds no lock; see ``keep(_:_:_:)``.
  ///
  /// - Parameter part: the part of the session: `CorrelationObserver` for
  ///   `SAP.Foundation.SAPURLSession.CorrelationObserver`.
  static func write(_ level: LogLevel, _ part: String? = nil, _ text: @autoclosure () -> String) {
    let sink = sink
    if sink is SessionLoggers { return SessionLoggers.logger(of: part).log(level, withoutKeys(text())) }
    guard sink.isEnabled(level) else { return }
    sink.write("\(SessionLoggers.name(of: part)) \(withoutKeys(text()))", at: level)
  }

  /// Deletes a value at a sign-out. A failure is logged, and the sign-out continues.
  @discardableResult
  static func failure(deleting name: String, _ delete: () throws -> Void) -> Bool {
    do { try delete() } catch {
      write(.error, nil, "a sign-out could not delete \(name) from its store: \(error)")
      return true
    }
    return false
  }

  /// Replaces the keys of entities, which may be confidential: `/Patients('Anna')` becomes `/Patients(***)`, also if
  /// the parentheses are percent-encoded. If a key does not end, the rest of the line is replaced.
  public static func withoutKeys(_ line: String) -> String {
    guard line.utf8.contains(UInt8(ascii: "(")) || line.contains("%28") else { return line }
    var shown = ""
    var rest = line[...]
    while let slash = rest.firstIndex(of: "/") {
      var end = rest.index(after: slash)
      while end < rest.endIndex, !rest[end].isWhitespace, !"/?()".contains(rest[end]), !rest[end...].hasPrefix("%28") {
        end = rest.index(after: end)
      }
      let isNamed = end > rest.index(after: slash)
      shown += rest[..<end]
      rest = rest[end...]
      guard isNamed, mark(at: rest.startIndex, of: rest)?.character == "(" else { continue }
      shown += "(***)"
      rest = rest[endOfKey(in: rest)...]
    }
    return shown + rest
  }

  /// Returns the index after the parentheses at the beginning of a text. Parentheses within quotes belong to a value
  /// (OData 4.01 URL conventions §4.3.1).
  private static func endOfKey(in text: Substring) -> Substring.Index {
    var depth = 0
    var isQuoted = false
    var index = text.startIndex
    while index < text.endIndex {
      guard let (character, next) = mark(at: index, of: text) else {
        index = text.index(after: index)
        continue
      }
      index = next
      if character == "'" {
        isQuoted.toggle()
      } else if !isQuoted {
        depth += character == "(" ? 1 : -1
        if depth == 0 { return index }
      }
    }
    return text.endIndex
  }

  /// Returns the quote or the parenthesis at an index, which may be percent-encoded, and the index after it; nil if
  /// there is another character.
  private static func mark(at index: Substring.Index, of text: Substring) -> (
    character: Character, end: Substring.Index
  )? {
    for (character, code) in [("'" as Character, "%27"), ("(", "%28"), (")", "%29")] {
      if index < text.endIndex, text[index] == character { return (character, text.index(after: index)) }
      if text[index...].hasPrefix(code) { return (character, text.index(index, offsetBy: code.count)) }
    }
    return nil
  }
}

/// Writes the lines of the engine's listener to the session's log.
struct PrefixedLog: LogSink {
  func write(_ line: String, at level: LogLevel) { SessionLog.write(level, nil, line) }

  func isEnabled(_ level: LogLevel) -> Bool { SessionLog.sink.isEnabled(level) }
}

/// The default sink: the loggers of sessions and their parts.
struct SessionLoggers: LogSink {
  private static let session = Logger.shared(named: "SAP.Foundation.SAPURLSession")

  static func name(of part: String?) -> String { session.name + (part.map { "." + $0 } ?? "") }

  static func logger(of part: String?) -> Logger { part == nil ? session : Logger.shared(named: name(of: part)) }

  func write(_ line: String, at level: LogLevel) { Self.session.log(level, line) }

  func isEnabled(_ level: LogLevel) -> Bool { Self.session.isEnabled(level) }
}
