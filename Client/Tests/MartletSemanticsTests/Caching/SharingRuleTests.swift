import MartletSemantics
import Testing

@Suite("Sharing rule")
struct SharingRuleTests {
  @Test(
    arguments: [
      (.get, [:], true), (.get, [.accept: "text/plain", "X-Tag": "a"], true),
      (.query, [.contentType: "text/plain"], true), (.query, [.cacheControl: "no-cache"], false),
      (.head, [:], false), (.post, [:], false),
      (.get, [.cacheControl: "no-cache"], false), (.get, [.pragma: "no-cache"], false),
      (.get, [.accept: "text/plain", .range: "bytes=0-1"], false), (.get, [.ifNoneMatch: "*"], false),
      (.get, [.ifModifiedSince: "Sun, 22 Nov 2026 12:00:00 GMT"], false), (.get, [.ifMatch: "*"], false),
      (.get, ["if-unmodified-since": "Sun, 22 Nov 2026 12:00:00 GMT"], false), (.get, [.upgrade: "a"], false),
    ] as [(HTTPMethod, HTTPFields, Bool)])
  func aPlainGETSharesItsResponse(_ method: HTTPMethod, _ fields: HTTPFields, isShared: Bool) {
    #expect(SharingRule.allows(method, fields) == isShared)
  }
}
