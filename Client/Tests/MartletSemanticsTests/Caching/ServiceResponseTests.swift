@_spi(Toolkit) import MartletSemantics
import Testing

/// A private cache's treatment of the fields that known services document or send: GitHub's REST API, Stripe, OpenAI,
/// SAP Gateway and content delivery networks. The values of tags, dates and identifiers are invented.
struct ServiceResponseTests {
  struct Row: Sendable, CustomTestStringConvertible {
    let testDescription: String
    var method = HTTPMethod.get
    var asks: HTTPFields = [.authorization: "Bearer one", .accept: "application/json"]
    let answer: HTTPFields
    /// Whether the response is stored, how long it is fresh, and which later requests use it.
    let outcome: Outcome

    enum Outcome: Sendable, Hashable {
      case notStored
      case stored(seconds: Double, Uses)
    }

    /// Whether a request with another token of the same user may use it, and what that request sends when the response
    /// is stale.
    struct Uses: Sendable, Hashable {
      var inPartition = true
      var withoutPartition = false
      var validation: HTTPFields
    }
  }

  static let github: [Row] = [
    Row(
      testDescription: "GitHub, with a personal token",
      asks: [.authorization: "Bearer one", .accept: "application/vnd.github+json"],
      answer: [
        .cacheControl: "private, max-age=60, s-maxage=60", .eTag: "W/\"4876f954\"",
        .vary: "Accept, Authorization, Cookie, X-GitHub-OTP,Accept-Encoding, Accept, X-Requested-With",
        .contentType: "application/json; charset=utf-8", "X-GitHub-Media-Type": "github.v3; format=json",
        "X-RateLimit-Remaining": "4836",
      ],
      outcome: .stored(seconds: 60, .init(validation: [.ifNoneMatch: "W/\"4876f954\""]))),
    Row(
      testDescription: "GitHub, public data",
      answer: [
        .cacheControl: "public, max-age=60, s-maxage=60", .eTag: "W/\"decf94a2\"",
        .vary: "Accept,Accept-Encoding, Accept, X-Requested-With",
      ],
      outcome: .stored(seconds: 60, .init(withoutPartition: true, validation: [.ifNoneMatch: "W/\"decf94a2\""]))),
    Row(
      testDescription: "GitHub Enterprise",
      answer: [.cacheControl: "max-age=0, private, must-revalidate", .eTag: "\"a00049ba\""],
      outcome: .stored(seconds: 0, .init(validation: [.ifNoneMatch: "\"a00049ba\""]))),
  ]

  static let stripe: [Row] = [
    Row(
      testDescription: "Stripe", asks: [.authorization: "Bearer one", "Stripe-Version": "2025-08-27.basil"],
      answer: [
        .cacheControl: "no-cache, no-store", "Request-Id": "req_1", "Stripe-Version": "2025-08-27.basil",
        .contentType: "application/json",
      ], outcome: .notStored)
  ]

  static let openAI: [Row] = [
    Row(
      testDescription: "OpenAI, the list of models",
      answer: [
        .contentType: "application/json", "OpenAI-Version": "2020-10-01", "OpenAI-Processing-Ms": "12",
        "X-Request-Id": "1",
      ], outcome: .notStored),
    Row(
      testDescription: "OpenAI, a completion as a stream", method: .post,
      answer: [.contentType: "text/event-stream; charset=utf-8", .cacheControl: "no-cache"], outcome: .notStored),
  ]

  /// By default `ES_RESPONSE_CONTEXT-DO_NOT_CACHE_ON_CLIENT` is set; with `MAX_AGE` and `LAST_MODIFIED` the application
  /// allows caches.
  static let gateway: [Row] = [
    Row(
      testDescription: "SAP Gateway, by default",
      answer: [
        .cacheControl: "no-store, no-cache", .eTag: "W/\"datetime'2012-11-27T09%3A41%3A40'\"",
        "DataServiceVersion": "2.0", .contentType: "application/json",
      ], outcome: .notStored),
    Row(
      testDescription: "SAP Gateway, where the application sets an age",
      answer: [
        .cacheControl: "max-age=3600", .lastModified: "Tue, 27 Nov 2012 09:41:40 GMT", "DataServiceVersion": "2.0",
        .contentType: "application/json",
      ],
      outcome: .stored(seconds: 3600, .init(validation: [.ifModifiedSince: "Tue, 27 Nov 2012 09:41:40 GMT"]))),
    Row(
      testDescription: "SAP Gateway, an entity without a word about caches",
      answer: [.eTag: "W/\"datetime'2012-11-27T09%3A41%3A40'\"", "DataServiceVersion": "2.0"],
      outcome: .stored(
        seconds: 0, .init(validation: [.ifNoneMatch: "W/\"datetime'2012-11-27T09%3A41%3A40'\""]))),
  ]

  static let networks: [Row] = [
    Row(
      testDescription: "jsDelivr", asks: [:],
      answer: [
        .cacheControl: "public, max-age=31536000", .eTag: "\"52e2e738-1469f\"",
        .lastModified: "Fri, 24 Jan 2014 22:20:40 GMT", .vary: "Accept-Encoding", .acceptRanges: "bytes",
      ],
      outcome: .stored(
        seconds: 31_536_000,
        .init(
          withoutPartition: true,
          validation: [.ifNoneMatch: "\"52e2e738-1469f\"", .ifModifiedSince: "Fri, 24 Jan 2014 22:20:40 GMT"]))),
    Row(
      testDescription: "CDN77", asks: [:],
      answer: [
        .cacheControl: "max-age=31536000", .eTag: "W/\"f56b-177f7c70ba8\"", .expires: "Thu, 03 Mar 2022 11:14:45 GMT",
        .vary: "Accept-Encoding", .acceptRanges: "bytes", "X-77-Cache": "MISS",
      ],
      outcome: .stored(
        seconds: 31_536_000, .init(withoutPartition: true, validation: [.ifNoneMatch: "W/\"f56b-177f7c70ba8\""]))),
    Row(
      testDescription: "a network that allows stale responses", asks: [:],
      answer: [
        .cacheControl: "max-age=31536000, public, s-maxage=86400, stale-if-error=86400, stale-while-revalidate=86400",
        .age: "102348", .vary: "Accept-Encoding",
      ],
      outcome: .stored(seconds: 31_536_000, .init(withoutPartition: true, validation: [:]))),
  ]

  @Test(arguments: github + stripe + openAI + gateway + networks)
  func responsesAreStoredUsedAndValidatedAsTheirServiceSays(row: Row) {
    let stored = ["anna", ""].map { Self.store(row, in: $0) }
    guard case .stored(let seconds, let uses) = row.outcome, let own = stored[0], let any = stored[1] else {
      #expect(row.outcome == .notStored)
      #expect(stored == [nil, nil])
      return
    }
    // A request of the same user with another token, if there was one.
    var later = row.asks
    if later.contains(.authorization) { later[.authorization] = "Bearer two" }

    #expect(Freshness(of: own, at: arrival).lifetime == seconds)
    #expect(VaryRule.matches(own, later, in: "anna") == uses.inPartition)
    #expect(VaryRule.matches(any, row.asks))
    #expect(VaryRule.matches(any, later) == (uses.withoutPartition || later == row.asks))
    var validation = RequestHead(later)
    for (name, value) in uses.validation { validation.fields[name] = value }
    let plan = CachePlan.make(
      for: RequestHead(later), policy: .useProtocolCachePolicy, stored: [StoredCandidate(own, length: 10)], in: "anna",
      at: arrival.addingTimeInterval(seconds + 86_500))
    guard case .validate(0, let sent, _) = plan else {
      Issue.record("expected .validate")
      return
    }
    #expect(sent == validation)
  }

  /// Returns the stored form of the response; nil if it is not stored.
  private static func store(_ row: Row, in partition: String) -> StoredResponse? {
    let request = RequestHead(row.asks, row.method)
    let context = CacheUpdate.Context(
      request: request, sent: request, policy: .useProtocolCachePolicy, partition: partition, requestTime: arrival)
    let update = CacheUpdate.of(
      ResponseHead(status: .ok, fields: row.answer), to: context, at: arrival, isDecoded: false)
    guard case .store(let stored) = update else { return nil }
    return stored
  }
}
