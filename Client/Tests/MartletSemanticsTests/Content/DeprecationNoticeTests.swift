import MartletSemantics
import Testing

/// `Deprecation` (RFC 9745) and `Sunset` (RFC 8594).
struct DeprecationNoticeTests {
  private static let now = Date(timeIntervalSince1970: 1_700_000_000)

  private func notice(_ fields: HTTPFields) -> DeprecationNotice? { fields.deprecationNotice(now: Self.now) }

  @Test(
    arguments: [
      // RFC 9745 §2.1: a structured item that is a date; its parameters mean nothing
      ("@1688169599", "deprecated as of 2023-06-30T23:59:59Z"),
      ("@1688169599; a=1", "deprecated as of 2023-06-30T23:59:59Z"),
      // §2.1: the date may be in the future
      ("@4102444800", "deprecated as of 2100-01-01T00:00:00Z"), ("@-1", "deprecated as of 1969-12-31T23:59:59Z"),
      (" @0 ", "deprecated as of 1970-01-01T00:00:00Z"),
      // RFC 9651 §3.3.7: the years 1 to 9999
      ("@-62135596800", "deprecated as of 0001-01-01T00:00:00Z"), ("@-62135596801", nil),
      ("@253402300799", "deprecated as of 9999-12-31T23:59:59Z"), ("@253402300800", nil), ("@999999999999999", nil),
      // the forms of its drafts, which servers still send
      ("true", "deprecated"), ("True", "deprecated"),
      ("Sun, 11 Nov 2018 23:59:59 GMT", "deprecated as of 2018-11-11T23:59:59Z"),
      // RFC 9651 §4.2: any other value is ignored
      ("", nil), ("1688169599", nil), ("@1688169599.5", nil), ("@", nil), ("?1", nil), ("?0", nil), ("false", nil),
      ("@1, @2", nil), ("\"@1\"", nil), ("2018-11-11", nil), ("@99999999999999999", nil),
    ] as [(String, String?)])
  func aDeprecationIsADate(_ value: String, _ words: String?) {
    #expect(notice(["Deprecation": value])?.description == words)
    #expect(notice(["Deprecation": value])?.isDeprecated == (words == nil ? nil : true))
  }

  @Test(
    arguments: [
      // RFC 8594 §3: a date of HTTP; one in the past means that it can happen at any time
      ("Sat, 31 Dec 2018 23:59:59 GMT", "may stop responding after 2018-12-31T23:59:59Z"),
      ("Sunday, 06-Nov-94 08:49:37 GMT", "may stop responding after 1994-11-06T08:49:37Z"),
      ("Thu, 01 Jan 2099 00:00:00 GMT", "may stop responding after 2099-01-01T00:00:00Z"),
      ("@1688169599", nil), ("Sat, 31 Dec 2018 23:59:59 +0000", nil), ("2018-12-31", nil), ("", nil),
      ("Sat, 30 Feb 2019 00:00:00 GMT", nil),
    ] as [(String, String?)])
  func aSunsetIsADateOfHTTP(_ value: String, _ words: String?) {
    #expect(notice(["Sunset": value])?.description == words)
    #expect(notice(["Sunset": value])?.isDeprecated == (words == nil ? nil : false))
  }

  @Test func bothAreTakenTogetherWithTheirLinks() {
    let notice = notice([
      "Deprecation": "@1688169599", "Sunset": "Sun, 30 Jun 2024 23:59:59 GMT",
      "Link": "<https://developer.example.com/deprecation>; rel=\"deprecation\"; type=\"text/html\"",
      "link": "<next>; rel=next, </end>; rel=\"sunset help\", <other>; rel=sunset; anchor=\"/else\"",
    ])
    #expect(
      notice?.description == "deprecated as of 2023-06-30T23:59:59Z, may stop responding after 2024-06-30T23:59:59Z")
    #expect(notice?.links.map(\.target) == ["https://developer.example.com/deprecation", "/end"])
    #expect(notice?.contradictsItself == false)
  }

  /// RFC 9745 §4: the sunset must not be earlier than the deprecation.
  @Test func anEndBeforeTheDeprecationIsAContradiction() {
    let notice = notice(["Deprecation": "@1688169599", "Sunset": "Thu, 29 Jun 2023 00:00:00 GMT"])
    #expect(notice?.contradictsItself == true)
    #expect(notice?.description.hasSuffix("these dates contradict each other") == true)
    #expect(notice?.deprecation != nil && notice?.sunset != nil)
  }

  @Test func repeatedFieldsAreIgnoredAndOneThatIsValidIsKept() {
    let repeated: HTTPFields = ["Deprecation": "@1", "deprecation": "@1", "Sunset": "Thu, 01 Jan 2099 00:00:00 GMT"]
    #expect(notice(repeated)?.deprecation == nil)
    #expect(notice(repeated)?.sunset != nil)
    #expect(notice(["Deprecation": "@1", "Sunset": "soon"])?.sunset == nil)
  }

  /// The relation alone does not say that the resource is deprecated (RFC 9745 §3).
  @Test func linksAloneAreNoNotice() {
    #expect(notice(["Link": "</policy>; rel=deprecation"]) == nil)
    #expect(notice([:]) == nil)
  }
}
