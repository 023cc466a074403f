#if Logging
public import Logging
public import MartletEngine

/// Writes the lines about calls to a `Logger` of swift-log, with their metadata.
///
/// ```swift
/// configuration.listeners = [LogListener(to: LoggerSink(Logger(label: "com.example.http")))]
/// // info: #1 GET https://example.com/a?token=*** → 200 OK, 1.2 kB received, 34 ms, HTTP/2
/// //   http.request.method=GET url.full=… http.response.status_code=200 duration=0.034 …
/// ```
///
/// ``Martlet/LogListener`` describes the lines, the names of the metadata, and the level of each line. The listener's
/// redaction applies to all of them. Texts are metadata of the kind `string`, numbers of the kind `stringConvertible`,
/// in which a handler finds the `Int64` or `Double`.
///
/// Without a logger, each line goes to the task's own, `Logger.current`, with the metadata that `withLogger` has given
/// it. To use the logger of one request, add a listener to the request:
///
/// ```swift
/// request.options.listeners.append(LogListener(to: LoggerSink(requestLogger)))
/// ```
public struct LoggerSink: LogSink {
  private let ownLogger: Logger?

  /// Makes a sink.
  ///
  /// - Parameter logger: the destination of the lines. nil, the default, means `Logger.current` of the task that
  ///   reports an event: the one that sends the request, or reads the response's body. If `withLogger` has set none,
  ///   swift-log makes that logger once, at its first use: call `LoggingSystem.bootstrap(_:)` before the first request,
  ///   or its lines never reach the program's handler.
  public init(_ logger: Logger? = nil) { ownLogger = logger }

  private var logger: Logger { ownLogger ?? .current }

  public func isEnabled(_ level: LogLevel) -> Bool {
    guard let level = Logger.Level(level) else { return false }
    return level >= logger.logLevel
  }

  public func write(_ line: String, at level: LogLevel) { write(LogEntry(line, at: level)) }

  public func write(_ entry: LogEntry) {
    guard let level = Logger.Level(entry.level) else { return }
    logger.log(level: level, "\(entry.line)", metadata: entry.loggerMetadata, source: "Martlet")
  }
}

extension Logger.Level {
  /// The level with the same name; nil for ``Martlet/LogLevel/off``, at which nothing is written.
  fileprivate init?(_ level: LogLevel) {
    switch level {
    case .trace: self = .trace
    case .debug: self = .debug
    case .info: self = .info
    case .notice: self = .notice
    case .warning: self = .warning
    case .error: self = .error
    case .critical: self = .critical
    case .off: return nil
    }
  }
}

extension LogEntry {
  fileprivate var loggerMetadata: Logger.Metadata {
    Logger.Metadata(metadata.map { ($0.name, Logger.MetadataValue($0.value)) }, uniquingKeysWith: { first, _ in first })
  }
}

extension Logger.MetadataValue {
  fileprivate init(_ value: LogEntry.Value) {
    switch value {
    case .text(let text): self = .string(text)
    case .integer(let number): self = .stringConvertible(number)
    case .number(let number): self = .stringConvertible(number)
    }
  }
}
#endif
