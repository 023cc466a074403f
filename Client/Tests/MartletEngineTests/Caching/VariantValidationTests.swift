import MartletEngine
import MartletSemantics
import MartletTesting
import Testing

/// Stored responses that do not match a request still validate it: RFC 9111 §4.3.1, §4.3.3 and §4.3.4.
@Suite(.timeLimit(.minutes(5)))
struct VariantValidationTests {
  /// Responds with a variant for each language; a request whose tags contain that of its variant gets a 304.
  private static func languages(_ request: MockRequest) -> MockResponse {
    let language = request.fields[.acceptLanguage] ?? "en"
    let variant = language.hasPrefix("fr") ? "de" : language  // There is no French, so that German is sent.
    let fields: HTTPFields = [.eTag: "\"\(variant)\"", .vary: "Accept-Language", .cacheControl: "max-age=60"]
    if request.request.fields.list(.ifNoneMatch).contains("\"\(variant)\"") { return .notModified(fields) }
    return MockResponse(fields: fields, content: Data(variant.utf8))
  }

  @Test func aPartitionReplacesAuthorizationWhereVaryNamesIt() async throws {
    let fixture = CacheFixture { request in
      .cacheable(
        "for \(request.fields[.authorization] ?? "all")", "private, max-age=60",
        [.vary: "Accept, Authorization, Cookie, X-GitHub-OTP"])
    }

    let texts = [
      try await fixture.get("/", [.authorization: "a"], partition: "anna").text,
      try await fixture.get("/", [.authorization: "b"], partition: "anna").text,
      try await fixture.get(partition: "anna").text,
      try await fixture.get("/", [.authorization: "b"], partition: "ben").text,
      try await fixture.get("/", [.authorization: "b"]).text, try await fixture.get("/", [.authorization: "a"]).text,
    ]

    #expect(texts == ["for a", "for a", "for a", "for b", "for b", "for a"])
    #expect(fixture.sent.count == 4)
  }

  @Test func theTagsOfAllVariantsAreSentAndThe304NamesOne() async throws {
    let fixture = CacheFixture { Self.languages($0) }

    _ = try await fixture.get("/", [.acceptLanguage: "de"])
    fixture.wall.advance(1)
    _ = try await fixture.get("/", [.acceptLanguage: "en"])
    fixture.wall.advance(1)
    let french = try await fixture.get("/", [.acceptLanguage: "fr"])
    let again = try await fixture.get("/", [.acceptLanguage: "fr"])

    #expect(fixture.sent.map { $0.fields[.ifNoneMatch] } == [nil, "\"de\"", "\"en\", \"de\""])
    #expect([french.text, again.text] == ["de", "de"])
    #expect([french.source, again.source] == [.revalidated, .cache])
    #expect(french.status == .ok)
    #expect(try await fixture.get("/", [.acceptLanguage: "en"]).source == .cache)
  }

  @Test func aResponseThatIsNoneOfTheVariantsIsStoredBesideThem() async throws {
    let fixture = CacheFixture { Self.languages($0) }

    for language in ["de", "en", "it", "de", "en", "it"] {
      #expect(try await fixture.get("/", [.acceptLanguage: language]).text == language)
    }

    #expect(fixture.sent.count == 3)
    #expect(try await fixture.cache.usage().entries == 3)
  }

  @Test(arguments: [[.eTag: "\"x\""], [:], [.eTag: "\"a"]] as [HTTPFields])
  func a304ThatNamesNoneOfTheVariantsIsRepeatedWithoutConditions(fields: HTTPFields) async throws {
    let fixture = CacheFixture { request in
      switch request.fields[.acceptLanguage] {
      case "fr" where request.fields.contains(.ifNoneMatch): .notModified(fields)
      case let language:
        .cacheable(language ?? "", "max-age=60", [.vary: "Accept-Language", .eTag: "\"\(language ?? "")\""])
      }
    }

    for language in ["de", "en"] { _ = try await fixture.get("/", [.acceptLanguage: language]) }
    let french = try await fixture.get("/", [.acceptLanguage: "fr"])

    #expect(french.text == "fr")
    #expect(fixture.sent.map { $0.fields.contains(.ifNoneMatch) } == [false, true, true, false])
    for language in ["de", "en", "fr"] {
      #expect(try await fixture.get("/", [.acceptLanguage: language]).source == .cache)
    }
  }

  @Test func aNewCookieOfThePartitionNeedsOnlyAConfirmation() async throws {
    let fixture = CacheFixture { request in
      let fields: HTTPFields = [.eTag: "W/\"1\"", .vary: "Accept, Cookie", .cacheControl: "max-age=60"]
      guard request.fields[.ifNoneMatch] == nil else { return .notModified(fields) }
      return MockResponse(fields: fields, content: Data("one".utf8))
    }

    let sources = [
      try await fixture.get("/", [.cookie: "id=1"], partition: "anna").source,
      try await fixture.get("/", [.cookie: "id=2"], partition: "anna").source,
      try await fixture.get("/", [.cookie: "id=2"], partition: "anna").source,
    ]

    #expect(sources == [.network, .revalidated, .cache])
    #expect(try await fixture.cache.usage().entries == 1)
  }

  /// Many services number the versions of each user's content, so the tags of two users can be equal.
  @Test(arguments: [[.authorization: "b"], [:], [.cookie: "id=2", .authorization: "a"]] as [HTTPFields])
  func theTagOfAnotherUserIsNotSentWithoutAPartition(asks: HTTPFields) async throws {
    let fixture = CacheFixture { request in
      guard !request.fields.contains(.ifNoneMatch) else { return .notModified([.eTag: "\"1\""]) }
      return .cacheable("of one user", "max-age=60", [.eTag: "\"1\"", .vary: "Cookie"])
    }

    _ = try await fixture.get("/", [.authorization: "a", .cookie: "id=1"])
    let other = try await fixture.get("/", asks)

    #expect(other.source == .network)
    #expect(fixture.sent.map { $0.fields[.ifNoneMatch] } == [nil, nil])
  }

  /// A weak tag may be that of several formats or languages at once (RFC 9110 §8.8.1).
  @Test func theWeakTagOfAnotherFormatIsNotSent() async throws {
    let fixture = CacheFixture { request in
      guard !request.fields.contains(.ifNoneMatch) else { return .notModified([.eTag: "W/\"1\""]) }
      return .cacheable(request.fields[.accept] ?? "", "max-age=60", [.eTag: "W/\"1\"", .vary: "Accept"])
    }

    let texts = [
      try await fixture.get("/", [.accept: "application/json"]).text,
      try await fixture.get("/", [.accept: "application/xml"]).text,
    ]

    #expect(texts == ["application/json", "application/xml"])
  }

  @Test(arguments: [[.ifNoneMatch: "\"mine\""], [.range: "bytes=0-0"], [.cacheControl: "no-store"]] as [HTTPFields])
  func conditionsAndRangesOfTheCallerAreSentAsTheyAre(asks: HTTPFields) async throws {
    let fixture = CacheFixture { Self.languages($0) }
    var fields = asks
    fields[.acceptLanguage] = "it"

    _ = try await fixture.get("/", [.acceptLanguage: "de"])
    _ = try await fixture.get("/", fields)

    #expect(fixture.sent.last?.fields[.ifNoneMatch] == asks[.ifNoneMatch])
  }

  @Test func withoutANetworkNoOtherVariantIsUsed() async throws {
    let fixture = CacheFixture { Self.languages($0) }

    _ = try await fixture.get("/", [.acceptLanguage: "de"])

    await #expect {
      try await fixture.get("/", [.acceptLanguage: "en"], policy: .returnCacheDataDontLoad)
    } throws: { ($0 as? HTTPError)?.kind == .notCached }
  }
}
