import MartletEngine
import MartletSemantics
import MartletTesting
import Synchronization
import TestSupport
import Testing

/// Several requests for one URL, some of which a private cache answers: one row for each behaviour. Times are in
/// seconds.
@Suite(.timeLimit(.minutes(5)))
struct CacheScenarioTests {
  /// One request, the response that the origin would send, the expectation, and the time until the next request.
  struct Step: Sendable {
    enum Expected: Sendable { case cached, asked, byTag, byDate, other }

    let expected: Expected
    var status: HTTPStatus?
    var method = HTTPMethod.get
    var asks: HTTPFields = [:]
    /// The fields of the response; numbers are dates, in seconds from now.
    var answer: [(FieldName, Value)] = []
    var answerStatus = HTTPStatus.ok
    var policy = CachePolicy.useProtocolCachePolicy
    var shows: HTTPFields = [:]
    var pause = 0.0
    var fails = false

    enum Value: Sendable, ExpressibleByStringLiteral, ExpressibleByIntegerLiteral {
      case text(String)
      case date(Int)
      init(stringLiteral value: String) { self = .text(value) }
      init(integerLiteral value: Int) { self = .date(value) }
    }

    static func first(
      _ answer: (FieldName, Value)..., status: HTTPStatus = .ok, asks: HTTPFields = [:], pause: Double = 3
    )
      -> Step
    {
      Step(expected: .asked, asks: asks, answer: answer, answerStatus: status, pause: pause)
    }

    static func then(_ expected: Expected, asks: HTTPFields = [:], shows: HTTPFields = [:], status: HTTPStatus? = nil)
      -> Step
    {
      Step(expected: expected, status: status, asks: asks, shows: shows)
    }

    func method(_ method: HTTPMethod) -> Step { changed { $0.method = method } }
    func policy(_ policy: CachePolicy) -> Step { changed { $0.policy = policy } }
    func answering(_ answer: (FieldName, Value)..., status: HTTPStatus = .ok) -> Step {
      changed { ($0.answer, $0.answerStatus) = (answer, status) }
    }
    func pausing(_ seconds: Double) -> Step { changed { $0.pause = seconds } }
    var failing: Step { changed { $0.fails = true } }

    private func changed(_ change: (inout Step) -> Void) -> Step {
      var copy = self
      change(&copy)
      return copy
    }
  }

  struct Row: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let steps: [Step]
    init(_ what: String, _ steps: Step...) {
      testDescription = what
      self.steps = steps
    }
  }

  @Test(arguments: [
    Row("nothing said", .first(), .then(.asked)),
    Row("max-age", .first((.cacheControl, "max-age=3600")), .then(.cached)),
    Row("max-age that is over", .first((.cacheControl, "max-age=2")), .then(.asked)),
    Row("max-age and Age", .first((.cacheControl, "max-age=3600"), (.age, "7200"), (.date, 0)), .then(.asked)),
    Row("max-age and an old Date", .first((.cacheControl, "max-age=3600"), (.date, -7200)), .then(.asked)),
    Row(
      "max-age and a past Expires", .first((.cacheControl, "max-age=60"), (.expires, -60), (.date, 0)), .then(.cached)),
    Row("Expires", .first((.expires, 3600), (.date, 0)), .then(.cached)),
    Row("Expires and a Date that is none", .first((.expires, 10), (.date, "foo")), .then(.cached)),
    Row("Expires: 0", .first((.expires, "0"), (.date, 0)), .then(.asked)),
    Row("Expires, Age, slow Date", .first((.date, -10), (.expires, 10), (.age, "25"), pause: 0), .then(.asked)),
    Row("Expires, Age, fast Date", .first((.date, 10), (.expires, 20), (.age, "15"), pause: 0), .then(.asked)),
    Row("a guess", .first((.lastModified, -86_400), (.date, 0)), .then(.cached)),
    Row("a guess that is over", .first((.lastModified, -20), (.date, 0)), .then(.byDate)),
    Row("no guess for 201", .first((.lastModified, -86_400), (.date, 0), status: 201), .then(.asked)),
    Row(
      "a guess for 599 that is public", .first((.lastModified, -86_400), (.cacheControl, "public"), status: 599),
      .then(.cached, status: 599)),
    Row("private", .first((.cacheControl, "private, max-age=60")), .then(.cached)),
    Row("no-store", .first((.cacheControl, "no-store, max-age=60")), .then(.asked)),
    Row("no-cache, with a tag", .first((.cacheControl, "no-cache"), (.eTag, "\"a\"")), .then(.byTag)),
    Row(
      "no-cache and max-age, with a tag", .first((.cacheControl, "max-age=60, no-cache"), (.eTag, "\"a\"")),
      .then(.byTag)),
    Row(
      "a reload that immutable answers", .first((.cacheControl, "max-age=60, immutable"), (.eTag, "\"a\"")),
      .then(.cached).policy(.reloadRevalidatingCacheData)),
    Row(
      "a reload of what is stale", .first((.cacheControl, "max-age=2, immutable"), (.eTag, "\"a\"")),
      .then(.byTag).policy(.reloadRevalidatingCacheData)),
    Row("stale, with a weak tag", .first((.cacheControl, "max-age=2"), (.eTag, "W/\"a\"")), .then(.byTag)),
    Row("stale, with a date", .first((.cacheControl, "max-age=2"), (.lastModified, -100)), .then(.byDate)),
    Row(
      "confirmed, and fresh again", .first((.cacheControl, "max-age=2"), (.eTag, "\"a\"")),
      .then(.byTag).answering((.cacheControl, "max-age=60"), (.eTag, "\"a\"")).pausing(30), .then(.cached)),
    Row(
      "confirmed without a new lifetime", .first((.cacheControl, "max-age=2"), (.eTag, "\"a\"")),
      .then(.byTag).answering((.eTag, "\"a\"")).pausing(1), .then(.cached).pausing(3), .then(.byTag)),
    Row(
      "Vary that matches", .first((.vary, "Foo"), (.cacheControl, "max-age=60"), asks: ["Foo": "1"]),
      .then(.cached, asks: ["Foo": "1"])),
    Row(
      "Vary that does not", .first((.vary, "Foo"), (.cacheControl, "max-age=60"), asks: ["Foo": "1"]),
      .then(.asked, asks: ["Foo": "2"])),
    Row("Vary: *", .first((.vary, "*"), (.cacheControl, "max-age=60")), .then(.asked)),
    Row("Age is updated", .first((.cacheControl, "max-age=600"), (.age, "30")), .then(.cached, shows: [.age: "33"])),
    Row(
      "Date stays", .first((.cacheControl, "max-age=600"), (.date, 0)),
      .then(.cached, shows: [.date: "Wed, 01 Jan 2025 00:00:00 GMT"])),
    Row("Cookie is no part of the key", .first((.cacheControl, "max-age=600")), .then(.cached, asks: [.cookie: "a=b"])),
    Row(
      "Content-Disposition does not matter",
      .first((.cacheControl, "max-age=600"), (.contentDisposition, "attachment")), .then(.cached)),
    Row("an error that is fresh", .first((.cacheControl, "max-age=60"), status: 503), .then(.cached, status: 503)),
    Row(
      "304 for the caller", .first((.cacheControl, "max-age=60"), (.eTag, "\"a\"")),
      .then(.cached, asks: [.ifNoneMatch: "\"a\""], shows: [.eTag: "\"a\""], status: 304)),
    Row(
      "a later no-store leaves nothing old", .first((.cacheControl, "max-age=2, stale-if-error=600")),
      .then(.asked).answering((.cacheControl, "no-store")), .then(.other).failing),
    Row(
      "stale for a broken connection", .first((.cacheControl, "max-age=2, stale-if-error=60")),
      .then(.cached).failing),
    Row(
      "not with must-revalidate", .first((.cacheControl, "max-age=2, stale-if-error=60, must-revalidate")),
      .then(.other).failing),
    Row("a change", .first((.cacheControl, "max-age=60")), .then(.asked).method(.delete), .then(.asked)),
    Row(
      "a change that failed", .first((.cacheControl, "max-age=60")),
      .then(.asked).method(.put).answering(status: 500), .then(.cached)),
    Row(
      "a HEAD that confirms", .first((.cacheControl, "max-age=2")),
      .then(.asked).method(.head).answering((.cacheControl, "max-age=600")), .then(.cached)),
    Row(
      "a HEAD that tells otherwise", .first((.cacheControl, "max-age=600"), (.eTag, "\"a\"")),
      .then(.asked, asks: [.cacheControl: "no-cache"]).method(.head).answering((.eTag, "\"b\"")), .then(.asked)),
    Row(
      "a part of the whole", .first((.cacheControl, "max-age=60")),
      .then(.cached, asks: [.range: "bytes=0-0"], status: 206)),
  ])
  func overSeveralRequests(row: Row) async throws {
    let origin = Origin()
    let fixture = CacheFixture { request in try origin.respond(to: request.request) }
    origin.wall = fixture.wall
    for (index, step) in row.steps.enumerated() {
      origin.step = step
      var request = HTTPRequest(step.method, url("http://a.example/"), fields: step.asks)
      request.options.cachePolicy = step.policy
      let answer = try? await fixture.send(request)
      expect(step, index, answer, origin.take())
      fixture.wall.advance(step.pause)
    }
  }

  /// RFC 9111 §4.3.4: the 304 must not update the stored response, so that this would be validated each time.
  @Test func aRequestWhose304IsAboutAnotherResponseIsRepeatedWithoutConditions() async throws {
    let fixture = CacheFixture(
      .cacheable("one", "max-age=5", [.eTag: "\"a\""]), .notModified([.eTag: "\"b\""]),
      .cacheable("two", "max-age=60", [.eTag: "\"b\""]))

    _ = try await fixture.get()
    fixture.wall.advance(10)
    let answers = [try await fixture.get(), try await fixture.get()]

    #expect(answers.map(\.text) == ["two", "two"])
    #expect(answers.map(\.source) == [.network, .cache])
    #expect(fixture.sent.map { $0.fields[.ifNoneMatch] } == [nil, "\"a\"", nil])
    #expect(try await fixture.cache.usage().entries == 1)
  }

  private func expect(_ step: Step, _ index: Int, _ answer: CacheFixture.Answer?, _ seen: HTTPFields?) {
    switch step.expected {
    case .cached:
      #expect(answer?.source != .network && answer?.source != .revalidated, "step \(index)")
      #expect(seen == nil || step.fails, "step \(index)")
    case .asked: #expect(seen != nil && answer?.source == .network, "step \(index)")
    case .byTag: #expect(seen?.contains(.ifNoneMatch) == true && answer?.source == .revalidated, "step \(index)")
    case .byDate: #expect(seen?.contains(.ifModifiedSince) == true && answer?.source == .revalidated, "step \(index)")
    case .other: #expect(answer == nil, "step \(index)")
    }
    if let status = step.status { #expect(answer?.status == status, "step \(index)") }
    for (name, value) in step.shows { #expect(answer?.fields[name] == value, "step \(index)") }
  }

  /// Responds as the step defines; every condition is met.
  private final class Origin: Sendable {
    private struct State {
      var step: Step?
      var seen: HTTPFields?
      var wall: WallClock?
    }
    private let state = Mutex(State())

    var step: Step? {
      get { state.withLock { $0.step } }
      set { state.withLock { $0.step = newValue } }
    }
    var wall: WallClock? {
      get { state.withLock { $0.wall } }
      set { state.withLock { $0.wall = newValue } }
    }

    func take() -> HTTPFields? { state.withLock { $0.seen.take() } }

    func respond(to request: HTTPRequest) throws -> MockResponse {
      state.withLock { $0.seen = request.fields }
      guard let step, !step.fails else { throw HTTPError(.connectionLost, "gone") }
      var fields: HTTPFields = [:]
      for (name, value) in step.answer {
        switch value {
        case .text(let text): fields.append(text, for: name)
        case .date(let seconds):
          fields.append(HTTPDate.format((wall?.now ?? Date()).addingTimeInterval(Double(seconds))), for: name)
        }
      }
      let isConditional = request.fields.contains(.ifNoneMatch) || request.fields.contains(.ifModifiedSince)
      return isConditional
        ? .notModified(fields)
        : MockResponse(status: step.answerStatus, fields: fields, content: Data("body".utf8))
    }
  }
}
