/// How much a line of a log matters. The names are those of swift-log.
public enum LogLevel: String, Sendable, Hashable, CaseIterable, Comparable {
  /// For whoever looks for a mistake.
  case debug
  /// What is usual.
  case info
  /// Not yet a mistake.
  case warning
  /// Something failed.
  case error

  /// Orders levels by how much they matter.
  public static func < (left: Self, right: Self) -> Bool { left.rank < right.rank }

  private var rank: Int {
    switch self {
    case .debug: 0
    case .info: 1
    case .warning: 2
    case .error: 3
    }
  }
}

/// Where lines go: a bridge to the logging of the program. Both methods are called on any thread.
///
/// To swift-log:
/// ```swift
/// struct SwiftLog: LogSink {
///   let logger: Logging.Logger
///   func write(_ line: String, at level: LogLevel) {
///     logger.log(level: .init(rawValue: level.rawValue) ?? .info, "\(line)")
///   }
/// }
/// ```
/// To Apple's unified logging:
/// ```swift
/// struct UnifiedLog: LogSink {
///   let logger = os.Logger(subsystem: "com.example.app", category: "http")
///   func write(_ line: String, at level: LogLevel) { logger.log(level: level < .warning ? .info : .error, "\(line)") }
/// }
/// ```
public protocol LogSink: Sendable {
  /// Takes one line, without its end.
  func write(_ line: String, at level: LogLevel)

  /// Whether lines of this level are wanted: others are not even put together. All are by default.
  func isEnabled(_ level: LogLevel) -> Bool
}

extension LogSink {
  /// All levels are wanted.
  public func isEnabled(_ level: LogLevel) -> Bool { true }
}
