import SAPCommon
import SAPFoundation
import Testing

/// A class as it stands in apps, in their language mode, without an edit.
final class OrderService {
  private let logger = Logger.shared(named: "OrderService")
  let session: SAPURLSession

  init(session: SAPURLSession) { self.session = session }

  func report(_ error: Error) { logger.error("The order failed.", error: error) }
}

enum OrderError: SAPError {
  case soldOut

  var description: String { "The coffee is sold out." }
  var debugDescription: String { "OrderError.soldOut" }
}

final class Lines: LogHandler {
  var logLevel = LogLevel.debug
  private(set) var texts: [String] = []
  func publish(_ record: LogRecord) { texts.append(record.message) }
}

@Suite("Code that imports SAPCommon")
struct MovedCodeTests {
  @Test func loggersErrorsAndSettingsAreThere() {
    let lines = Lines()
    Logger.root.add(handler: lines)
    defer { Logger.root.remove(handler: lines) }

    OrderService(session: SAPURLSession()).report(OrderError.soldOut)

    #expect(lines.texts == ["The order failed."])
    #expect(OrderError.soldOut.errorDescription == nil)
    #expect(SAPcpmsLogSettings(logLevel: "WARN").maxFileSize == 5)
  }
}
