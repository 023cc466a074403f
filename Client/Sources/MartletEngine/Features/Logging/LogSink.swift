@_spi(Toolkit) public import MartletSemantics

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The level of a line in a log. The names are those of swift-log, except ``off``. Later versions may add some.
public enum LogLevel: String, Sendable, Hashable, CaseIterable, Comparable {
  /// Every step, to follow single requests.
  case trace
  /// Details for debugging.
  case debug
  /// Normal operation.
  case info
  /// Normal operation that deserves attention.
  case notice
  /// Something unusual that is not an error.
  case warning
  /// Something failed.
  case error
  /// Something failed that needs attention at once. This library does not use it.
  case critical
  /// No line has this level. As a minimum it disables a log.
  case off

  /// Orders levels by severity.
  public static func < (left: Self, right: Self) -> Bool { left.rank < right.rank }

  private var rank: Int {
    switch self {
    case .trace: 0
    case .debug: 1
    case .info: 2
    case .notice: 3
    case .warning: 4
    case .error: 5
    case .critical: 6
    case .off: 7
    }
  }
}

/// A line of a log, with its data as values for searchable logs.
public struct LogEntry: Sendable {
  /// The level.
  public var level: LogLevel
  /// The line, which has no line break at its end.
  public var line: String
  /// The line's data, in a fixed order; see ``LogListener`` for the names. No value contains a secret, and no text a
  /// control character.
  public var metadata: [(name: String, value: Value)] {
    get {
      switch content {
      case .made(let metadata): metadata
      case .onDemand(let make): make()
      }
    }
    set { content = .made(newValue) }
  }

  private var content: Content

  private enum Content: Sendable {
    case made([(name: String, value: Value)])
    /// Made on access, because most sinks write only the line.
    case onDemand(@Sendable () -> [(name: String, value: Value)])
  }

  /// Makes an entry.
  public init(_ line: String, at level: LogLevel, metadata: [(name: String, value: Value)] = []) {
    self.line = line
    self.level = level
    content = .made(metadata)
  }

  /// Makes an entry whose metadata is made each time it is read.
  init(_ line: String, at level: LogLevel, metadata: @escaping @Sendable () -> [(name: String, value: Value)]) {
    self.line = line
    self.level = level
    content = .onDemand(metadata)
  }

  /// The first value with a name; nil if there is none.
  public subscript(name: String) -> Value? { metadata.first { $0.name == name }?.value }

  /// A value of an entry's metadata.
  public enum Value: Sendable, Hashable, CustomStringConvertible {
    /// A text.
    case text(String)
    /// A whole number.
    case integer(Int64)
    /// A number, such as a duration in seconds.
    case number(Double)

    public var description: String {
      switch self {
      case .text(let text): text
      case .integer(let number): "\(number)"
      case .number(let number): "\(number)"
      }
    }
  }
}

/// The destination of lines, for example the program's logging. All methods may be called on any thread.
///
/// For swift-log: `LoggerSink` of the product `MartletLogging`, behind the trait `Logging`.
///
/// For Apple's unified logging:
/// ```swift
/// struct UnifiedLog: LogSink {
///   let logger = os.Logger(subsystem: "com.example.app", category: "http")
///   func write(_ line: String, at level: LogLevel) { logger.log(level: level < .warning ? .info : .error, "\(line)") }
/// }
/// ```
public protocol LogSink: Sendable {
  /// Writes a line, which has no line break at its end.
  func write(_ line: String, at level: LogLevel)

  /// Writes a line with its metadata. By default only the line is written.
  func write(_ entry: LogEntry)

  /// Whether lines of this level are written; others are not even made. True by default.
  func isEnabled(_ level: LogLevel) -> Bool
}

extension LogSink {
  /// Writes the line without its metadata.
  public func write(_ entry: LogEntry) { write(entry.line, at: entry.level) }

  /// True: lines of all levels are written.
  public func isEnabled(_ level: LogLevel) -> Bool { true }
}

/// Writes lines to standard error, each with the time and the level: `2026-11-21T07:05:13.042Z info #1 GET …`, or as
/// JSON with the metadata: `{"time":"…","level":"info","message":"#1 GET …","http.request.method":"GET",…}`.
public struct StandardErrorLog: LogSink {
  /// The form of the lines.
  public enum Format: Sendable, Hashable {
    /// The time, the level and the line.
    case text
    /// An object on each line: `time`, `level`, `message`, and the metadata.
    case json
  }

  private let minimum: LogLevel
  private let format: Format
  private let now: @Sendable () -> Date

  /// Makes a sink.
  ///
  /// - Parameters:
  ///   - minimum: the lowest level that is written; `info` by default.
  ///   - format: the form of the lines; text by default.
  ///   - now: returns the time of a line.
  public init(from minimum: LogLevel = .info, format: Format = .text, now: @escaping @Sendable () -> Date = { .now }) {
    self.minimum = minimum
    self.format = format
    self.now = now
  }

  public func isEnabled(_ level: LogLevel) -> Bool { level >= minimum }

  public func write(_ line: String, at level: LogLevel) { write(LogEntry(line, at: level)) }

  public func write(_ entry: LogEntry) {
    guard isEnabled(entry.level) else { return }
    // A line is written with one call, so that lines of several threads are not mixed.
    let bytes = Array((text(of: entry) + "\n").utf8)
    bytes.withUnsafeBytes(writeToStandardError)
  }

  package func text(of entry: LogEntry) -> String {
    let time = Timestamp.format(now())
    guard format == .json else { return "\(time) \(entry.level.rawValue) \(entry.line)" }
    let members: [(name: String, value: LogEntry.Value)] =
      [("time", .text(time)), ("level", .text(entry.level.rawValue)), ("message", .text(entry.line))] + entry.metadata
    return "{" + members.map { "\(JSONSyntax.quoted($0.name)):\($0.value.json)" }.joined(separator: ",") + "}"
  }
}

extension LogEntry.Value {
  fileprivate var json: String {
    switch self {
    case .text(let text): JSONSyntax.quoted(text)
    case .integer(let number): "\(number)"
    case .number(let number): number.isFinite ? "\(number)" : "null"
    }
  }
}

private func writeToStandardError(_ bytes: UnsafeRawBufferPointer) {
  var rest = bytes[...]
  while !rest.isEmpty {
    let slice = UnsafeRawBufferPointer(rebasing: rest)
    let count = write(STDERR_FILENO, slice.baseAddress, slice.count)
    if count < 0, errno == EINTR { continue }
    guard count > 0 else { return }  // A failure cannot be reported anywhere.
    rest = rest.dropFirst(count)
  }
}
