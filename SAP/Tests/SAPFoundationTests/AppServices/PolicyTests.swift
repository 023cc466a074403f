import Foundation
import SAPFoundation
import Testing

/// The parts of the settings of Mobile Services, in the published forms.
@Suite("The policies of the server") struct PolicyTests {
  private func settings(_ json: String) throws -> Any { try JSONSerialization.jsonObject(with: Data(json.utf8)) }

  @Test(
    arguments: [
      ("{}", nil), (#"{"logSettings": null}"#, nil),
      (#"{"logSettings": {"featureEnabled": "false", "logEnabled": "true", "logLevel": "INFO"}}"#, nil),
      (#"{"logSettings": {"logEnabled": "false", "logLevel": "INFO"}}"#, nil),
      (
        #"{"logSettings": {"featureEnabled": "true", "logEnabled": "false", "logLevel": "INFO"}}"#,
        SAPcpmsLogSettings(logUploadEnabled: false, logLevel: "INFO", maxFileSize: 0)
      ),
      (
        """
        {"mobileservices": {"settingsExchange": {"logSettings": {"featureEnabled": true, "logEnabled": "true",
         "logEntryExpiry": "7", "logLevel": "NONE", "logMaxFileNum": 3, "logMaxFileSize": "2"}}}}
        """, SAPcpmsLogSettings(entryExpiry: 7, logLevel: "NONE", maxFileNum: 3, maxFileSize: 2)
      ),
    ] as [(String, SAPcpmsLogSettings?)])
  func logs(json: String, expected: SAPcpmsLogSettings?) throws {
    #expect(try SAPcpmsLogSettings(sapcpmsSettings: try settings(json)) == expected)
  }

  @Test func logsAlone() throws {
    #expect(try SAPcpmsLogSettings(sapcpmsLogSettings: ["logLevel": "WARN"])?.logLevel == "WARN")
  }

  @Test(
    arguments: [
      ("{}", nil), (#"{"usagePolicy": {"dataCollectionEnabled": "false", "uploadDataAfterDays": "1"}}"#, nil),
      (
        #"{"usagePolicy": {"dataCollectionEnabled": "true", "uploadDataAfterDays": "1", "crashLogUploadEnabled": true}}"#,
        SAPcpmsUsagePolicy(dataCollectionEnabled: true, uploadDataAfterDays: 1, crashLogUploadEnabled: true)
      ),
    ] as [(String, SAPcpmsUsagePolicy?)])
  func usage(json: String, expected: SAPcpmsUsagePolicy?) throws {
    #expect(try SAPcpmsUsagePolicy(sapcpmsSettings: try settings(json)) == expected)
  }

  @Test(
    arguments: [
      ("[]", "settings"), (#"{"logSettings": "on"}"#, "logSettings"), (#"{"logSettings": {}}"#, "logLevel"),
      (#"{"usagePolicy": 1}"#, "usagePolicy"),
    ])
  func whatCannotBeReadIsNamed(json: String, name: String) throws {
    let settings = UncheckedSettings(value: try settings(json))
    #expect(throws: ConfigurationError.invalidSettings(name: name)) {
      _ = try SAPcpmsLogSettings(sapcpmsSettings: settings.value)
      _ = try SAPcpmsUsagePolicy(sapcpmsSettings: settings.value)
    }
  }

  // SAFETY: nobody changes the value.
  private struct UncheckedSettings: @unchecked Sendable { let value: Any }
}
