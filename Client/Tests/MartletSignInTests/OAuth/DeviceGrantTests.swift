import Foundation
@_spi(Credentials) import MartletSemantics
import Testing

@_spi(Credentials) @testable import MartletSignIn

/// RFC 8628.
@Suite struct DeviceGrantTests {
  private func answer(_ json: String) throws -> DeviceAuthorizationAnswer {
    try JSONDecoder().decode(DeviceAuthorizationAnswer.self, from: Data(json.utf8))
  }

  @Test func responseNamesCodesPagesAndTimes() throws {
    let answer = try answer(
      """
      {"device_code": "d", "user_code": "WDJB-MJHT", "verification_uri": "https://a.example/device",
       "verification_uri_complete": "https://a.example/device?user_code=WDJB-MJHT", "expires_in": 1800, "interval": 7}
      """)
    #expect(answer.deviceCode == "d" && answer.userCode == "WDJB-MJHT")
    #expect(answer.page.absoluteString == "https://a.example/device")
    #expect(answer.completePage?.query == "user_code=WDJB-MJHT")
    #expect(answer.seconds == 1800 && answer.interval == 7)
  }

  @Test func intervalIsFiveSecondsIfThereIsNone() throws {
    let answer = try answer(
      #"{"device_code": "d", "user_code": "u", "verification_url": "https://a.example", "expires_in": 60}"#)
    #expect(answer.interval == 5 && answer.completePage == nil)
  }

  @Test func pageKeepsItsEscapesBesideCharactersThatNoURLHas() throws {
    let answer = try answer(
      #"{"device_code": "d", "user_code": "u", "verification_uri": "https://a.example/x%20y|z", "expires_in": 60}"#)
    #expect(answer.page.absoluteString == "https://a.example/x%20y%7Cz")
  }

  @Test(arguments: [("60", 60.0), ("\"60\"", 60), ("0", 1800), ("-1", 1800), ("\"soon\"", 1800)])
  func lifetimeOfTheCodesIsHalfAnHourIfItIsUnknown(_ member: String, _ seconds: Double) throws {
    let answer = try answer(
      #"{"device_code": "d", "user_code": "u", "verification_uri": "https://a.example", "expires_in": \#(member)}"#)
    #expect(answer.seconds == seconds)
  }

  @Test func requestNamesTheGrantAndTheCode() {
    #expect(
      TokenGrant.deviceCode("d").pairs.map { "\($0.name)=\($0.value)" }
        == ["grant_type=urn:ietf:params:oauth:grant-type:device_code", "device_code=d"])
  }

  @Test(arguments: [
    (["authorization_pending"], true, 5), (["slow_down"], true, 10), (["slow_down", "slow_down"], true, 15),
    (["slow_down", "authorization_pending"], true, 10), (["access_denied"], false, 5), (["expired_token"], false, 5),
    (["invalid_grant"], false, 5),
  ])
  func refusalDecidesWhetherAndWhenToAskAgain(_ codes: [String], _ continues: Bool, _ interval: Int) {
    var polling = DevicePolling(seconds: 5)
    var last = true
    for code in codes { last = polling.continues(after: TokenRefusal(code: code)) }
    #expect(last == continues)
    #expect(polling.interval == .seconds(interval))
  }

  @Test func requestThatIsNotAnsweredDoublesTheInterval() {
    var polling = DevicePolling(seconds: 5)
    polling.backOff()
    #expect(polling.interval == .seconds(10))
  }

  @Test(arguments: [(0.0, 1), (-5, 1), (1e300, 3600)])
  func intervalIsBounded(_ seconds: Double, _ interval: Int) {
    #expect(DevicePolling(seconds: seconds).interval == .seconds(interval))
  }
}
