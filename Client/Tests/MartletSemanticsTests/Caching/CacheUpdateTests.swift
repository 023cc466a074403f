@_spi(Toolkit) import MartletSemantics
import Testing

/// RFC 9111 §3.2, §4.3.3–4.3.5 and §4.4, RFC 5861 §4.
struct CacheUpdateTests {
  private let stored = StoredResponse([
    .eTag: "\"a\"", .cacheControl: "max-age=1", .date: moment(0), .age: "30", .contentLength: "10", "X-Test": "old",
  ])
  private let later = arrival.addingTimeInterval(100)

  private func receive(
    _ status: HTTPStatus, _ fields: HTTPFields = [:], stored: StoredResponse? = nil, asks: HTTPFields = [:],
    method: HTTPMethod = .get, policy: CachePolicy = .useProtocolCachePolicy
  ) -> CacheUpdate {
    let stored = stored ?? self.stored
    let request = RequestHead(asks, method)
    let sent = method == .get && asks.isEmpty ? Validation.conditional(request, for: stored) : request
    var context = CacheUpdate.Context(request: request, sent: sent, policy: policy, requestTime: later)
    context.stored = stored
    context.storedLength = 10
    return CacheUpdate.of(ResponseHead(status: status, fields: fields), to: context, at: later, isDecoded: false)
  }

  @Test func a304UpdatesTheFields() throws {
    guard
      case .known(.confirm(let merged)) = receive(
        304, [.eTag: "\"a\"", .cacheControl: "max-age=60", "X-Test": "new", .contentLength: "99", .setCookie: "a=b"])
    else {
      Issue.record("expected .confirm")
      return
    }

    #expect(merged.head.status == .ok)
    #expect(merged.head.fields["X-Test"] == "new")
    #expect(merged.head.fields[.cacheControl] == "max-age=60")
    #expect(merged.head.fields[.contentLength] == "10")
    #expect(merged.head.fields[.setCookie] == "a=b")
    #expect(Freshness(of: merged, at: later).age == 0)
  }

  @Test func a304KeepsOtherFields() {
    guard case .known(.confirm(let merged)) = receive(304, [.eTag: "\"a\""]) else {
      Issue.record("expected .confirm")
      return
    }

    #expect(merged.head.fields["X-Test"] == "old")
    #expect(merged.responseTime == later)
  }

  @Test(
    arguments: [
      ("\"a\"", nil, "\"a\"", nil, true), ("\"a\"", nil, "W/\"a\"", nil, true), ("\"a\"", nil, "\"b\"", nil, false),
      ("\"a\"", nil, "W/\"b\"", nil, false), ("\"a\"", nil, nil, nil, true),
      // A server that makes the tags of compressed responses weak, but not those of a 304.
      ("W/\"a\"", nil, "\"a\"", nil, true), ("W/\"a\"", nil, "\"b\"", nil, false),
      // A tag decides before the date does.
      ("\"a\"", moment(0), "\"a\"", moment(9), true), ("\"a\"", moment(0), "\"b\"", moment(0), false),
      (nil, moment(0), nil, moment(0), true), (nil, moment(0), nil, moment(9), false),
      // A server that removes the tags of compressed responses.
      (nil, moment(0), "\"a\"", moment(0), true), (nil, moment(0), "\"a\"", moment(9), false),
      (nil, moment(0), "\"a\"", nil, false), ("\"a\"", moment(0), nil, moment(0), true),
    ] as [(String?, String?, String?, String?, Bool)])
  func a304WithAnotherValidatorIsNotAboutTheStoredResponse(
    storedTag: String?, storedDate: String?, tag: String?, date: String?, applies: Bool
  ) {
    var (old, new) = (HTTPFields(), HTTPFields())
    (old[.eTag], old[.lastModified], new[.eTag], new[.lastModified]) = (storedTag, storedDate, tag, date)

    let update = receive(304, new, stored: StoredResponse(old))

    if case .known(.confirm(let merged)) = update {
      #expect(applies)
      #expect(merged.head.fields[.eTag] == (storedTag?.hasPrefix("W/") == true ? storedTag : tag ?? storedTag))
    } else {
      #expect(!applies && update == .repeatWithoutConditions)
    }
  }

  /// RFC 9111 §4.3.4: the candidates are a, b and b again, which is the latest.
  @Test(arguments: [("\"a\"", 0), ("W/\"a\"", 0), ("\"b\"", 2), ("\"c\"", nil), (nil, nil)] as [(String?, Int?)])
  func a304SelectsTheLatestCandidateWithItsTag(tag: String?, expected: Int?) {
    let request = RequestHead(["Foo": "x"])
    var context = CacheUpdate.Context(
      request: request, sent: request, policy: .useProtocolCachePolicy, requestTime: later)
    context.candidates = ["\"a\"", "\"b\"", "\"b\""].enumerated().map { number, tag in
      var candidate = StoredResponse([.eTag: tag, .vary: "Foo"], for: ["Foo": "\(number)"])
      candidate.responseTime = arrival.addingTimeInterval(Double(number))
      return candidate
    }
    var fields: HTTPFields = ["X-Test": "new"]
    fields[.eTag] = tag
    let update = CacheUpdate.of(
      ResponseHead(status: .notModified, fields: fields), to: context, at: later, isDecoded: false)

    guard case .select(let index, let merged) = update else {
      #expect(expected == nil && update == .repeatWithoutConditions)
      return
    }
    #expect(index == expected)
    #expect(merged.head.fields["X-Test"] == "new")
    #expect(VaryRule.matches(merged, ["Foo": "x"]))
  }

  /// The coding of the stored body, and whether it was decoded. The server may have sent the body without a coding and
  /// name one in the 304, which has no body.
  @Test(arguments: [(nil, true), (nil, false), ("br", false)] as [(String?, Bool)])
  func aStoredBodyKeepsItsCoding(coding: String?, isDecoded: Bool) {
    var response = stored
    response.isDecoded = isDecoded
    response.head.fields[.contentEncoding] = coding
    guard case .known(.confirm(let merged)) = receive(304, [.contentEncoding: "gzip"], stored: response) else {
      Issue.record("expected .confirm")
      return
    }
    #expect(merged.head.fields[.contentEncoding] == coding)
  }

  @Test func connectionFieldsOfA304AreNotStored() {
    guard case .known(.confirm(let merged)) = receive(304, [.connection: "X-Hop", "X-Hop": "1"]) else {
      Issue.record("expected .confirm")
      return
    }
    #expect(!merged.head.fields.contains("X-Hop"))
    #expect(!merged.head.fields.contains(.connection))
  }

  @Test func a304ForAConditionOfTheCallerIsReturned() {
    guard case .known(.update) = receive(304, [.eTag: "\"a\""], asks: [.ifNoneMatch: "\"a\""]) else {
      Issue.record("expected .update")
      return
    }
    #expect(receive(304, [.eTag: "\"mine\""], asks: [.ifNoneMatch: "\"mine\""]) == .ignore(.conditionAnswered))
    #expect(receive(304, asks: [.ifNoneMatch: "\"mine\""]) == .ignore(.conditionAnswered))
  }

  @Test func aFullResponseReplacesTheStoredOne() {
    guard case .store(let new) = receive(200, [.cacheControl: "max-age=5"]) else {
      Issue.record("expected .store")
      return
    }
    #expect(new.head.fields[.date] == HTTPDate.format(later))
  }

  @Test(
    arguments: [
      (200, .known(.remove(.noStore))), (204, .known(.remove(.noStore))), (302, .known(.remove(.noStore))),
      (404, .known(.remove(.noStore))), (410, .known(.remove(.noStore))), (206, .known(.remove(.uselessPart))),
      (401, .ignore(.noStore)), (403, .ignore(.noStore)), (429, .ignore(.noStore)), (500, .ignore(.noStore)),
      (503, .ignore(.noStore)),
    ] as [(HTTPStatus, CacheUpdate)])
  func aResponseThatIsNotStoredMayInvalidateTheStoredOne(status: HTTPStatus, expected: CacheUpdate) {
    #expect(receive(status, [.cacheControl: "no-store"]) == expected)
  }

  @Test(
    arguments: [
      (500, "max-age=1, stale-if-error=200", [:], .known(.serveStale(.staleIfError))),
      (502, "max-age=1, stale-if-error=200", [:], .known(.serveStale(.staleIfError))),
      (503, "max-age=1, stale-if-error=200", [:], .known(.serveStale(.staleIfError))),
      (504, "max-age=1, stale-if-error=200", [:], .known(.serveStale(.staleIfError))),
      (501, "max-age=1, stale-if-error=200", [:], .ignore(.staleAtOnce)),
      (404, "max-age=1, stale-if-error=200", [:], .known(.remove(.staleAtOnce))),
      (503, "max-age=1, stale-if-error=50", [:], .ignore(.noLifetime)),
      (503, "max-age=1", [:], .ignore(.noLifetime)),
      (503, "max-age=1", [.cacheControl: "stale-if-error=200"], .known(.serveStale(.staleIfError))),
      (503, "max-age=1, stale-if-error=200", [.cacheControl: "no-cache"], .ignore(.noLifetime)),
      (503, "max-age=1, stale-if-error=200, must-revalidate", [:], .ignore(.noLifetime)),
      (503, "no-cache, stale-if-error=200", [:], .ignore(.noLifetime)),
    ] as [(HTTPStatus, String, HTTPFields, CacheUpdate)])
  func staleIfError(status: HTTPStatus, control: String, asks: HTTPFields, expected: CacheUpdate) {
    #expect(
      receive(status, stored: StoredResponse([.cacheControl: control, .date: moment(0)]), asks: asks) == expected)
  }

  @Test(
    arguments: [
      ("max-age=1", .returnCacheDataIfOffline, .offline), ("max-age=1", .useProtocolCachePolicy, nil),
      ("max-age=1, must-revalidate", .returnCacheDataIfOffline, nil), ("no-cache", .returnCacheDataIfOffline, nil),
      ("max-age=1, stale-if-error=200", .useProtocolCachePolicy, .staleIfError),
      ("max-age=1, stale-if-error=200", .reloadRevalidatingCacheData, nil),
    ] as [(String, CachePolicy, StaleFallback.Use?)])
  func withoutANetwork(control: String, policy: CachePolicy, expected: StaleFallback.Use?) {
    let stored = StoredResponse([.cacheControl: control, .date: moment(0)])

    #expect(
      StaleFallback.use(of: stored, for: RequestHead([:]), policy: policy, after: .unreachable, at: later) == expected)
  }

  /// Without a lifetime, an error says nothing about the time without a network.
  @Test(
    arguments: [
      (404, [:], nil), (500, [.eTag: "\"a\""], nil), (404, [.cacheControl: "max-age=1"], .offline),
      (404, [.lastModified: moment(-1000)], .offline), (200, [:], .offline), (301, [:], .offline),
    ] as [(HTTPStatus, HTTPFields, StaleFallback.Use?)])
  func aStoredErrorDoesNotStandForTheNetwork(status: HTTPStatus, fields: HTTPFields, expected: StaleFallback.Use?) {
    let use = StaleFallback.use(
      of: StoredResponse(fields, status: status), for: RequestHead([:]), policy: .returnCacheDataIfOffline,
      after: .unreachable, at: later)
    #expect(use == expected)
  }

  @Test(
    arguments: [
      (200, [.eTag: "\"a\"", "X-Test": "new"], true), (200, [.contentLength: "10"], true), (200, [:], true),
      (200, [.eTag: "\"b\""], false), (200, [.contentLength: "11"], false), (200, [.lastModified: moment(0)], false),
    ] as [(HTTPStatus, HTTPFields, Bool)])
  func aHEADUpdatesOrRemoves(status: HTTPStatus, fields: HTTPFields, updates: Bool) {
    let reception = receive(status, fields, method: .head)

    if updates {
      guard case .known(.update(let updated)) = reception else {
        Issue.record("expected .update")
        return
      }
      #expect(updated.responseTime == later)
    } else {
      #expect(reception == .known(.remove(.unsuitableMethod)))
    }
  }

  @Test func aFailedHEADChangesNothing() {
    #expect(receive(410, ["X-Test": "new"], method: .head) == .ignore(.unsuitableMethod))
  }

  @Test(
    arguments: [
      (.post, 200, [:], ["/"]), (.put, 204, [:], ["/"]), (.delete, 301, [:], ["/"]), ("M-SEARCH", 200, [:], ["/"]),
      (.post, 500, [:], []), (.post, 404, [:], []), (.get, 200, [:], []), (.options, 200, [:], []),
      ("QUERY", 200, [.location: "/new", .contentLocation: "sub/x"], []),  // RFC 10008 §2: it is safe
      (.post, 201, [.location: "/new", .contentLocation: "sub/x"], ["/", "/new", "/sub/x"]),
      (.post, 201, [.location: "http://b.example/"], ["/"]),
      (.post, 201, [.location: "http://a.example:80/c"], ["/", "/c"]),
    ] as [(HTTPMethod, HTTPStatus, HTTPFields, [String])])
  func unsafeRequestsInvalidate(method: HTTPMethod, status: HTTPStatus, fields: HTTPFields, paths: [String]) {
    let keys = InvalidationRule.keys(
      after: ResponseHead(status: status, fields: fields), to: RequestHead([:], method), partition: "p")

    #expect(keys.map(\.url) == paths.map { "http://a.example\($0)" })
    #expect(keys.allSatisfy { $0.partition == "p" })
  }

  @Test(arguments: [
    ("HTTP://A.example:80", "http://a.example/"), ("http://a.example/#x", "http://a.example/"),
    ("http://u:p@a.example/b?c=D", "http://a.example/b?c=D"), ("https://a.example:443/%7Ea", "https://a.example/%7Ea"),
    ("http://a.example:8080/", "http://a.example:8080/"), ("http://a.example/?", "http://a.example/?"),
    ("http://a.example:80/b", "http://a.example/b"), ("https://a.example:80/b", "https://a.example:80/b"),
    ("http://a.example:0080/b", "http://a.example/b"), ("http://a.example:08080/b", "http://a.example:8080/b"),
    ("http://a.example:8080?c", "http://a.example:8080/?c"), ("http://a.example:8080/#x", "http://a.example:8080/"),
    ("http://a.Example:8080/B", "http://a.example:8080/B"), ("http://a.example?c#x", "http://a.example/?c"),
    ("http://[::1]:8080/b", "http://[::1]:8080/b"), ("http://u@a.example:8080/b", "http://a.example:8080/b"),
  ])
  func keysAreNormalizedURLs(url: String, key: String) {
    #expect(CacheKey(TestSupport.url(url)).url == key)
    #expect(CacheKey(TestSupport.url(url), partition: "p") == CacheKey(partition: "p", normalizedURL: key))
    #expect(CacheKey(TestSupport.url(url), partition: "p") != CacheKey(partition: "q", normalizedURL: key))
  }
}
