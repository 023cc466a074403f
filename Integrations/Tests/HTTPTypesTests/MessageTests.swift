import HTTPTypes
import Martlet
import MartletHTTPTypes
import Testing

/// Messages of swift-http-types become Martlet's, and back, without loss.
@Suite struct MessageTests {
  @Test func orderRepeatedLinesAndCaseOfNamesAreKeptBothWays() throws {
    var fields = HTTPTypes.HTTPFields()
    for (name, value) in [("X-tag", "a"), ("Set-Cookie", "a=1"), ("x-TAG", "b"), ("Set-Cookie", "b=2, c"), ("X-Empty", "")] {
      fields.append(HTTPField(name: try #require(HTTPField.Name(name)), value: value))
    }

    let converted = Martlet.HTTPFields(fields)
    let back = try HTTPTypes.HTTPFields(converted)

    #expect(converted.map { "\($0.name.rawName): \($0.value)" } == [
      "X-tag: a", "Set-Cookie: a=1", "x-TAG: b", "Set-Cookie: b=2, c", "X-Empty: ",
    ])
    #expect(back.map { "\($0.name.rawName): \($0.value)" } == converted.map { "\($0.name.rawName): \($0.value)" })
    #expect(back == fields)
  }
}
