import MartletSemantics
import Testing

/// RFC 10008 §2.2 to §2.8: a row for each sentence about caches.
struct QueryCachingTests {
  private static let form: HTTPFields = [.contentType: "application/x-www-form-urlencoded"]

  // MARK: - Storing

  @Test(
    arguments: [
      // §2.7: the response is cacheable, as RFC 9111 says
      (.ok, [.cacheControl: "max-age=60"], nil), (.ok, [.expires: moment(60)], nil),
      (.noContent, [.cacheControl: "max-age=60"], nil), (.ok, [.cacheControl: "no-cache", .eTag: "\"a\""], nil),
      // RFC 9111 §3 holds for it
      (.ok, [.cacheControl: "max-age=60, no-store"], .noStore),
      (.ok, [.cacheControl: "max-age=60", .vary: "*"], .variesAlways),
      (.ok, [.cacheControl: "max-age=0"], .staleAtOnce),
      // ours: only a success with a lifetime or no-cache; none is assumed
      (.ok, [.cacheControl: "private", .lastModified: moment(-1000)], .unsuitableQuery),
      (.ok, [.eTag: "\"a\""], .unsuitableQuery), (.ok, [.lastModified: moment(-1000)], .unsuitableQuery),
      (.ok, [:], .unsuitableQuery), (.notFound, [.cacheControl: "max-age=60"], .unsuitableQuery),
      (.movedPermanently, [.cacheControl: "max-age=60"], .unsuitableQuery),
      // §2.3, §2.4: the fields name other resources; they change nothing about this response
      (.ok, [.cacheControl: "max-age=60", .contentLocation: "/results/17", .location: "/queries/42"], nil),
    ] as [(HTTPStatus, HTTPFields, StorageRule.Refusal?)])
  func anExplicitSuccessIsStored(_ status: HTTPStatus, _ fields: HTTPFields, refusal: StorageRule.Refusal?) {
    let response = ResponseHead(status: status, fields: fields)
    #expect(StorageRule.refusal(of: response, to: RequestHead(Self.form, .query), receivedAt: arrival) == refusal)
  }

  /// §2.8: ranges mean what they mean for GET.
  @Test func aPartIsStoredIfItsRangeWasRequested() {
    let part = ResponseHead(
      status: .partialContent,
      fields: [.contentRange: "bytes 0-9/20", .eTag: "\"a\"", .cacheControl: "max-age=60", .contentLength: "10"])
    let asked = RequestHead([.range: "bytes=0-9"], .query)
    #expect(StorageRule.refusal(of: part, to: asked, receivedAt: arrival) == nil)
    #expect(StorageRule.refusal(of: part, to: RequestHead([:], .query), receivedAt: arrival) == .uselessPart)
  }

  // MARK: - Using

  @Test(
    arguments: [
      // §2.7: a cache may use it for later QUERY requests
      ([.cacheControl: "max-age=60"], [:], "serve"),
      ([.cacheControl: "max-age=5"], [:], "validate"), ([.cacheControl: "no-cache"], [:], "validate"),
      ([.cacheControl: "max-age=60"], [.cacheControl: "no-cache"], "validate"),
      ([.cacheControl: "max-age=60", .vary: "Accept"], [.accept: "text/csv"], "select"),
    ] as [(HTTPFields, HTTPFields, String)])
  func aStoredResponseAnswersLikeThatOfAGET(_ fields: HTTPFields, _ asks: HTTPFields, _ expected: String) {
    let stored = StoredResponse(fields.with("ETag", "\"a\""))
    for method in [HTTPMethod.query, .get] {
      let plan = CachePlan.make(
        for: RequestHead(asks, method), policy: .useProtocolCachePolicy, stored: [StoredCandidate(stored, length: 3)],
        at: arrival.addingTimeInterval(10))
      switch plan {
      case .serve(0, .fresh): #expect(expected == "serve")
      case .validate(0, let head, _):
        #expect(expected == "validate")
        // §2.6: the condition is about the result of the query
        #expect(head.method == method && head.fields[.ifNoneMatch] == "\"a\"")
      case .select([0], let head):
        #expect(expected == "select")
        #expect(head.method == method && head.fields[.ifNoneMatch] == "\"a\"")
      default: Issue.record("\(plan)")
      }
    }
  }

  /// §2.6: the selected representation is that of a GET of the equivalent resource.
  @Test func theCallersConditionIsEvaluated() {
    let stored = StoredResponse([.cacheControl: "max-age=60", .eTag: "\"a\""])
    let asked = RequestHead([.ifNoneMatch: "\"a\""], .query)
    #expect(StoredAnswer(of: stored, length: 3, to: asked, at: arrival).head.status == .notModified)
    let part = StoredAnswer(of: stored, length: 9, to: RequestHead([.range: "bytes=2-4"], .query), at: arrival)
    #expect(part.head.status == .partialContent && part.range == 2..<5)
  }

  /// QUERY is safe (§2), so its success makes no stored response invalid.
  @Test func aSuccessInvalidatesNothing() {
    let response = ResponseHead(status: .ok, fields: [.contentLocation: "/x", .location: "/y"])
    #expect(InvalidationRule.keys(after: response, to: RequestHead([:], .query), partition: "").isEmpty)
  }

  // MARK: - The key

  /// §2.7: the key has the content and its metadata; no transformation is made.
  @Test func theFieldsThatDescribeTheContentAreHashed() {
    let fields: HTTPFields = [
      .contentType: "text/x; a=b", .contentEncoding: "gzip", .contentLanguage: "de", .contentLocation: "/q",
      .accept: "text/csv", .contentLength: "3", "X-Other": "1",
    ]
    let text = "content-type: text/x; a=b\ncontent-encoding: gzip\ncontent-language: de\ncontent-location: /q\n\n"
    #expect(QueryContent.hashed(before: fields) == Data(text.utf8))
    #expect(QueryContent.hashed(before: [:]) == Data("\n".utf8))
    #expect(QueryContent.hashed(before: [.contentType: "a/b"]) != QueryContent.hashed(before: [.contentType: "a/c"]))
  }

  @Test(
    arguments: [
      (true, false, 0, nil), (true, false, 1 << 20, nil), (true, false, nil, nil),
      (true, false, (1 << 20) + 1, .tooLong), (false, false, 1, .singleUse), (true, true, 1, .trailers),
      (false, true, nil, .singleUse),
    ] as [(Bool, Bool, Int64?, QueryContent.Refusal?)])
  func contentHasToBeReadBeforeItIsSent(
    isReplayable: Bool, hasTrailers: Bool, length: Int64?, refusal: QueryContent.Refusal?
  ) {
    #expect(
      QueryContent.refusal(isReplayable: isReplayable, hasTrailers: hasTrailers, length: length) == refusal)
  }

  @Test func theKeyHasTheDigestAsItsFragment() throws {
    let target = CacheKey(try #require(URL(string: "https://a.example/feed?x=1#top")), partition: "me")
    let digest = Data((0..<32).map { UInt8($0 * 8) })
    let key = CacheKey(target, content: digest)

    #expect(target.content == nil && target.target == target)
    #expect(key.content == "0008101820283038404850586068707880889098a0a8b0b8c0c8d0d8e0e8f0f8")
    #expect(key.url == "https://a.example/feed?x=1#" + (key.content ?? ""))
    #expect(key.target == target && key != target)
    // A store keeps only the two texts.
    #expect(CacheKey(partition: key.partition, normalizedURL: key.url) == key)
  }

  @Test(
    arguments: [
      "https://a.example/", "https://a.example/#0011", "https://a.example/" + String(repeating: "a", count: 80),
      "https://a.example/#" + String(repeating: "A", count: 64), "#" + String(repeating: "a", count: 64),
    ])
  func otherTextsAreNoDigest(_ url: String) {
    #expect(CacheKey(partition: "", normalizedURL: url).content == nil)
  }
}

extension HTTPFields {
  fileprivate func with(_ name: FieldName, _ value: String) -> HTTPFields {
    var fields = self
    fields[name] = value
    return fields
  }
}
