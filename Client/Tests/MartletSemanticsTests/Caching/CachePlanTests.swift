import MartletSemantics
import Testing

/// RFC 9111 §4 and §5.2, RFC 5861 §3, RFC 8246.
struct CachePlanTests {
  enum Expected: Sendable {
    case fresh, stale, background, validate, select, combine, forward, gatewayTimeout, notCached
  }

  struct Row: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let stored: HTTPFields
    let age: Double
    let request: RequestHead
    let policy: CachePolicy
    let expected: Expected

    init(
      _ what: String, _ stored: HTTPFields, age: Double = 10, asks: HTTPFields = [:], method: HTTPMethod = .get,
      policy: CachePolicy = .useProtocolCachePolicy, _ expected: Expected
    ) {
      testDescription = what
      self.stored = stored
      self.age = age
      request = RequestHead(asks, method)
      self.policy = policy
      self.expected = expected
    }
  }

  struct Validation: Sendable {
    let control: String
    var asked: HTTPFields = [:]
    var policy = CachePolicy.useProtocolCachePolicy
    let rule: String
  }

  @Test(arguments: [
    Validation(control: "max-age=60", policy: .reloadRevalidatingCacheData, rule: "RFC 9111 §5.2.1.1"),
    Validation(control: "max-age=60, no-cache", rule: "RFC 9111 §5.2.2.4"),
    Validation(control: "max-age=60", asked: [.cacheControl: "no-cache"], rule: "RFC 9111 §5.2.1.4"),
    Validation(control: "max-age=60", asked: [.cacheControl: "max-age=1"], rule: "RFC 9111 §5.2.1.1"),
    Validation(control: "max-age=5", rule: "RFC 9111 §4.2"),
  ])
  func theReasonOfAValidationNamesItsRule(row: Validation) {
    let stored = StoredResponse([.cacheControl: row.control, .eTag: "\"a\""])

    let plan = CachePlan.make(
      for: RequestHead(row.asked), policy: row.policy, stored: [StoredCandidate(stored, length: 10)],
      at: arrival.addingTimeInterval(10))

    guard case .validate(_, _, let reason) = plan else {
      Issue.record("expected .validate")
      return
    }
    #expect(CacheReason(reason).rule == row.rule)
  }

  @Test(arguments: [
    Row("fresh", [.cacheControl: "max-age=60"], .fresh),
    Row("stale", [.cacheControl: "max-age=5"], .validate),
    Row("fresh, for HEAD", [.cacheControl: "max-age=60"], method: .head, .fresh),
    Row("stale, for HEAD", [.cacheControl: "max-age=5"], method: .head, .validate),
    Row("POST goes out", [.cacheControl: "max-age=60"], method: .post, .forward),
    Row("no-cache of the response", [.cacheControl: "max-age=60, no-cache"], .validate),
    Row("no-cache for fields alone", [.cacheControl: "max-age=60, no-cache=\"X\""], .fresh),
    Row("fresh must-revalidate", [.cacheControl: "max-age=60, must-revalidate"], .fresh),
    Row("stale must-revalidate", [.cacheControl: "max-age=5, must-revalidate"], .validate),
    Row("Pragma in the response", [.cacheControl: "max-age=60", .pragma: "no-cache"], .fresh),

    Row("asks no-cache", [.cacheControl: "max-age=60"], asks: [.cacheControl: "no-cache"], .validate),
    Row("asks no-store", [.cacheControl: "max-age=60"], asks: [.cacheControl: "no-store"], .forward),
    Row("asks Pragma: no-cache", [.cacheControl: "max-age=60"], asks: [.pragma: "No-Cache"], .validate),
    Row(
      "Cache-Control beats Pragma", [.cacheControl: "max-age=60"],
      asks: [.pragma: "no-cache", .cacheControl: "max-age=60"], .fresh),
    Row("asks Pragma: foo", [.cacheControl: "max-age=60"], asks: [.pragma: "foo"], .fresh),
    Row("asks max-age=0", [.cacheControl: "max-age=60"], asks: [.cacheControl: "max-age=0"], .validate),
    Row("asks max-age that is enough", [.cacheControl: "max-age=60"], asks: [.cacheControl: "max-age=10"], .fresh),
    Row("asks max-age that is exceeded", [.cacheControl: "max-age=60"], asks: [.cacheControl: "max-age=9"], .validate),
    Row(
      "asks max-age of an aged one", [.cacheControl: "max-age=3600", .age: "1800"],
      asks: [.cacheControl: "max-age=600"], .validate),
    Row(
      "asks max-age beside max-stale", [.cacheControl: "max-age=60"], asks: [.cacheControl: "max-age=5, max-stale=5"],
      .fresh),
    Row("asks unreadable max-age", [.cacheControl: "max-age=60"], asks: [.cacheControl: "max-age=x"], .validate),
    Row("asks min-fresh that is met", [.cacheControl: "max-age=60"], asks: [.cacheControl: "min-fresh=50"], .fresh),
    Row("asks min-fresh that is not", [.cacheControl: "max-age=60"], asks: [.cacheControl: "min-fresh=51"], .validate),
    Row("asks max-stale", [.cacheControl: "max-age=5"], asks: [.cacheControl: "max-stale=5"], .stale),
    Row("asks too little max-stale", [.cacheControl: "max-age=5"], asks: [.cacheControl: "max-stale=4"], .validate),
    Row("asks max-stale without limit", [.cacheControl: "max-age=5"], asks: [.cacheControl: "max-stale"], .stale),
    Row(
      "max-stale yields to must-revalidate", [.cacheControl: "max-age=5, must-revalidate"],
      asks: [.cacheControl: "max-stale"], .validate),
    Row("max-stale yields to no-cache", [.cacheControl: "no-cache"], asks: [.cacheControl: "max-stale"], .validate),
    Row("only-if-cached and fresh", [.cacheControl: "max-age=60"], asks: [.cacheControl: "only-if-cached"], .fresh),
    Row(
      "only-if-cached and stale", [.cacheControl: "max-age=5"], asks: [.cacheControl: "only-if-cached"],
      .gatewayTimeout),
    Row("If-Match is for the origin", [.cacheControl: "max-age=60"], asks: [.ifMatch: "\"a\""], .forward),
    Row("If-None-Match is answered", [.cacheControl: "max-age=60"], asks: [.ifNoneMatch: "\"a\""], .fresh),
    Row("one range is answered", [.cacheControl: "max-age=60"], asks: [.range: "bytes=0-1"], .fresh),
    Row("several ranges are not", [.cacheControl: "max-age=60"], asks: [.range: "bytes=0-1,3-4"], .forward),
    Row("a range beyond the end is answered", [.cacheControl: "max-age=60"], asks: [.range: "bytes=100-"], .fresh),

    Row("within stale-while-revalidate", [.cacheControl: "max-age=5, stale-while-revalidate=5"], .background),
    Row("behind stale-while-revalidate", [.cacheControl: "max-age=5, stale-while-revalidate=4"], .validate),
    Row("stale-while-revalidate without a number", [.cacheControl: "max-age=5, stale-while-revalidate"], .validate),
    Row(
      "must-revalidate forbids it", [.cacheControl: "max-age=5, stale-while-revalidate=60, must-revalidate"],
      .validate),
    Row(
      "the request's max-age forbids it", [.cacheControl: "max-age=5, stale-while-revalidate=60"],
      asks: [.cacheControl: "max-age=1"], .validate),
    Row(
      "only-if-cached leaves it out", [.cacheControl: "max-age=5, stale-while-revalidate=60"],
      asks: [.cacheControl: "only-if-cached"], .stale),

    Row("reload ignoring", [.cacheControl: "max-age=60"], policy: .reloadIgnoringCacheData, .forward),
    Row("reload revalidating", [.cacheControl: "max-age=60"], policy: .reloadRevalidatingCacheData, .validate),
    Row(
      "immutable needs no confirmation", [.cacheControl: "max-age=60, immutable"], policy: .reloadRevalidatingCacheData,
      .fresh),
    Row(
      "stale immutable does", [.cacheControl: "max-age=5, immutable"], policy: .reloadRevalidatingCacheData, .validate),
    Row(
      "immutable yields to no-cache", [.cacheControl: "max-age=60, immutable"], asks: [.cacheControl: "no-cache"],
      .validate),
    Row("else load: stale", [.cacheControl: "max-age=5"], policy: .returnCacheDataElseLoad, .stale),
    Row("else load: no-cache", [.cacheControl: "no-cache"], policy: .returnCacheDataElseLoad, .stale),
    Row("else load: another variant", [.vary: "Foo"], asks: ["Foo": "1"], policy: .returnCacheDataElseLoad, .forward),
    Row("do not load: stale", [.cacheControl: "max-age=5"], policy: .returnCacheDataDontLoad, .stale),
    Row(
      "do not load: another variant", [.vary: "Foo"], asks: ["Foo": "1"], policy: .returnCacheDataDontLoad, .notCached),
    Row("if offline: fresh", [.cacheControl: "max-age=60"], policy: .returnCacheDataIfOffline, .fresh),
    Row("if offline: stale", [.cacheControl: "max-age=5"], policy: .returnCacheDataIfOffline, .validate),
  ])
  func planForOneStoredResponse(row: Row) {
    let stored = [StoredCandidate(StoredResponse(row.stored), length: 10)]

    let plan = CachePlan.make(
      for: row.request, policy: row.policy, stored: stored, at: arrival.addingTimeInterval(row.age))

    #expect(Self.kind(of: plan) == row.expected)
  }

  @Test(
    arguments: [
      (CachePolicy.useProtocolCachePolicy, [:], nil), (.reloadIgnoringCacheData, [:], "no-cache"),
      (.reloadRevalidatingCacheData, [:], "max-age=0"),
      (.reloadRevalidatingCacheData, [.cacheControl: "max-age=5"], "max-age=5"), (.returnCacheDataIfOffline, [:], nil),
    ] as [(CachePolicy, HTTPFields, String?)])
  func aReloadWithoutAStoredResponseAsksOtherCaches(policy: CachePolicy, asks: HTTPFields, expected: String?) {
    guard case .forward(let head) = CachePlan.make(for: RequestHead(asks), policy: policy, stored: [], at: arrival)
    else {
      Issue.record("the request does not go out")
      return
    }
    #expect(head.fields[.cacheControl] == expected)
  }

  @Test(
    arguments: [
      (CachePolicy.useProtocolCachePolicy, [:], .forward), (.reloadIgnoringCacheData, [:], .forward),
      (.returnCacheDataElseLoad, [:], .forward), (.returnCacheDataIfOffline, [:], .forward),
      (.reloadRevalidatingCacheData, [:], .forward), (.returnCacheDataDontLoad, [:], .notCached),
      (.useProtocolCachePolicy, [.cacheControl: "only-if-cached"], .gatewayTimeout),
    ] as [(CachePolicy, HTTPFields, Expected)])
  func planForNothingStored(policy: CachePolicy, asks: HTTPFields, expected: Expected) {
    let plan = CachePlan.make(for: RequestHead(asks), policy: policy, stored: [], at: arrival)

    #expect(Self.kind(of: plan) == expected)
  }

  @Test(
    arguments: [
      ([.eTag: "W/\"a\""], [:], .useProtocolCachePolicy, [.ifNoneMatch: "W/\"a\""]),
      (
        [.lastModified: "Wed, 01 Jan 2020 00:00:00 GMT"], [:], .useProtocolCachePolicy,
        [.ifModifiedSince: "Wed, 01 Jan 2020 00:00:00 GMT"]
      ),
      (
        [.eTag: "\"a\"", .lastModified: "x"], [:], .useProtocolCachePolicy,
        [.ifNoneMatch: "\"a\"", .ifModifiedSince: "x"]
      ),
      ([:], [:], .useProtocolCachePolicy, [:]),
      ([.eTag: "\"a\""], [:], .reloadRevalidatingCacheData, [.ifNoneMatch: "\"a\"", .cacheControl: "max-age=0"]),
      // Conditions and directives of the caller are not changed.
      ([.eTag: "\"a\""], [.ifNoneMatch: "\"mine\""], .useProtocolCachePolicy, [.ifNoneMatch: "\"mine\""]),
      (
        [.eTag: "\"a\""], [.cacheControl: "x"], .reloadRevalidatingCacheData,
        [.cacheControl: "x", .ifNoneMatch: "\"a\""]
      ),
    ] as [(HTTPFields, HTTPFields, CachePolicy, HTTPFields)])
  func validationCarriesTheValidators(
    stored: HTTPFields, asks: HTTPFields, policy: CachePolicy, sent: HTTPFields
  ) {
    var fields = stored
    fields[.cacheControl] = "max-age=0"
    let plan = CachePlan.make(
      for: RequestHead(asks), policy: policy, stored: [StoredCandidate(StoredResponse(fields), length: 10)],
      at: arrival)

    let reason = policy == .reloadRevalidatingCacheData ? CachePlan.ValidationReason.validationAsked : .stale
    #expect(plan == .validate(0, RequestHead(sent), reason))
  }

  struct Offer: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// The fields of the stored response, and of its request.
    let stored: HTTPFields
    var asked: HTTPFields = [:]
    let asks: HTTPFields
    var partition = ""
    /// The tags that are sent; nil if none are.
    let tags: String?
  }

  /// RFC 9111 §4.3.1: the validators of unmatched responses that a request carries.
  @Test(arguments: [
    Offer(
      testDescription: "another language", stored: [.vary: "Accept-Language", .eTag: "\"a\""],
      asked: [.acceptLanguage: "de"], asks: [.acceptLanguage: "en"], tags: "\"a\""),
    Offer(
      testDescription: "a weak tag of another language", stored: [.vary: "Accept-Language", .eTag: "W/\"a\""],
      asked: [.acceptLanguage: "de"], asks: [.acceptLanguage: "en"], partition: "anna", tags: nil),
    Offer(
      testDescription: "a date", stored: [.vary: "Accept-Language", .lastModified: moment(-100)],
      asked: [.acceptLanguage: "de"], asks: [.acceptLanguage: "en"], tags: nil),
    Offer(
      testDescription: "a body that is still compressed",
      stored: [.vary: "Accept-Encoding", .eTag: "\"a\"", .contentEncoding: "br"], asked: [.acceptEncoding: "br"],
      asks: [:], tags: nil),
    Offer(
      testDescription: "Vary: *", stored: [.vary: "*", .eTag: "\"a\""], asks: [:], tags: nil),
    Offer(
      testDescription: "another user", stored: [.eTag: "\"a\""], asked: [.authorization: "x"],
      asks: [.authorization: "y"], tags: nil),
    Offer(
      testDescription: "nobody", stored: [.eTag: "\"a\""], asked: [.authorization: "x"], asks: [:], tags: nil),
    Offer(
      testDescription: "another session", stored: [.vary: "Cookie", .eTag: "\"a\""], asked: [.cookie: "id=1"],
      asks: [.cookie: "id=2"], tags: nil),
    Offer(
      testDescription: "another session in a partition", stored: [.vary: "Cookie", .eTag: "W/\"a\""],
      asked: [.cookie: "id=1"], asks: [.cookie: "id=2"], partition: "anna", tags: "W/\"a\""),
    Offer(
      testDescription: "another language for the same user",
      stored: [.vary: "Accept-Language, Authorization", .eTag: "\"a\""],
      asked: [.acceptLanguage: "de", .authorization: "x"], asks: [.acceptLanguage: "en", .authorization: "x"],
      tags: "\"a\""),
    Offer(
      testDescription: "a condition of the caller", stored: [.vary: "Accept-Language", .eTag: "\"a\""],
      asked: [.acceptLanguage: "de"], asks: [.acceptLanguage: "en", .ifModifiedSince: moment(0)], tags: nil),
    Offer(
      testDescription: "a range", stored: [.vary: "Accept-Language", .eTag: "\"a\""], asked: [.acceptLanguage: "de"],
      asks: [.acceptLanguage: "en", .range: "bytes=0-1"], tags: nil),
  ])
  func tagsOfOtherVariantsAreSent(offer: Offer) {
    var stored = StoredResponse(offer.stored)
    stored.variant = VaryRule.variant(of: stored.head, for: offer.asked, in: offer.partition)

    let plan = CachePlan.make(
      for: RequestHead(offer.asks), policy: .useProtocolCachePolicy, stored: [StoredCandidate(stored, length: 10)],
      in: offer.partition, at: arrival)

    var sent = RequestHead(offer.asks)
    sent.fields[.ifNoneMatch] = offer.tags
    #expect(plan == (offer.tags == nil ? .forward(sent) : .select([0], sent)))
  }

  @Test func atMostTheEightLatestTagsAreSentEachOnce() {
    let stored = (0..<20).map { number in
      var response = StoredResponse(
        [.vary: "Foo", .eTag: number == 19 ? "\"18\"" : "\"\(number)\""], for: ["Foo": "\(number)"])
      response.responseTime = arrival.addingTimeInterval(Double(number))
      return StoredCandidate(response, length: 10)
    }
    let plan = CachePlan.make(
      for: RequestHead(["Foo": "x"]), policy: .useProtocolCachePolicy, stored: stored, at: arrival)

    let tags = (12...18).reversed().map { "\"\($0)\"" }.joined(separator: ", ")
    #expect(plan == .select((12...19).reversed(), RequestHead(["Foo": "x", .ifNoneMatch: tags])))
  }

  @Test func aReloadAlsoAsksOtherCaches() {
    let plan = CachePlan.make(for: RequestHead([:]), policy: .reloadIgnoringCacheData, stored: [], at: arrival)

    #expect(plan == .forward(RequestHead([.cacheControl: "no-cache"])))
  }

  private static func kind(of plan: CachePlan) -> Expected {
    switch plan {
    case .serve(_, .fresh): .fresh
    case .serve(_, .stale): .stale
    case .serve(_, .staleWhileRevalidating): .background
    case .validate: .validate
    case .select: .select
    case .combine: .combine
    case .forward: .forward
    case .answerGatewayTimeout: .gatewayTimeout
    case .failNotCached: .notCached
    }
  }
}
