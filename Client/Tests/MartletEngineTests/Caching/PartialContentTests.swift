import MartletEngine
import MartletSemantics
import MartletTesting
import Synchronization
import TestSupport
import Testing

/// Parts of responses in the cache: RFC 9111 §3.3, §3.4 and §4.3, RFC 9110 §14 and §15.3.7.
@Suite(.timeLimit(.minutes(5)))
struct PartialContentTests {
  private let origin = Origin()
  private let fixture: CacheFixture

  init() { fixture = CacheFixture { [origin] request in origin.respond(to: request.request) } }

  private func get(_ range: String? = nil, _ fields: HTTPFields = [:]) async throws -> CacheFixture.Answer {
    var fields = fields
    if let range { fields[.range] = "bytes=\(range)" }
    return try await fixture.get("/", fields)
  }

  /// The ranges that were requested from the origin; `whole` for a request without one.
  private var asked: [String] { fixture.sent.map { $0.fields[.range] ?? "whole" } }

  @Test(arguments: [
    ("5-9", "56789", "5-9"), ("6-8", "678", "6-8"), ("6-", "6789", "6-9"), ("-1", "9", "9-9"), ("7-99", "789", "7-9"),
    ("-5", "56789", "5-9"),
  ])
  func aStoredPartAnswersWhatIsWithinIt(range: String, text: String, contentRange: String) async throws {
    _ = try await get("-5")
    let part = try await get(range)

    #expect(part.status == .partialContent)
    #expect(part.text == text)
    #expect(part.source == .cache)
    #expect(part.fields[.contentRange] == "bytes \(contentRange)/10")
    #expect(part.fields[.contentLength] == String(text.count))
    #expect(asked.count == 1)
  }

  @Test(arguments: ["4-6", "-6", "0-", "0-1"])
  func whatIsNotWithinAStoredPartIsRequested(range: String) async throws {
    _ = try await get("5-9")

    #expect(try await get(range).source == .network)
    #expect(asked.last == "bytes=\(range)")
  }

  /// RFC 9110 §15.3.7.3: only a strong validator proves that two parts belong together. A date within a second of the
  /// response is not strong (§8.8.2.2).
  @Test(
    arguments: [
      [.eTag: "W/\"1\""], [:],
      [.lastModified: "Wed, 01 Jan 2025 00:00:00 GMT", .date: "Wed, 01 Jan 2025 00:00:00 GMT"],
      [.eTag: "\"1\"", .contentEncoding: "gzip"], [.eTag: "\"1\"", .contentLength: "4"],
      [.eTag: "\"1\"", .contentRange: "bytes 0-4/*"], [.eTag: "\"1\"", .contentRange: "bytes 5-9/10, bytes 0-4/10"],
      [.eTag: "\"1\"", .cacheControl: "no-store"],
    ] as [HTTPFields])
  func aPartThatCannotBeCombinedIsNotStored(fields: HTTPFields) async throws {
    let fixture = CacheFixture { _ in
      var answer: HTTPFields = [.contentRange: "bytes 0-4/10", .cacheControl: "max-age=60"]
      for (name, value) in fields { answer[name] = value }
      return MockResponse(status: .partialContent, fields: answer, content: Data("01234".utf8))
    }

    for _ in 0..<2 {
      #expect(try await fixture.get("/", [.range: "bytes=0-4"]).source == .network)
    }
    #expect(try await fixture.cache.usage().entries == 0)
  }

  @Test func aDateIsAStrongValidatorToo() async throws {
    origin.set(
      [.lastModified: "Tue, 31 Dec 2024 00:00:00 GMT", .date: "Wed, 01 Jan 2025 00:00:00 GMT"],
      validator: "Tue, 31 Dec 2024 00:00:00 GMT")

    _ = try await get("0-4")

    #expect(try await get().text == "0123456789")
    #expect(fixture.sent.last?.fields[.ifRange] == "Tue, 31 Dec 2024 00:00:00 GMT")
  }

  @Test(arguments: [["0-4", "5-9"], ["5-9", "0-4"], ["0-6", "3-9"], ["4-9", "0-5"], ["0-2", "2-5", "6-"]])
  func partsAreCombined(ranges: [String]) async throws {
    for range in ranges { #expect(try await get(range).status == .partialContent) }
    let whole = try await get()

    #expect(whole.status == .ok)
    #expect(whole.text == "0123456789")
    #expect(whole.source == .cache)
    #expect(whole.fields[.contentLength] == "10")
    #expect(!whole.fields.contains(.contentRange))
    #expect(try await get("2-7").text == "234567")
    #expect(asked == ranges.map { "bytes=\($0)" })
    #expect(try await fixture.cache.usage().entries == 1)
  }

  @Test func aPartThatDoesNotTouchTheStoredOneReplacesIt() async throws {
    _ = try await get("0-1")
    _ = try await get("5-6")

    #expect(try await get("5-6").source == .cache)
    #expect(try await get("0-1").source == .network)
  }

  @Test(arguments: [("0-4", "bytes=5-"), ("4-9", "bytes=0-3"), ("3-5", "whole")])
  func aRequestForTheWholeAsksForTheRest(stored: String, missing: String) async throws {
    _ = try await get(stored)
    let whole = try await get(nil, [.accept: "text/plain"])
    let again = try await get()

    #expect([whole.status, again.status] == [.ok, .ok])
    #expect([whole.text, again.text] == ["0123456789", "0123456789"])
    #expect(whole.response.body.length == 10)
    #expect(!whole.fields.contains(.contentRange))
    #expect(whole.fields[.contentLength] == (missing == "whole" ? nil : "10"))
    #expect([whole.source, again.source] == [.network, .cache])
    #expect(asked == ["bytes=\(stored)", missing])
    #expect(fixture.sent[1].fields[.ifRange] == (missing == "whole" ? nil : "\"1\""))
    #expect(try await fixture.cache.usage().entries == (missing == "whole" ? 2 : 1))
  }

  @Test func aNewRepresentationReplacesThePart() async throws {
    _ = try await get("0-4")
    origin.set([.eTag: "\"2\""], content: "abcdefgh")
    let whole = try await get()

    #expect(whole.text == "abcdefgh")
    #expect(asked.last == "bytes=5-")
    #expect(try await get("1-2").text == "bc")
    #expect(try await fixture.cache.usage().entries == 1)
  }

  /// A server without `If-Range` sends the rest of another representation, or reports that there is no rest.
  @Test(arguments: ["abcdefgh", "abc"])
  func aRestOfAnotherRepresentationIsNotUsed(content: String) async throws {
    _ = try await get("0-4")
    origin.set([.eTag: "\"2\""], content: content, ignoresIfRange: true)
    let whole = try await get()

    #expect(whole.text == content)
    #expect(asked == ["bytes=0-4", "bytes=5-", "whole"])
    #expect(try await get().source == .cache)
    #expect(try await fixture.cache.usage().entries == 1)
  }

  @Test func laterPartsOfAnotherRepresentationReplaceTheStoredOne() async throws {
    _ = try await get("0-4")
    origin.set([.eTag: "\"2\""], content: "abcdefghij")
    _ = try await get("5-9")

    #expect(try await get("5-9").text == "fghij")
    #expect(try await get("0-4").text == "abcde")
    #expect(try await get().text == "abcdefghij")
  }

  @Test func aStalePartIsConfirmed() async throws {
    _ = try await get("0-4")
    fixture.wall.advance(100)
    let part = try await get("1-2")
    let again = try await get("2-3")

    #expect(fixture.sent[1].fields[.ifNoneMatch] == "\"1\"")
    #expect([part.text, again.text] == ["12", "23"])
    #expect([part.source, again.source] == [.revalidated, .cache])
    #expect(part.fields[.contentRange] == "bytes 1-2/10")
    #expect(asked == ["bytes=0-4", "bytes=1-2"])
  }

  /// RFC 9111 §3.4: the fields of the new response are used.
  @Test func theWholeHasTheFieldsOfTheLastPart() async throws {
    origin.set([.eTag: "\"1\"", "X-Part": "one", "X-First": "yes"])
    _ = try await get("0-4")
    origin.set([.eTag: "\"1\"", "X-Part": "two"])
    let whole = try await get()

    #expect(whole.fields["X-Part"] == "two")
    #expect(whole.fields["X-First"] == "yes")
    #expect(try await get().fields["X-Part"] == "two")
  }

  @Test func aRestThatBreaksOffIsNotStored() async throws {
    _ = try await get("0-4")
    origin.breakOff()
    await #expect { try await get() } throws: { ($0 as? HTTPError)?.kind == .connectionLost }

    #expect(try await get("0-4").source == .cache)
    await #expect {
      try await fixture.get("/", policy: .returnCacheDataDontLoad)
    } throws: { ($0 as? HTTPError)?.kind == .notCached }
  }

  @Test(arguments: ["bytes=10-", "bytes=99-100", "bytes=-0"])
  func aRangeBeyondTheEndOfTheStoredWholeIsNotSatisfiable(range: String) async throws {
    _ = try await get()
    let answer = try await get(nil, [.range: range])
    let conditional = try await get(nil, [.range: range, .ifRange: "\"old\""])

    #expect(answer.status == .rangeNotSatisfiable)
    #expect(answer.fields[.contentRange] == "bytes */10")
    #expect(answer.text.isEmpty)
    #expect(answer.source == .cache)
    #expect([conditional.status, conditional.source] as [AnyHashable] == [HTTPStatus.ok, HTTPResponse.Source.cache])
  }

  @Test func a416OfTheOriginIsNotUsedForTheWhole() async throws {
    let fixture = CacheFixture { request in
      guard request.fields.contains(.range) else { return .cacheable("one", "max-age=60") }
      return MockResponse(
        status: .rangeNotSatisfiable, fields: [.cacheControl: "max-age=60", .contentRange: "bytes */3"])
    }

    #expect(try await fixture.get("/", [.range: "bytes=5-"]).status == .rangeNotSatisfiable)
    #expect(try await fixture.get().text == "one")
  }

  @Test(arguments: [("\"1\"", "cache"), ("\"old\"", "network"), ("W/\"1\"", "network")])
  func ifRangeDecidesWhetherAStoredPartIsUsed(validator: String, source: String) async throws {
    _ = try await get("0-4")

    #expect("\(try await get("0-2", [.ifRange: validator]).source)" == source)
  }

  @Test(arguments: [[.ifNoneMatch: "\"1\""], [.ifMatch: "\"1\""], [.cacheControl: "no-store"]] as [HTTPFields])
  func aRequestForTheWholeWithConditionsIsSentAsItIs(fields: HTTPFields) async throws {
    _ = try await get("0-4")
    _ = try await get(nil, fields)

    #expect(asked.last == "whole")
  }

  @Test func aHEADDoesNotUseAPart() async throws {
    _ = try await get("0-4")
    let head = try await fixture.send(HTTPRequest(.head, url("http://a.example/")))

    #expect(head.status == .ok)
    #expect(head.source == .network)
  }

  /// A server of ten bytes, or others, with ranges.
  private final class Origin: Sendable {
    private struct State {
      var fields: HTTPFields = [.eTag: "\"1\""]
      var validator = "\"1\""
      var content = Data("0123456789".utf8)
      var ignoresIfRange = false
      var isBroken = false
    }
    private let state = Mutex(State())

    func set(
      _ fields: HTTPFields, validator: String? = nil, content: String = "0123456789", ignoresIfRange: Bool = false
    ) {
      state.withLock {
        $0 = State(
          fields: fields, validator: validator ?? fields[.eTag] ?? "", content: Data(content.utf8),
          ignoresIfRange: ignoresIfRange)
      }
    }

    func breakOff() { state.withLock { $0.isBroken = true } }

    func respond(to request: HTTPRequest) -> MockResponse {
      let state = state.withLock { $0 }
      var fields = state.fields
      fields[.cacheControl] = "max-age=60"
      if request.fields.list(.ifNoneMatch).contains(state.validator) { return .notModified(fields) }
      guard request.method == .get else { return MockResponse(fields: fields) }
      let condition = request.fields[.ifRange]
      let range = RangeRule.read(request.fields, length: Int64(state.content.count))
      if condition == nil || condition == state.validator || state.ignoresIfRange {
        switch range {
        case .part(let part):
          fields[.contentRange] = "bytes \(part.lowerBound)-\(part.upperBound - 1)/\(state.content.count)"
          let bytes = state.content[Int(part.lowerBound)..<Int(part.upperBound)]
          guard state.isBroken else { return MockResponse(status: .partialContent, fields: fields, content: bytes) }
          return MockResponse(status: .partialContent, fields: fields) {
            ResponseBody(length: Int64(bytes.count), from: BrokenOff())
          }
        case .whole: break
        default:
          return MockResponse(status: .rangeNotSatisfiable, fields: [.contentRange: "bytes */\(state.content.count)"])
        }
      }
      return MockResponse(fields: fields, content: state.content)
    }
  }

  /// Two bytes, and an error.
  private final class BrokenOff: BodySource {
    private let isRead = Mutex(false)

    func next() async throws -> Data? {
      guard
        isRead.withLock({ isRead in
          defer { isRead = true }
          return isRead
        })
      else { return Data("56".utf8) }
      throw HTTPError(.connectionLost, "gone")
    }
  }
}
