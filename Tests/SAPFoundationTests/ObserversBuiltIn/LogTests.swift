import Foundation
import MartletEngine
import MartletTesting
import SAPFoundation
import SAPFoundationTesting
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

@Suite("Row 34: the log", .timeLimit(.minutes(5)))
struct LogTests {
  /// Hears all sessions of the process; who looks for lines looks for what only his can say.
  private final class Collector: LogSink {
    static let shared: Collector = {
      let collector = Collector()
      SAPURLSession.logSink = collector
      return collector
    }()

    let lines = Shared<[String]>([])

    func write(_ line: String, at level: LogLevel) { lines.change { $0.append(line) } }
  }

  private let log = Collector.shared

  @Test func everyLineBeginsWithTheDocumentedName() async throws {
    let service = try MobileServices()
    let session = SAPURLSession.observed(by: CorrelationObserver())
    let seen = Shared<SAPURLSessionTask?>(nil)

    _ = await session.outcome(of: URLRequest(url: service.url("/backend/logged"))) { task in seen.change { $0 = task } }

    let id = try #require(seen.value?.correlationID)
    #expect(log.lines.value.allSatisfy { $0.hasPrefix("SAP.Foundation.SAPURLSession") })
    #expect(
      log.lines.value.contains { $0.hasPrefix("SAP.Foundation.SAPURLSession.CorrelationObserver") && $0.contains(id) })
  }

  @Test func aKeyIsHiddenWhateverFollowsIt() {
    let secret = UUID().uuidString
    for end in ["", "'", ",", ": gone", ").", "/$value", "?a=1"] {
      SAPURLSession.log(.warning, nil, "'http://host/Patients('\(secret)')\(end)")
    }
    #expect(log.lines.value.contains { $0.contains("/Patients(***)/$value") })
    #expect(!log.lines.value.contains { $0.contains(secret) })
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
