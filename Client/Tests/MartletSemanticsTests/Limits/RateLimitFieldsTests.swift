import MartletSemantics
import Testing

/// A server's statements about its rate limit.
struct RateLimitFieldsTests {
  private let now = Date(timeIntervalSince1970: 1_000_000_000)  // Sun, 09 Sep 2001 01:46:40 GMT

  private func pause(_ fields: HTTPFields, status: HTTPStatus = .ok) -> Duration? {
    RateLimitFields.pause(after: ResponseHead(status: status, fields: fields), now: now)
  }

  @Test func theFieldsOfTheDraftAndOfItsEarlierFormsAreRead() {
    let table: [(HTTPFields, Duration?)] = [
      (["RateLimit": "\"default\";r=0;t=30"], .seconds(30)), (["RateLimit": "\"default\";r=1;t=30"], nil),
      (["RateLimit": "default;r=0;t=7"], .seconds(7)), (["RateLimit": "\"a\";t=7;r=0;pk=:YQ==:"], .seconds(7)),
      // several policies: the longest wait among the exhausted ones
      (["RateLimit": "\"a\";r=0;t=3, \"b\";r=0;t=9, \"c\";r=5;t=100"], .seconds(9)),
      (["RateLimit": "\"a\";r=0;t=3", "ratelimit": "\"b\";r=0;t=4"], .seconds(4)),
      (["RateLimit": "\"a\";r=0"], nil), (["RateLimit": "\"a\";r=-1;t=3"], nil), (["RateLimit": "\"a\";r=0;t=-3"], nil),
      (["RateLimit": "\"a\";r=0;t=99999999999999999999"], nil), (["RateLimit": ""], nil),
      (["RateLimit": "limit=100, remaining=0, reset=12"], .seconds(12)),
      (["RateLimit": "limit=100, remaining=3, reset=12"], nil),
      (["RateLimit-Remaining": "0", "RateLimit-Reset": "25"], .seconds(25)),
      (["RateLimit-Remaining": "1", "RateLimit-Reset": "25"], nil), (["RateLimit-Remaining": "0"], nil),
      (["RateLimit-Remaining": "none", "RateLimit-Reset": "25"], nil), ([:], nil),
      (["RateLimit-Remaining": "0", "RateLimit-Reset": "1.2"], .seconds(2)),
      // of GitHub, Okta and others: the seconds since 1970, and a delay where the number is small
      (["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1000000090"], .seconds(90)),
      (["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1000000090.4"], .seconds(91)),
      (["X-RateLimit-Remaining": "1", "X-RateLimit-Reset": "1000000090"], nil),
      (["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1000000000"], .zero),
      (["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "45"], .seconds(45)),
      (["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "soon"], nil), (["X-RateLimit-Remaining": "0"], nil),
      (["x-rate-limit-remaining": "0", "x-rate-limit-reset": "1000000007"], .seconds(7)),
      (["RateLimit-Remaining": "0", "RateLimit-Reset": "1000000012"], .seconds(12)),
      (
        ["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1000000090", "Date": "Sun, 09 Sep 2001 01:47:40 GMT"],
        .seconds(30)
      ),
      (["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "99999999999999999999"], .seconds(2_153_600_000)),
      // the present form counts where both are sent
      (["RateLimit": "\"a\";r=2;t=30", "RateLimit-Remaining": "0", "RateLimit-Reset": "25"], nil),
    ]
    for (fields, expected) in table { #expect(pause(fields) == expected, "\(fields)") }
  }

  @Test func retryAfterCountsForTheStatusesThatAskToWait() {
    let seconds: HTTPFields = ["Retry-After": "20"]
    let date: HTTPFields = ["Retry-After": "Sun, 09 Sep 2001 01:47:40 GMT"]
    #expect(pause(seconds, status: .tooManyRequests) == .seconds(20))
    #expect(pause(date, status: .serviceUnavailable) == .seconds(60))
    #expect(pause(seconds, status: .forbidden) == .seconds(20))
    #expect(pause(["Retry-After": "1.9"], status: .tooManyRequests) == .seconds(2))
    #expect(pause(seconds, status: .ok) == nil)
    #expect(pause(seconds, status: .found) == nil)
    let both: HTTPFields = ["Retry-After": "20", "RateLimit": "\"a\";r=0;t=50"]
    #expect(pause(both, status: .tooManyRequests) == .seconds(50))
  }
}
