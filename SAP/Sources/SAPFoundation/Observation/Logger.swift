public import MartletEngine

/// Writes messages to handlers: SAP's documented logging.
///
/// ```swift
/// let logger = Logger.shared(named: "Orders")
/// Logger.root.logLevel = .info
/// logger.warn("No picture.", error: failure)
/// ```
///
/// Names are paths: the parent of `Orders.Pictures` is `Orders`, whose parent is ``root``. A logger without a level of
/// its own has the level of its parent. A message goes to the logger's handlers and then to those of its parents. The
/// sessions of this module use loggers below `SAP.Foundation.SAPURLSession`:
///
/// ```swift
/// Logger.shared(named: "SAP.Foundation.SAPURLSession").logLevel = .debug
/// ```
///
/// By default warnings and errors are logged, and messages without any handler are written to standard error. (SAP's
/// defaults are not published. SAP's module `SAPCommon` is part of this module: remove its import.) If a file imports
/// another `Logger`, such as that of swift-log or Apple's `os`, write `SAPFoundation.Logger`. Any thread may use a
/// logger.
public final class Logger: Sendable {
  /// The topmost logger. Its name is empty.
  public static let root = Logger("", below: nil)
  private static let known = Locked<[String: Logger]>([:])

  /// The full name: the path from the root, separated by dots.
  public let name: String
  /// The parent; nil for the root.
  public let parent: Logger?
  private let state: Locked<State>

  private struct State {
    var level: LogLevel?
    var handlers: [UncheckedSendable<any LogHandler>] = []
    var usesParentHandlers = true
  }

  private init(_ name: String, below parent: Logger?) {
    self.name = name
    self.parent = parent
    state = Locked(State(level: parent == nil ? .warning : nil))
  }

  /// Returns the logger with a name: always the same object. It exists until the program ends, so do not use names from
  /// users' input.
  public static func shared(named name: String) -> Logger {
    let path = name.split(separator: ".").joined(separator: ".")
    guard !path.isEmpty else { return root }
    if let logger = known.withLock({ $0[path] }) { return logger }
    let parent = shared(named: path.lastIndex(of: ".").map { String(path[..<$0]) } ?? "")
    return known.withLock { known in
      let logger = known[path] ?? Logger(path, below: parent)
      known[path] = logger
      return logger
    }
  }

  /// Returns the logger of a class, whose name is that of its module and its own: `Shop.Cart`. (SAP does not publish
  /// the name that its loggers of classes have.)
  public static func shared(forClass type: AnyClass) -> Logger {
    // The file of a private class is a part of its name.
    shared(named: String(reflecting: type).split(separator: ".").filter { !$0.hasPrefix("(") }.joined(separator: "."))
  }

  /// The lowest level that is logged: the logger's own, or that of its parent. The root's is `.warn` by default.
  public var logLevel: LogLevel {
    get { state.withLock { $0.level } ?? parent?.logLevel ?? .warning }
    set { state.withLock { $0.level = newValue } }
  }

  /// Removes the logger's own level, so that its parent's applies again. The root's becomes `.warn`. (Not in SAP's
  /// API.)
  public func removeLogLevel() { state.withLock { $0.level = nil } }

  /// Whether messages also go to the handlers of parents; true by default.
  public var useParentHandlers: Bool {
    get { state.withLock { $0.usesParentHandlers } }
    set { state.withLock { $0.usesParentHandlers = newValue } }
  }

  /// The handlers of this logger, without those of its parents.
  public var handlers: [any LogHandler] { state.withLock { $0.handlers }.map(\.value) }

  /// Adds a handler, unless the logger already has it.
  public func add(handler: any LogHandler) {
    state.withLock { state in
      guard !state.handlers.contains(where: { $0.value === handler }) else { return }
      state.handlers.append(UncheckedSendable(value: handler))
    }
  }

  /// Removes a handler, if the logger has it.
  public func remove(handler: any LogHandler) {
    state.withLock { state in state.handlers.removeAll { $0.value === handler } }
  }

  /// Logs an error.
  public func error(
    _ message: @autoclosure () -> String, error: (any Error)? = nil, file: String = #fileID,
    function: String = #function, line: Int = #line
  ) { log(.error, message(), error: error, at: (file, function, line)) }

  /// Logs a warning.
  public func warn(
    _ message: @autoclosure () -> String, error: (any Error)? = nil, file: String = #fileID,
    function: String = #function, line: Int = #line
  ) { log(.warning, message(), error: error, at: (file, function, line)) }

  /// Logs information about normal operation.
  public func info(
    _ message: @autoclosure () -> String, error: (any Error)? = nil, file: String = #fileID,
    function: String = #function, line: Int = #line
  ) { log(.info, message(), error: error, at: (file, function, line)) }

  /// Logs a message for debugging.
  public func debug(
    _ message: @autoclosure () -> String, error: (any Error)? = nil, file: String = #fileID,
    function: String = #function, line: Int = #line
  ) { log(.debug, message(), error: error, at: (file, function, line)) }

  /// Whether messages of this level are logged; false for `.off`.
  public func isEnabled(_ level: LogLevel) -> Bool { level != .off && level >= logLevel }

  /// Passes a message to the handlers if its level is enabled; otherwise the message is not evaluated.
  func log(
    _ level: LogLevel, _ message: @autoclosure () -> String, error: (any Error)? = nil,
    at place: (file: String, function: String, line: Int) = (#fileID, #function, #line)
  ) {
    guard isEnabled(level) else { return }
    let record = LogRecord(
      date: Date(), logLevel: level, loggerName: name, message: message(), error: error, file: place.file,
      function: place.function, line: place.line)
    let handlers = reachedHandlers
    Self.publishing.call { lastResort in
      guard !handlers.isEmpty else { return lastResort.publish(record) }
      for handler in handlers where level >= handler.value.logLevel { handler.value.publish(record) }
    }
  }

  /// The handlers of the logger, then those of its parents.
  private var reachedHandlers: [UncheckedSendable<any LogHandler>] {
    let (own, usesParents) = state.withLock { ($0.handlers, $0.usesParentHandlers) }
    return usesParents ? own + (parent?.reachedHandlers ?? []) : own
  }

  /// The handler of messages that have no other. Its lock is held while any handler is called, so that handlers get one
  /// message at a time. A handler may log while it is called.
  private static let publishing = Synchronized<any LogHandler>(ConsoleLogHandler())
}

extension Logger: Hashable, CustomStringConvertible {
  /// Whether they are the same object.
  public static func == (left: Logger, right: Logger) -> Bool { left === right }

  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }

  /// The name.
  public var description: String { name.isEmpty ? "root" : name }
}

extension LogLevel {
  /// SAP's name of ``Martlet/LogLevel/warning``.
  public static let warn = LogLevel.warning
}

/// A message in the form in which handlers get it.
public struct LogRecord: Sendable {
  /// The date at which it was logged.
  public let date: Date
  /// The level.
  public let logLevel: LogLevel
  /// The full name of the logger.
  public let loggerName: String
  /// The text.
  public let message: String
  /// The error that was logged; nil for none.
  public let error: (any Error)?
  /// The module and file that logged it.
  public let file: String
  /// The function that logged it.
  public let function: String
  /// The line of the file.
  public let line: Int

  init(
    date: Date, logLevel: LogLevel, loggerName: String, message: String, error: (any Error)?, file: String,
    function: String, line: Int
  ) {
    (self.date, self.logLevel, self.loggerName) = (date, logLevel, loggerName)
    (self.message, self.error) = (message, error)
    (self.file, self.function, self.line) = (file, function, line)
  }
}

/// A destination of messages: a file, a server, another logging system. (SAP publishes these two members.)
///
/// ```swift
/// final class Collector: LogHandler {
///   var logLevel = LogLevel.debug
///   private(set) var lines: [String] = []
///   func publish(_ record: LogRecord) { lines.append("\(record.loggerName): \(record.message)") }
/// }
/// Logger.root.add(handler: Collector())
/// ```
///
/// Only one thread at a time calls a handler. Logging waits for it, so it should be fast.
public protocol LogHandler: AnyObject {
  /// The lowest level that it handles, in addition to the logger's level; `.off` for none.
  var logLevel: LogLevel { get set }

  /// Handles a message.
  func publish(_ record: LogRecord)
}

/// Formats messages as lines.
public protocol LogFormatter {
  /// Returns the line of a message, without a line break at the end.
  func format(_ record: LogRecord) -> String
}

/// Formats a message as the logger's name, the text, and the error if any.
open class ConsoleLogFormatter: LogFormatter {
  /// Makes a formatter.
  public init() {}

  open func format(_ record: LogRecord) -> String {
    let name = record.loggerName.isEmpty ? "" : record.loggerName + " "
    return name + record.message + (record.error.map { ": \($0)" } ?? "")
  }
}

/// Writes messages to standard error, one line each, with time and level.
open class ConsoleLogHandler: LogHandler {
  /// The lowest level that is written; `.debug`, all messages of its loggers, by default.
  open var logLevel: LogLevel
  /// Formats the lines, to which time and level are prepended.
  open var formatter: any LogFormatter
  private let output = StandardErrorLog(from: .debug)

  /// Makes a handler.
  public init(logLevel: LogLevel = .debug, formatter: any LogFormatter = ConsoleLogFormatter()) {
    self.logLevel = logLevel
    self.formatter = formatter
  }

  open func publish(_ record: LogRecord) {
    let line = formatter.format(record).unicodeScalars.map { scalar in
      // Line breaks within a message do not begin new lines.
      scalar.properties.generalCategory == .control ? " " : Character(scalar)
    }
    output.write(String(line), at: record.logLevel)
  }
}
