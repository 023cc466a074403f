import InMemoryLogging
import Logging
import Martlet
import MartletLogging
import MartletTesting
import Testing

/// Calls are written to loggers of swift-log.
@Suite struct LoggerSinkTests {
  private let handler: InMemoryLogHandler
  private let logger: Logger

  init() {
    var handler = InMemoryLogHandler()
    handler.logLevel = .trace
    self.handler = handler
    logger = Logger(label: "http") { [handler] _ in handler }
  }

  private func session(_ sink: LoggerSink, _ answers: MockResponse...) -> HTTPSession {
    var configuration = SessionConfiguration()
    configuration.listeners = [LogListener(to: sink)]
    return HTTPSession(transport: ScriptedTransport(answers), configuration: configuration)
  }

  @Test func theLineIsTheMessageAndEveryFactAFieldOfTheMetadata() async throws {
    let session = session(LoggerSink(logger), .text("hello", status: .notFound))
    var request = HTTPRequest(.get, "http://a.example/orders?token=hidden", fields: [.authorization: "Bearer hidden"])
    request.options.label = "listOrders"
    _ = try await session.data(for: request)

    let entry = try #require(handler.entries.last)
    #expect(entry.level == .info)
    #expect("\(entry.message)".contains("listOrders: GET http://a.example/orders?token=*** → 404 Not Found"))
    let texts = entry.metadata.mapValues { "\($0)" }
    #expect(texts["http.request.method"] == "GET")
    #expect(texts["url.full"] == "http://a.example/orders?token=***")
    #expect(texts["server.port"] == "80")
    #expect(texts["http.response.status_code"] == "404")
    #expect(texts["http.response.body.size"] == "5")
    #expect(texts["label"] == "listOrders")
    guard case .stringConvertible(let status)? = entry.metadata["http.response.status_code"] else {
      Issue.record("the status is not a number")
      return
    }
    #expect(status is Int64)
    #expect(!handler.entries.contains { "\($0)".contains("hidden") })
  }

  @Test(arguments: [
    (LogLevel.trace, Logger.Level.trace), (.debug, .debug), (.info, .info), (.notice, .notice), (.warning, .warning),
    (.error, .error), (.critical, .critical),
  ])
  func everyLevelIsTheOneWithItsName(level: LogLevel, expected: Logger.Level) {
    let sink = LoggerSink(logger)
    #expect(sink.isEnabled(level))
    sink.write("a line", at: level)
    #expect(handler.entries.map(\.level) == [expected])
  }

  @Test func nothingIsWrittenBelowTheLoggersLevelOrWhenItIsOff() {
    var quiet = logger
    quiet.logLevel = .warning
    let sink = LoggerSink(quiet)
    #expect(!sink.isEnabled(.notice))
    #expect(sink.isEnabled(.warning))
    sink.write("off", at: .off)
    #expect(handler.entries.isEmpty)
    #expect(!sink.isEnabled(.off))
  }

  @Test func withoutALoggerTheTasksOwnIsUsed() async throws {
    let session = session(LoggerSink(), .text("one"), .text("two"))
    var mine = logger
    mine[metadataKey: "tenant"] = "acme"
    _ = try await withLogger(mine) { _ in try await session.data(for: HTTPRequest(.get, "http://a.example/mine")) }
    _ = try await session.data(for: HTTPRequest(.get, "http://a.example/other"))

    #expect(!handler.entries.isEmpty)
    #expect(handler.entries.allSatisfy { $0.metadata["tenant"] == "acme" })
    #expect(!handler.entries.contains { "\($0.message)".contains("/other") })
  }

  @Test func aRequestMayHaveALoggerOfItsOwn() async throws {
    let session = HTTPSession(transport: ScriptedTransport(.text("one"), .text("two")))
    var request = HTTPRequest(.get, "http://a.example/mine")
    request.options.listeners.append(LogListener(to: LoggerSink(logger)))
    _ = try await session.data(for: request)
    _ = try await session.data(for: HTTPRequest(.get, "http://a.example/other"))

    #expect(handler.entries.filter { $0.level == .info }.count == 1)
    #expect(!handler.entries.contains { "\($0.message)".contains("/other") })
  }
}
