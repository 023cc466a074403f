import Foundation
@_spi(Credentials) import MartletSemantics
import Testing

@testable import MartletSignIn

/// What well-known providers answer to a device. Values are shortened. Each row names the provider and the public
/// document that shows the answer.
@Suite struct ProviderDeviceTests {
  struct Device: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let body: String
    let seconds: Double
    let interval: Double
  }

  static let devices = [
    Device(
      testDescription: "GitHub, Authorizing OAuth apps",
      body: """
        {"device_code":"3584","user_code":"WDJB-MJHT","verification_uri":"https://github.com/login/device",
         "expires_in":900,"interval":5}
        """, seconds: 900, interval: 5),
    Device(
      testDescription: "Azure AD v1, Device code flow",
      body: """
        {"user_code":"FJWL","device_code":"FAQA","verification_url":"https://microsoft.com/devicelogin",
         "expires_in":"900","interval":"5","message":"To sign in, use a web browser …"}
        """, seconds: 900, interval: 5),
    Device(
      testDescription: "Google, OAuth 2.0 for TV and Limited-Input Device Applications",
      body: """
        {"device_code":"4/4-Gm","expires_in":1800,"interval":7,"user_code":"GQVQ",
         "verification_url":"https://www.google.com/device"}
        """, seconds: 1800, interval: 7),
    Device(
      testDescription: "Salesforce, OAuth 2.0 Device Flow for IoT Integration",
      body: """
        {"device_code":"M1JV","user_code":"EW4K","verification_uri":"https://login.example/setup/connect","interval":5}
        """, seconds: 1800, interval: 5),
    Device(
      testDescription: "Twitch, Device code grant flow",
      body: """
        {"device_code":"ike3","expires_in":1800,"interval":5,"user_code":"ABCD",
         "verification_uri":"https://www.twitch.tv/activate?device-code=ABCD"}
        """, seconds: 1800, interval: 5),
  ]

  @Test(arguments: devices) func codeOfADeviceIsRead(_ row: Device) throws {
    #expect(TokenRefusal(.ok, Data(row.body.utf8)) == nil, "a message alone is no refusal")
    let answer = try JSONDecoder().decode(DeviceAuthorizationAnswer.self, from: Data(row.body.utf8))
    #expect(answer.seconds == row.seconds && answer.interval == row.interval)
  }

  /// While the user has not logged in.
  @Test(arguments: [
    (200, #"{"error":"authorization_pending","error_description":"…"}"#),  // GitHub, Authorizing OAuth apps
    (428, #"{"error":"authorization_pending","error_description":"Precondition Required"}"#),  // Google, the same
    (403, #"{"error":"slow_down","error_description":"Forbidden"}"#),  // Google, the same
    (403, #"{"error":"authorization_pending","error_description":"…"}"#),  // Auth0, Device Authorization Flow
    (429, #"{"error":"slow_down","error_description":"…"}"#),  // Auth0, the same
    (400, #"{"status":400,"message":"authorization_pending"}"#),  // Twitch, Device code grant flow
    (400, #"{"error":"authorization_pending","error_codes":[70016]}"#),  // Microsoft, Device authorization grant flow
  ])
  func pollingContinues(_ status: Int, _ body: String) throws {
    let refusal = try #require(TokenRefusal(HTTPStatus(status), Data(body.utf8)))
    var polling = DevicePolling(seconds: 5)
    let continues = polling.continues(after: refusal)
    #expect(continues)
  }
}
