@_spi(Toolkit) import MartletSemantics
import Testing

/// RFC 9111 §4.2 and §5.1, §5.3.
struct FreshnessTests {
  struct Row: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let fields: HTTPFields
    let status: HTTPStatus
    let value: Double

    init(_ what: String, _ fields: HTTPFields, status: HTTPStatus = .ok, _ value: Double) {
      testDescription = what
      self.fields = fields
      self.status = status
      self.value = value
    }
  }

  @Test(arguments: [
    Row("max-age", [.cacheControl: "max-age=60"], 60),
    Row("max-age wins over Expires", [.cacheControl: "max-age=60", .expires: moment(-5)], 60),
    Row("max-age=0 wins over Expires", [.cacheControl: "max-age=0", .expires: moment(3600)], 0),
    Row("s-maxage is for shared caches", [.cacheControl: "s-maxage=60, max-age=1"], 1),
    Row("s-maxage alone says nothing here", [.cacheControl: "s-maxage=60"], 0),
    Row("invalid max-age is stale, whatever Expires says", [.cacheControl: "max-age=x", .expires: moment(60)], 0),
    Row("max-age without argument is stale", [.cacheControl: "max-age"], 0),
    Row("Expires minus Date", [.expires: moment(100), .date: moment(40)], 60),
    Row("Expires minus arrival without a Date", [.expires: moment(100)], 100),
    Row("Expires minus arrival with an invalid Date", [.expires: moment(100), .date: "foo"], 100),
    Row("Expires before Date", [.expires: moment(300), .date: moment(400)], 0),
    Row("Expires at Date", [.expires: moment(0), .date: moment(0)], 0),
    Row("Expires: 0", [.expires: "0", .lastModified: moment(-1000)], 0),
    Row("Expires: -1", [.expires: "-1"], 0),
    Row("the first of several Expires", [.expires: moment(50), .expires: moment(900)], 50),
    Row("two Expires on one line are no date", [.expires: "\(moment(50)), \(moment(900))"], 0),
    Row("Expires in RFC 850's form", [.expires: "Wednesday, 01-Jan-25 00:01:40 GMT"], 100),
    Row("Expires in asctime's form", [.expires: "Wed Jan  1 00:01:40 2025"], 100),
    Row("a tenth since Last-Modified", [.lastModified: moment(-1000), .date: moment(0)], 100),
    Row("a week at most", [.lastModified: moment(-1_000_000_000), .date: moment(0)], 604_800),
    Row("no guess from the future", [.lastModified: moment(1000), .date: moment(0)], 0),
    Row("no guess for 302", [.lastModified: moment(-1000)], status: 302, 0),
    Row("no guess for 599", [.lastModified: moment(-1000)], status: 599, 0),
    Row("public allows a guess", [.lastModified: moment(-1000), .cacheControl: "public"], status: 599, 100),
    Row("a guess for 404", [.lastModified: moment(-1000)], status: 404, 100),
    Row("nothing said", [:], 0),
    Row("CDN-Cache-Control is for others", ["CDN-Cache-Control": "max-age=60"], 0),
  ])
  func lifetime(row: Row) {
    #expect(Freshness(of: StoredResponse(row.fields, status: row.status), at: arrival).lifetime == row.value)
  }

  @Test(arguments: [
    Row("resident time", [:], 10),
    Row("Age", [.age: "30"], 40),
    Row("the first of several Ages", [.age: "7200,0"], 7210),
    Row("the first of several lines", [.age: "0", .age: "7200"], 10),
    Row("an Age that is no number", [.age: "abc"], 10),
    Row("a negative Age", [.age: "-7200"], 10),
    Row("an Age with a fraction", [.age: "7200.0"], 10),
    Row("apparent age", [.date: moment(-50)], 60),
    Row("the larger of apparent age and Age", [.date: moment(-50), .age: "20"], 60),
    Row("a Date that is ahead", [.date: moment(100)], 10),
    Row("a Date that is ahead hides no Age", [.date: moment(100), .age: "15"], 25),
    Row("a Date that is none", [.date: "foo"], 10),
  ])
  func ageTenSecondsLater(row: Row) {
    #expect(Freshness(of: StoredResponse(row.fields), at: arrival.addingTimeInterval(10)).age == row.value)
  }

  @Test func theResponseDelayCountsAsAge() {
    let stored = StoredResponse([.age: "5"], delay: 3)

    #expect(Freshness(of: stored, at: arrival.addingTimeInterval(1)).age == 9)
  }

  /// The clocks of two processes may differ by less than a second.
  @Test func aResponseFromTheFutureIsStale() {
    for control in ["max-age=60", "max-age=31536000", "max-age=99999999999"] {
      let stored = StoredResponse([.cacheControl: control])
      for seconds in [-1.0, -60, -86_400, -1e12] {
        #expect(!Freshness(of: stored, at: arrival.addingTimeInterval(seconds)).isFresh, "\(control), \(seconds)")
      }
      for seconds in [-0.9, 0, 59] { #expect(Freshness(of: stored, at: arrival.addingTimeInterval(seconds)).isFresh) }
    }
  }

  @Test func aClockThatWentBackMakesNothingYounger() {
    #expect(Freshness(of: StoredResponse([.age: "5"]), at: arrival.addingTimeInterval(-0.5)).age == 5)
  }

  /// Derived values of a response are computed once; a changed copy has its own.
  @Test func aChangedResponseHasAnotherFreshness() {
    let stored = StoredResponse([.cacheControl: "max-age=60"])
    #expect(Freshness(of: stored, at: arrival).lifetime == 60)

    var changed = stored
    changed.head.fields[.cacheControl] = "max-age=5"
    #expect(Freshness(of: changed, at: arrival).lifetime == 5)
    changed.requestTime = arrival.addingTimeInterval(-3)
    #expect(Freshness(of: changed, at: arrival).age == 3)
    changed.responseTime = arrival.addingTimeInterval(-1)
    #expect(Freshness(of: changed, at: arrival).age == 3)
    #expect(Freshness(of: changed, at: arrival.addingTimeInterval(1)).age == 4)

    #expect(Freshness(of: stored, at: arrival).lifetime == 60)
    #expect(changed != stored)
    changed = stored
    #expect(changed == stored)
  }

  @Test func aFractionOfASecondDoesNotCountAsAge() {
    var stored = StoredResponse([.date: moment(0), .cacheControl: "max-age=1"])
    stored.responseTime = arrival.addingTimeInterval(0.9)
    stored.requestTime = stored.responseTime

    #expect(Freshness(of: stored, at: stored.responseTime).isFresh)
  }

  @Test(arguments: [(59.9, true), (60, false), (61, false)])
  func freshMeansYoungerThanItsLifetime(seconds: Double, isFresh: Bool) {
    let stored = StoredResponse([.cacheControl: "max-age=60"])

    #expect(Freshness(of: stored, at: arrival.addingTimeInterval(seconds)).isFresh == isFresh)
  }
}
