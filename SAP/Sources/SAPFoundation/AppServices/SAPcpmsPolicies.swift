// The parts of the settings of Mobile Services, whose numbers and Booleans are often texts.

extension SAPcpmsLogSettings {
  /// Reads `logSettings` of the settings that ``SAPcpmsSettings/loadSAPcpmsSettings(completionHandler:)`` loads; nil if
  /// there are none, or if they are switched off.
  ///
  /// - Parameter sapcpmsSettings: a `[String: Any]`.
  /// - Throws: ``ConfigurationError/invalidSettings(name:)`` if they are no dictionary, or have no `logLevel`.
  public init?(sapcpmsSettings: Any) throws {
    guard let values = try SettingsPart("logSettings", of: sapcpmsSettings) else { return nil }
    try self.init(values)
  }

  /// Reads `logSettings` themselves: `featureEnabled`, `logEnabled`, `logEntryExpiry`, `logLevel`, `logMaxFileNum` and
  /// `logMaxFileSize`. The result is nil if `featureEnabled` is false; older servers only have `logEnabled`.
  ///
  /// - Parameter sapcpmsLogSettings: a `[String: Any]`.
  /// - Throws: ``ConfigurationError/invalidSettings(name:)`` if they are no dictionary, or have no `logLevel`.
  public init?(sapcpmsLogSettings: Any) throws {
    try self.init(SettingsPart(name: "logSettings", sapcpmsLogSettings))
  }

  private init?(_ values: SettingsPart) throws {
    let isEnabled = values.bool("logEnabled")
    guard values.bool("featureEnabled") ?? isEnabled ?? true else { return nil }
    guard let level = values.values["logLevel"] as? String else {
      throw ConfigurationError.invalidSettings(name: "logLevel")
    }
    self.init(
      logUploadEnabled: isEnabled ?? true, entryExpiry: values.int("logEntryExpiry"), logLevel: level,
      maxFileNum: values.int("logMaxFileNum"), maxFileSize: values.int("logMaxFileSize"))
  }
}

/// What Mobile Services allows to collect about the use of an app. This module collects and uploads nothing: the policy
/// is for code of the app that does.
public struct SAPcpmsUsagePolicy: Codable, Sendable, Hashable {
  /// Whether data about the use of the app may be collected.
  public let dataCollectionEnabled: Bool
  /// The number of days after which collected data are to be uploaded.
  public let uploadDataAfterDays: Int
  /// Whether reports of crashes are to be uploaded.
  public let crashLogUploadEnabled: Bool

  /// Makes a policy; by default one that allows nothing.
  public init(dataCollectionEnabled: Bool = false, uploadDataAfterDays: Int = 0, crashLogUploadEnabled: Bool = false) {
    self.dataCollectionEnabled = dataCollectionEnabled
    self.uploadDataAfterDays = uploadDataAfterDays
    self.crashLogUploadEnabled = crashLogUploadEnabled
  }

  /// Reads `usagePolicy` of the settings that ``SAPcpmsSettings/loadSAPcpmsSettings(completionHandler:)`` loads; nil if
  /// there is none, or if `dataCollectionEnabled` is false.
  ///
  /// - Parameter sapcpmsSettings: a `[String: Any]`.
  /// - Throws: ``ConfigurationError/invalidSettings(name:)`` if they are no dictionary.
  public init?(sapcpmsSettings: Any) throws {
    guard let values = try SettingsPart("usagePolicy", of: sapcpmsSettings),
      values.bool("dataCollectionEnabled") == true
    else { return nil }
    self.init(
      dataCollectionEnabled: true, uploadDataAfterDays: values.int("uploadDataAfterDays"),
      crashLogUploadEnabled: values.bool("crashLogUploadEnabled") ?? false)
  }
}

/// A dictionary within the settings.
private struct SettingsPart {
  let values: [String: Any]

  init(name: String, _ value: Any) throws {
    guard let values = value as? [String: Any] else { throw ConfigurationError.invalidSettings(name: name) }
    self.values = values
  }

  /// Finds a part in the settings of Mobile Services, or in the tree that has them below
  /// `mobileservices/settingsExchange`; nil if there is none.
  init?(_ name: String, of settings: Any) throws {
    var tree = try SettingsPart(name: "settings", settings).values
    for level in ["mobileservices", "settingsExchange"] { tree = tree[level] as? [String: Any] ?? tree }
    guard let value = tree[name], !(value is NSNull) else { return nil }
    try self.init(name: name, value)
  }

  func bool(_ name: String) -> Bool? { SAPcpmsSettings.bool(values[name]) }

  func int(_ name: String) -> Int { SAPcpmsSettings.int(values[name]) ?? 0 }
}
