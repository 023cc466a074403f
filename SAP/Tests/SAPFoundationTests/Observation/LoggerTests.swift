import Foundation
import SAPFoundation
import Testing

@Suite("Loggers") struct LoggerTests {
  private final class Handler: LogHandler {
    var logLevel = LogLevel.debug
    var records: [LogRecord] = []
    func publish(_ record: LogRecord) { records.append(record) }
  }

  /// A logger that no other test has.
  private let logger = Logger.shared(named: "Test\(UInt64.random(in: 0 ... .max))")
  private let handler = Handler()

  init() {
    logger.add(handler: handler)
    logger.useParentHandlers = false
  }

  /// Lets another thread change the logger while it handles a message, and waits for that.
  private final class Changing: LogHandler {
    var logLevel = LogLevel.debug
    var isDone = false
    let logger: Logger

    init(_ logger: Logger) { self.logger = logger }

    func publish(_ record: LogRecord) {
      let done = DispatchSemaphore(value: 0)
      Thread.detachNewThread { [logger] in
        logger.add(handler: Handler())
        done.signal()
      }
      isDone = done.wait(timeout: .now() + 60) == .success
    }
  }

  private final class Cart {}

  @Test func aClassHasALoggerOfItsOwn() {
    let logger = Logger.shared(forClass: Cart.self)

    #expect(logger.name == "SAPFoundationTests.LoggerTests.Cart")
    #expect(logger === Logger.shared(forClass: Cart.self))
  }

  @Test func aHandlerMayWaitForAThreadThatChangesItsLogger() {
    let changing = Changing(logger)
    logger.add(handler: changing)
    logger.error("e")
    #expect(changing.isDone)
    #expect(logger.handlers.count == 3)
  }

  private func messages(_ level: LogLevel) -> [String] {
    handler.records = []
    logger.logLevel = level
    logger.error("e", error: TestFailure(name: "f"))
    logger.warn("w")
    logger.info("i", error: nil)
    logger.debug("d")
    return handler.records.map(\.message)
  }

  @Test func aLevelIncludesHigherLevels() {
    #expect(messages(.debug) == ["e", "w", "i", "d"])
    #expect(messages(.info) == ["e", "w", "i"])
    #expect(messages(.warn) == ["e", "w"])
    #expect(messages(LogLevel.error) == ["e"])
    #expect(messages(.off).isEmpty)
  }

  @Test func aRecordSaysWhatAndWhere() throws {
    _ = messages(.error)
    let record = try #require(handler.records.first)
    #expect(record.loggerName == logger.name && record.logLevel == .error)
    #expect(record.error as? TestFailure == TestFailure(name: "f"))
    #expect(record.file.hasSuffix("LoggerTests.swift") && record.function == "messages(_:)")
    #expect(ConsoleLogFormatter().format(record) == "\(logger.name) e: TestFailure(name: \"f\")")
  }

  @Test func anUnwantedMessageIsNotEvenMade() {
    logger.logLevel = .error
    func message() -> String {
      Issue.record("it was made")
      return ""
    }
    logger.debug(message())
  }

  @Test func namesArePathsAndLevelsAreInherited() {
    let child = Logger.shared(named: logger.name + ".a.b")
    logger.logLevel = .info
    #expect(child === Logger.shared(named: logger.name + ".a.b") && child == child)
    #expect(child.parent?.parent === logger && logger.parent === Logger.root)
    #expect(child.logLevel == .info)
    child.logLevel = .debug
    #expect(logger.logLevel == .info && child.logLevel == .debug)
    child.removeLogLevel()
    #expect(child.logLevel == .info)
    #expect(Logger.shared(named: "") === Logger.root && "\(Logger.root)" == "root")
  }

  @Test func messagesGoToTheHandlersAboveUnlessTheyAreNotTo() {
    let child = Logger.shared(named: logger.name + ".child")
    child.logLevel = .info
    child.info("one")
    child.useParentHandlers = false
    let own = Handler()
    child.add(handler: own)
    child.add(handler: own)
    child.info("two")
    #expect(handler.records.map(\.message) == ["one"] && own.records.map(\.message) == ["two"])
    own.logLevel = .error
    child.info("three")
    #expect(own.records.count == 1)
    #expect(child.handlers.count == 1)
    child.remove(handler: own)
    #expect(child.handlers.isEmpty)
  }
}
