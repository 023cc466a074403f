import Foundation
import MartletEngine
import MartletTesting
import SAPFoundationTesting
import Testing

@_spi(Toolkit) @testable import SAPFoundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Collects the log of all sessions of the process. A test looks for lines that only its own session can write.
final class LogCollector: LogHandler, LogSink, @unchecked Sendable {  // SAFETY: the level is set once
  static let shared: LogCollector = {
    let collector = LogCollector()
    let logger = Logger.shared(named: "SAP.Foundation.SAPURLSession")
    logger.logLevel = .debug
    logger.add(handler: collector)
    return collector
  }()

  var logLevel = LogLevel.debug
  let lines = Shared<[String]>([])
  private let ownText: String

  func publish(_ record: LogRecord) { lines.change { $0.append("\(record.loggerName) \(record.message)") } }

  /// - Parameter text: lines without this text belong to other tests, and are passed on to ``shared``.
  init(except text: String = "") { ownText = text }

  func write(_ line: String, at level: LogLevel) {
    let collector = ownText.isEmpty || line.contains(ownText) ? self : Self.shared
    collector.lines.change { $0.append(line) }
  }
}

@Suite("The log", .serialized, .timeLimit(.minutes(5)))
struct LogTests {
  private let log = LogCollector.shared

  @Test func aSinkGetsTheLinesInsteadOfTheLoggers() async throws {
    let server = try LoopbackServer { _ in .text("") }
    let url = server.url("/\(UUID().uuidString)")
    let sink = LogCollector(except: url.path())
    let loggers = SAPURLSession.logSink
    SAPURLSession.logSink = sink
    _ = await SAPURLSession.uncached().outcome(of: url)
    SAPURLSession.logSink = loggers
    _ = await SAPURLSession.uncached().outcome(of: server.url("/again"))

    #expect(sink.lines.value.contains { $0.hasPrefix("SAP.Foundation.SAPURLSession ") && $0.contains(url.path()) })
    #expect(!log.lines.value.contains { $0.contains(url.path()) })
    #expect(log.lines.value.contains { $0.contains("\(server.port)/again") })
  }

  @Test func aSinkMayWaitForAThreadThatChangesTheCookies() async throws {
    struct Failure: Error { let id = UUID() }
    final class Broken: CodableStoring {
      let failure = Failure()
      func get<T: Codable>(_ type: T.Type, for key: String) throws -> T? { nil }
      func put<T: Codable>(_ value: T, for key: String) throws { throw failure }
      func remove(for key: String) throws {}
    }
    struct Sink: LogSink {
      let text: String
      let storage: SAPHTTPCookieStorage
      let isFree = Shared<Bool?>(nil)

      func write(_ line: String, at level: LogLevel) {
        guard line.contains(text) else { return LogCollector.shared.write(line, at: level) }
        let isOver = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
          storage.removeCookies(since: .distantPast)
          isOver.signal()
        }
        let isFree = isOver.wait(timeout: .now() + 20) == .success
        self.isFree.change { $0 = isFree }
      }
    }
    let store = Broken()
    let storage = SAPHTTPCookieStorage(persistentStorage: store, options: .persistSessionCookies)
    let cookie = HTTPCookie(properties: [.name: "a", .value: "1", .domain: "example.com", .path: "/"])
    let sink = Sink(text: store.failure.id.uuidString, storage: storage)
    let loggers = SAPURLSession.logSink
    SAPURLSession.logSink = sink

    storage.setCookie(try #require(cookie))

    await sink.isFree.wait { $0 != nil }  // Another session may write the line, on its thread.
    SAPURLSession.logSink = loggers
    #expect(sink.isFree.value == true)
    #expect(storage.cookies?.isEmpty == true)
  }

  @Test func aPartHasALoggerOfItsOwn() {
    let part = "Part\(UInt64.random(in: 0 ... .max))"
    SessionLog.write(.debug, part, "heard")
    Logger.shared(named: "SAP.Foundation.SAPURLSession.\(part)").logLevel = .off
    SessionLog.write(.error, part, "not heard")

    #expect(log.lines.value.filter { $0.contains(part) } == ["SAP.Foundation.SAPURLSession.\(part) heard"])
  }

  @Test func everyLineBeginsWithTheDocumentedName() async throws {
    let service = try MobileServices()
    let session = SAPURLSession.observed(by: CorrelationObserver())
    let seen = Shared<SAPURLSessionTask?>(nil)

    _ = await session.outcome(of: URLRequest(url: service.url("/backend/logged"))) { task in seen.change { $0 = task } }

    let id = try #require(seen.value?.correlationID)
    #expect(!log.lines.value.isEmpty)
    #expect(log.lines.value.allSatisfy { $0.hasPrefix("SAP.Foundation.SAPURLSession") })
    #expect(
      log.lines.value.contains { $0.hasPrefix("SAP.Foundation.SAPURLSession.CorrelationObserver") && $0.contains(id) })
  }

  @Test func aKeyIsHiddenWhateverFollowsIt() {
    let secret = UUID().uuidString
    for end in ["", "'", ",", ": gone", ").", "/$value", "?a=1"] {
      SessionLog.write(.warning, nil, "'http://host/Patients('\(secret)')\(end)")
    }
    #expect(log.lines.value.contains { $0.contains("/Patients(***)/$value") })
    #expect(!log.lines.value.contains { $0.contains(secret) })
  }

  @Test(arguments: [
    ("/Patients('AC/DC')/Visits", "/Patients(***)/Visits"), ("/Patients('a)b')/x", "/Patients(***)/x"),
    ("/Patients('it''s)')/x", "/Patients(***)/x"), ("/Patients(%27a)b%27)/x", "/Patients(***)/x"),
    ("/Items(Order=(1),Name='(')?a=1", "/Items(***)?a=1"),
    ("/Patients%28'Anna'%29", "/Patients(***)"), ("/Patients%28%27a%29b%27%29/x", "/Patients(***)/x"),
    ("/Items%28Order=(1%29,Name='%28'%29?a=1", "/Items(***)?a=1"), ("/Patients%28'open", "/Patients(***)"),
    ("/a%20b%28c%29 and 50%28", "/a%20b(***) and 50%28"),
    ("/Patients('Anna Maria') was refused", "/Patients(***) was refused"),
    ("/Patients('open", "/Patients(***)"), ("/a (a note) and/or (another)", "/a (a note) and/or (another)"),
    ("/Orders(1)/Items('x')", "/Orders(***)/Items(***)"), ("no key (here)", "no key (here)"),
  ])
  func aKeyEndsAtItsParenthesis(_ text: String, _ shown: String) {
    let line = "\(UUID().uuidString) http://host"
    SessionLog.write(.warning, nil, line + text)
    #expect(log.lines.value.contains { $0.hasSuffix(line + shown) })
  }

  @Test func aDumpOfATaskShowsNoToken() async throws {
    let service = try MobileServices()
    let session = SAPURLSession.observed(by: CSRFTokenObserver(rootUrl: service.url))
    let seen = Shared<SAPURLSessionTask?>(nil)
    _ = await session.outcome(of: .post(service.url("/backend/Orders"))) { task in seen.change { $0 = task } }
    let task = try #require(seen.value)
    let token = try #require(task.currentRequest?.value(forHTTPHeaderField: "X-CSRF-Token"))

    var text = ""
    dump(task, to: &text)
    #expect(!text.contains(token))
  }

  @Test func secretsAreNotInIt() async throws {
    let service = try MobileServices(.init(users: ["anna": "secret-password"]))
    let secret = "secret-\(UUID().uuidString)"
    let session = SAPURLSession.observed(by: CSRFTokenObserver(rootUrl: service.url))
    var request = URLRequest.post(service.url("/backend/x?token=\(secret)"))
    request.setValue("Bearer \(secret)", forHTTPHeaderField: "Authorization")
    request.setValue("id=\(secret)", forHTTPHeaderField: "Cookie")
    request.setValue(secret, forHTTPHeaderField: "X-CSRF-Token")

    _ = await session.outcome(of: request)
    await session.get(service.url("/backend/Patients('\(secret)')/Visits(Day=1,Name='\(secret)')?a=private"))

    #expect(log.lines.value.contains { $0.contains("POST \(service.url("/backend/x"))") })
    #expect(log.lines.value.contains { $0.contains("/backend/Patients(***)/Visits(***)") })
    #expect(!log.lines.value.contains { $0.contains("a=private") })
    #expect(!log.lines.value.contains { $0.contains(secret) })
  }
}
