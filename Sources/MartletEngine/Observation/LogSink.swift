public import MartletSemantics

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The level of a line in a log. The names are those of swift-log, except ``off``.
public enum LogLevel: String, Sendable, Hashable, CaseIterable, Comparable {
  /// Details for debugging.
  case debug
  /// Normal operation.
  case info
  /// Something unusual that is not an error.
  case warning
  /// Something failed.
  case error
  /// No line has this level. As a minimum it disables a log.
  case off

  /// Orders levels by severity.
  public static func < (left: Self, right: Self) -> Bool { left.rank < right.rank }

  private var rank: Int {
    switch self {
    case .debug: 0
    case .info: 1
    case .warning: 2
    case .error: 3
    case .off: 4
    }
  }
}

/// The destination of lines, for example the logging of the program. Both methods are called on any thread.
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
  /// Writes a line, which has no line break at its end.
  func write(_ line: String, at level: LogLevel)

  /// Whether lines of this level are written; others are not even made. True by default.
  func isEnabled(_ level: LogLevel) -> Bool
}

extension LogSink {
  /// True: lines of all levels are written.
  public func isEnabled(_ level: LogLevel) -> Bool { true }
}

/// Writes lines to standard error, each with the time and the level: `2026-11-21T07:05:13.042Z info #1 GET …`.
public struct StandardErrorLog: LogSink {
  private let minimum: LogLevel
  private let now: @Sendable () -> Date

  /// Makes a sink.
  ///
  /// - Parameters:
  ///   - minimum: the lowest level that is written; `info` by default.
  ///   - now: returns the time of a line.
  public init(from minimum: LogLevel = .info, now: @escaping @Sendable () -> Date = { .now }) {
    self.minimum = minimum
    self.now = now
  }

  public func isEnabled(_ level: LogLevel) -> Bool { level >= minimum }

  public func write(_ line: String, at level: LogLevel) {
    guard isEnabled(level) else { return }
    // a line is written with one call, so that lines of several threads are not mixed
    let bytes = Array("\(Timestamp.format(now())) \(level.rawValue) \(line)\n".utf8)
    bytes.withUnsafeBytes(writeToStandardError)
  }
}

private func writeToStandardError(_ bytes: UnsafeRawBufferPointer) {
  var rest = bytes[...]
  while !rest.isEmpty {
    let slice = UnsafeRawBufferPointer(rebasing: rest)
    let count = write(STDERR_FILENO, slice.baseAddress, slice.count)
    if count < 0, errno == EINTR { continue }
    guard count > 0 else { return }  // a failure cannot be reported anywhere
    rest = rest.dropFirst(count)
  }
}
