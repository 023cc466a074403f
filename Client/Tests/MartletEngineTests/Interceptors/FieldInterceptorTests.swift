@testable import MartletEngine
import CallDoubles
import MartletSemantics
import MartletTesting
import Synchronization
import TestSupport
import Testing

@Suite("Interceptors that add fields", .timeLimit(.minutes(5)))
struct FieldInterceptorTests {
  private func send(
    _ request: HTTPRequest, through interceptors: any Interceptor..., script: [MockResponse] = [.text("done")],
    change: (inout SessionConfiguration) -> Void = { _ in }
  ) async throws -> [HTTPFields] {
    let transport = ScriptedTransport(script)
    var configuration = SessionConfiguration()
    configuration.interceptors = interceptors
    change(&configuration)
    _ = try await HTTPSession(transport: transport, configuration: configuration).data(for: request)
    return transport.requests.map(\.fields)
  }

  // MARK: - Fields for all origins

  @Test func fieldsWithoutOriginsAreNotSentAfterARedirectToAnotherOrigin() async throws {
    let sent = try await send(
      HTTPRequest(.get, origin), through: DefaultFieldsInterceptor(["X-App": "1"]),
      script: [
        .redirect(to: "http://b.example/"), .redirect(to: origin.absoluteString + "again"), .text("done"),
      ])
    #expect(sent.map { $0["X-App"] } == ["1", nil, "1"])
  }

  // MARK: - Correlation

  @Test func theIdentifierStaysTheSameOnEveryAttempt() async throws {
    let sent = try await send(
      HTTPRequest(.get, origin), through: CorrelationInterceptor(),
      script: [.redirect(to: "http://b.example/"), .status(.serviceUnavailable), .text("done")],
      change: { configuration in
        configuration.options.retryPolicy = RetryPolicy(limit: 1)
        configuration.options.retryPolicy.random = { 0 }
      })
    let ids = sent.map { $0["X-CorrelationID"] }
    #expect(ids.count == 3 && Set(ids).count == 1)
    #expect(ids[0].flatMap { UUID(uuidString: $0) } != nil)
  }

  @Test func everyCallHasItsOwnIdentifier() async throws {
    let interceptor = CorrelationInterceptor()
    let first = try await send(HTTPRequest(.get, origin), through: interceptor)
    let second = try await send(HTTPRequest(.get, origin), through: interceptor)
    #expect(first.first?["X-CorrelationID"] != second.first?["X-CorrelationID"])
  }

  @Test func theCallersIdentifierIsKeptAndAvailableToListeners() async throws {
    let seen = EventLogOfIDs()
    var request = HTTPRequest(.get, origin, fields: ["x-correlationid": "mine"])
    request.options.listeners = [seen.listener]
    let sent = try await send(request, through: CorrelationInterceptor(trace: .sampled))
    #expect(sent.first?[values: "X-CorrelationID"] == ["mine"])
    #expect(seen.last == "mine")
    #expect(sent.first?["traceparent"]?.utf8.count == 55)
  }

  @Test func theFieldAndItsValueCanBeChosen() async throws {
    let sent = try await send(
      HTTPRequest(.get, origin), through: CorrelationInterceptor(field: "X-Request-Id") { "seven" })
    #expect(sent.first?["X-Request-Id"] == "seven")
    #expect(sent.first?.contains("traceparent") == false)
  }

  @Test func aTraceIsOneForTheCallAndASpanForEveryAttempt() async throws {
    let sent = try await send(
      HTTPRequest(.get, origin), through: CorrelationInterceptor(trace: .unsampled),
      script: [.redirect(to: "/b"), .text("done")])
    let parts = sent.map { $0["traceparent"]?.split(separator: "-").map(String.init) ?? [] }
    #expect(parts.map(\.count) == [4, 4])
    #expect(parts[0][1] == parts[1][1])
    #expect(parts[0][2] != parts[1][2])
    #expect(parts[0][3] == "00")
    #expect(sent[0]["X-CorrelationID"]?.replacing("-", with: "") == parts[0][1])
  }

  @Test func aTraceThatTheRequestHasIsContinuedWithASpanForEveryAttempt() async throws {
    let trace = "0af7651916cd43dd8448eb211c80319c", parent = "b7ad6b7169203331"
    let fields: HTTPFields = ["traceparent": "00-\(trace)-\(parent)-01", "tracestate": "a=1", "tracestate": "b=2"]
    let sent = try await send(
      HTTPRequest(.get, origin, fields: fields), through: CorrelationInterceptor(trace: .unsampled),
      script: [.redirect(to: "/b"), .text("done")])
    let parts = sent.map { $0["traceparent"]?.split(separator: "-").map(String.init) ?? [] }
    #expect(parts.map { $0[1] } == [trace, trace])
    #expect(parts.map { $0[3] } == ["01", "01"])
    #expect(Set(parts.map { $0[2] } + [parent]).count == 3)
    #expect(sent.map { $0[values: "tracestate"] } == [["a=1,b=2"], ["a=1,b=2"]])
  }

  @Test func aTraceThatIsNotValidIsReplacedByANewOne() async throws {
    let fields: HTTPFields = ["traceparent": "00-0-0-01", "tracestate": "a=1"]
    let sent = try await send(
      HTTPRequest(.get, origin, fields: fields), through: CorrelationInterceptor(trace: .sampled),
      script: [.redirect(to: "/b"), .text("done")])
    let traces = sent.map { $0["traceparent"]?.split(separator: "-")[1] }
    #expect(traces[0]?.utf8.count == 32 && traces[0] == traces[1])
    #expect(sent.allSatisfy { !$0.contains("tracestate") })
  }

  @Test func aStateThatIsNotValidIsDroppedAndTheTraceGoesOn() async throws {
    let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    let sent = try await send(
      HTTPRequest(.get, origin, fields: ["traceparent": trace, "tracestate": "a=1,a=2"]),
      through: CorrelationInterceptor(trace: .sampled))
    #expect(sent.first?["traceparent"]?.hasPrefix(trace.prefix(36)) == true)
    #expect(sent.first?.contains("tracestate") == false)
  }

  /// Works like a tracing system, whichever of the two comes first.
  @Test(arguments: [true, false]) func aTraceOfATracingSystemStaysAsItIs(isFirst: Bool) async throws {
    struct Tracer: Interceptor {
      func prepare(_ request: HTTPRequest, in call: Call) async throws -> Preparation {
        var request = request
        request.fields["traceparent"] = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        call.isTraced = true
        return .send(request)
      }
    }
    let transport = ScriptedTransport(.redirect(to: "/b"), .text("ok"))
    var configuration = SessionConfiguration()
    let correlation = CorrelationInterceptor(trace: .sampled)
    configuration.interceptors = isFirst ? [Tracer(), correlation] : [correlation, Tracer()]
    _ = try await HTTPSession(transport: transport, configuration: configuration).data(for: HTTPRequest(.get, origin))
    for request in transport.requests {
      #expect(
        request.fields[values: "traceparent"] == ["00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"])
    }
    #expect(transport.requests.count == 2)
  }

  @Test func withoutATraceOfItsOwnTheFieldsArePassedOnUnchanged() async throws {
    let fields: HTTPFields = ["traceparent": "anything", "tracestate": "at all"]
    let sent = try await send(HTTPRequest(.get, origin, fields: fields), through: CorrelationInterceptor())
    #expect(sent.first?[values: "traceparent"] == ["anything"])
    #expect(sent.first?[values: "tracestate"] == ["at all"])
  }

  // MARK: - Languages

  @Test func languagesReplaceTheField() async throws {
    let sent = try await send(
      HTTPRequest(.get, origin, fields: [.acceptLanguage: "old", .acceptLanguage: "older"]),
      through: try LanguageInterceptor(["de_CH", "en"]))
    #expect(sent.first?[values: .acceptLanguage] == ["de-CH, en;q=0.9"])
  }

  @Test func withoutLanguagesThereIsNoField() async throws {
    let sent = try await send(HTTPRequest(.get, origin), through: try LanguageInterceptor([]))
    #expect(sent.first?.contains(.acceptLanguage) == false)
  }

  @Test func anInvalidLanguageIsNamedInTheError() {
    let error = #expect(throws: HTTPError.self) { try LanguageInterceptor(["de", "en;q=1"]) }
    #expect(error?.kind == .invalidRequest)
    #expect(error?.message.contains("en;q=1") == true)
  }

  @Test(
    arguments: [
      ([:], []), (["LANG": "de_CH.UTF-8"], ["de_CH"]), (["LANG": "C"], []), (["LANG": "C.UTF-8"], []),
      (["LANG": "POSIX", "LANGUAGE": "de"], []), (["LANG": "de_DE", "LC_ALL": "fr_FR@euro"], ["fr_FR"]),
      (["LANG": "de_DE", "LC_MESSAGES": "it_IT", "LC_ALL": ""], ["it_IT"]),
      (["LANG": "de_DE", "LANGUAGE": "fr:en_GB:C"], ["fr", "en_GB"]), (["LANG": "de_DE", "LANGUAGE": ":"], ["de_DE"]),
    ] as [([String: String], [String])])
  func theEnvironmentNamesLanguages(environment: [String: String], languages: [String]) {
    #expect(PreferredLanguages.named(in: environment) == languages)
  }

  // MARK: - Default fields

  @Test(arguments: [
    ("https://api.example/x", true, true), ("https://API.example:443/x", true, true),
    ("http://api.example/", false, false), ("https://api.example:8443/", false, false),
    ("https://v2.api.example/", false, true), ("https://v2.api.example:8443/", false, false),
    ("https://myapi.example/", false, false), ("https://example/", false, false),
    ("https://api.example.evil/", false, false),
  ])
  func defaultFieldsGoToTheirOriginOnly(target: String, exactly: Bool, withSubdomains: Bool) async throws {
    for (subdomains, isExpected) in [
      (DefaultFieldsInterceptor.Subdomains.excluded, exactly), (.included, withSubdomains),
    ] {
      let interceptor = DefaultFieldsInterceptor(
        ["X-Key": "k"], for: [url("https://api.example/")], subdomains: subdomains)
      let sent = try await send(HTTPRequest(.get, url(target)), through: interceptor)
      #expect(sent.first?.contains("X-Key") == isExpected, "\(target) \(subdomains)")
    }
  }

  @Test func anAddressHasNoSubdomains() async throws {
    let interceptor = DefaultFieldsInterceptor(["X-Key": "k"], for: [url("http://0.0.1/")], subdomains: .included)
    let sent = try await send(HTTPRequest(.get, url("http://127.0.0.1/")), through: interceptor)
    #expect(sent.first?.contains("X-Key") == false)
  }

  @Test func defaultFieldsAreNotSentAfterARedirectToAnotherOrigin() async throws {
    let interceptor = DefaultFieldsInterceptor(["X-Key": "k"], for: [origin])
    let sent = try await send(
      HTTPRequest(.get, origin), through: interceptor,
      script: [.redirect(to: "http://b.example/"), .redirect(to: "http://a.example/back"), .text("done")])
    #expect(sent.map { $0.contains("X-Key") } == [true, false, true])
  }

  @Test func theRequestsOwnFieldsAreKept() async throws {
    let interceptor = DefaultFieldsInterceptor(
      [.accept: "text/html", "X-Tag": "a", "X-Tag": "b"], for: [origin])
    let sent = try await send(HTTPRequest(.get, origin, fields: [.accept: "image/png"]), through: interceptor)
    #expect(sent.first?[values: .accept] == ["image/png"])
    #expect(sent.first?[values: "X-Tag"] == ["a", "b"])
  }

  @Test func aRefusedDefaultFieldFailsTheRequest() async throws {
    let interceptor = DefaultFieldsInterceptor(["X-Tag": "a\nb"], for: [origin])
    let error = await #expect(throws: HTTPError.self) {
      try await send(HTTPRequest(.get, origin), through: interceptor)
    }
    #expect(error?.kind == .invalidRequest)
  }

  // MARK: - User agent

  @Test func requestsHaveAUserAgent() async throws {
    let own = HTTPRequest(.get, origin, fields: [.userAgent: "Mine/1"])
    #expect(try await send(HTTPRequest(.get, origin)).first?[.userAgent] == "Martlet")
    #expect(try await send(own).first?[values: .userAgent] == ["Mine/1"])
    let none = try await send(HTTPRequest(.get, origin), change: { $0.userAgent = nil })
    #expect(none.first?.contains(.userAgent) == false)
  }
}

/// Records the correlation identifiers that a listener gets.
private final class EventLogOfIDs: Sendable {
  private let ids = Mutex<[String?]>([])
  var last: String? { ids.withLock { $0.last ?? nil } }
  var listener: EventHandler { EventHandler { _, call in self.ids.withLock { $0.append(call.correlationID) } } }
}
