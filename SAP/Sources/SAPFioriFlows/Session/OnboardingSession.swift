/// The session of a user who has onboarded. An app may add properties in a subclass.
///
/// ```swift
/// final class ApplicationSession: OnboardingSession {
///   let catalog: URL?
///
///   required init(flow: OnboardingFlow) {
///     let settings = flow.context.info[.sapcpmsSettingsParameters] as? SAPcpmsSettingsParameters
///     catalog = settings?.url(destination: "catalog")
///     super.init(flow: flow)
///   }
/// }
/// ```
///
/// The flow has the same step objects that ran, and the last context.
open class OnboardingSession {
  /// Identifies the user on this device.
  public let onboardingID: UUID
  /// The session, with the observers that sign the user in.
  public let sapURLSession: SAPURLSession
  /// Tokens and passwords; in the encrypted store if the flow had a ``StoreManagerStep``.
  public let credentialStore: any CompositeCodableStoring
  /// The app's Mobile Services; nil if it has none.
  open var settingsParameters: SAPcpmsSettingsParameters?

  /// Makes the session of a flow that has succeeded.
  public required init(flow: OnboardingFlow) {
    let context = flow.context
    (onboardingID, sapURLSession, credentialStore) =
      (context.onboardingID, context.sapURLSession, context.credentialStore)
    settingsParameters = context.info[.sapcpmsSettingsParameters] as? SAPcpmsSettingsParameters
  }

  /// Makes a session without a flow, for a ``SessionOpener``.
  public init(sapURLSession: SAPURLSession, settingsParameters: SAPcpmsSettingsParameters? = nil) {
    (onboardingID, self.sapURLSession, credentialStore) = (UUID(), sapURLSession, CompositeStorage())
    self.settingsParameters = settingsParameters
  }
}

// MARK: - Services with this session

extension SAPcpmsUserRoles {
  /// Makes a loader for the session of a user; nil if it has no settings.
  public convenience init?(_ onboardingSession: OnboardingSession) {
    guard let settings = onboardingSession.settingsParameters else { return nil }
    self.init(sapURLSession: onboardingSession.sapURLSession, settingsParameters: settings)
  }
}

extension SAPcpmsLogUploader {
  /// Uploads the lines with the session of a user. Without settings, it fails with
  /// `SAPcpmsLogUploaderError.internalError`.
  public static func uploadLogs(
    _ onboardingSession: OnboardingSession,
    completionHandler: @escaping @Sendable ((any Error)?) -> Void = SAPcpmsLogUploader.defaultCompletionHandler
  ) {
    guard let settings = onboardingSession.settingsParameters else {
      return completionHandler(
        SAPcpmsLogUploaderError.internalError(error: FoundationExtensionError.missingSettingsParameters))
    }
    uploadLogs(
      sapURLSession: onboardingSession.sapURLSession, settingsParameters: settings,
      completionHandler: completionHandler)
  }
}

extension OnboardingSession {
  /// Registers the device for push notifications with this session. Without settings, it fails with
  /// `SAPcpmsRemoteNotificationError.invalidArguments`.
  public func registerDeviceToken(
    deviceToken: Data, withParameters parameters: SAPcpmsRemoteNotificationParameters = .init(),
    completionHandler: @escaping @Sendable ((any Error)?) -> Void
  ) {
    guard let settingsParameters else {
      let error = FoundationExtensionError.missingSettingsParameters
      return completionHandler(SAPcpmsRemoteNotificationError.invalidArguments(error: error))
    }
    SAPcpmsRemoteNotificationClient(sapURLSession: sapURLSession, settingsParameters: settingsParameters)
      .registerDeviceToken(deviceToken, withParameters: parameters, completionHandler: completionHandler)
  }
}

/// Why a service cannot be used with an ``OnboardingSession``.
public enum FoundationExtensionError: SAPError, Sendable, Hashable {
  /// The service could not be made.
  case couldNotInit
  /// The session has no ``OnboardingSession/settingsParameters``.
  case missingSettingsParameters

  /// The problem.
  public var description: String {
    switch self {
    case .couldNotInit: "The service could not be made."
    case .missingSettingsParameters: "The session has no settings of Mobile Services."
    }
  }

  /// The description.
  public var errorDescription: String? { description }
}
