extension OnboardingInfoKey {
  /// The settings of Mobile Services, a `[String: Any]`, after ``SAPcpmsSettingsDownloadStep``.
  public static let sapcpmsSettings = Self("martlet.sapcpmsSettings")
  /// The settings of the last time, a `[String: Any]`; missing for a new user.
  public static let previousSAPcpmsSettings = Self("martlet.previousSAPcpmsSettings")
}

/// Downloads the app's settings of Mobile Services, and keeps them in the credential store.
///
/// For a user who returns without a network, it uses the settings of the last time. An app without settings (status
/// 404) has none. What ``transformer`` makes of the settings is in the context, too: a policy that cannot be read fails
/// the step.
open class SAPcpmsSettingsDownloadStep: OnboardingStep {
  /// Makes the settings into values of the context.
  public let transformer: any ConfigurationTransforming
  /// The key of the settings in the context.
  public var settingsInfoKey = OnboardingInfoKey.sapcpmsSettings
  /// The key of the settings of the last time in the context.
  public var previousSettingsInfoKey = OnboardingInfoKey.previousSAPcpmsSettings
  /// The key of the settings in the credential store.
  public var sapcpmsSettingsStoreKey = "martlet.sapcpmsSettings"
  /// What is shown during the download; nil, the default, for nothing.
  public var infoScreenText: String?

  /// Makes a step.
  ///
  /// - Parameter transformer: makes the settings into values of the context; a ``SettingsTransformer`` by default.
  ///   (SAP's initializer is not published.)
  public init(transformer: any ConfigurationTransforming = SettingsTransformer()) { self.transformer = transformer }

  open func onboard(context: OnboardingContext, completionHandler: @escaping @Sendable (OnboardingResult) -> Void) {
    download(context, usesStored: false, completionHandler)
  }

  open func restore(context: OnboardingContext, completionHandler: @escaping @Sendable (OnboardingResult) -> Void) {
    download(context, usesStored: true, completionHandler)
  }

  private func download(
    _ context: OnboardingContext, usesStored: Bool,
    _ completionHandler: @escaping @Sendable (OnboardingResult) -> Void
  ) {
    if let infoScreenText { context.presentationDelegate.setInfoText(infoScreenText) }
    let (key, previousKey, storeKey) = (settingsInfoKey, previousSettingsInfoKey, sapcpmsSettingsStoreKey)
    let transformer = UncheckedSendable(value: transformer)
    do {
      let parameters = try context.settings(source: "SAPcpmsSettingsDownloadStep")
      let stored = UncheckedSendable(
        value: try context.credentialStore.get(Data.self, for: storeKey).flatMap(Self.values))
      SAPcpmsSettings(sapURLSession: context.sapURLSession, settingsParameters: parameters)
        .loadSAPcpmsSettings { loaded, error in
          var context = context
          do {
            let settings = try Self.settings(loaded, error, or: usesStored ? stored.value : nil)
            context.info.merge(try transformer.value.transform(config: settings)) { $1 }
            let data = try JSONSerialization.data(withJSONObject: settings)
            try context.credentialStore.put(data, for: storeKey)
            context.info[key] = settings
            if let stored = stored.value { context.info[previousKey] = stored }
            completionHandler(.success(context))
          } catch { completionHandler(.failed(error)) }
        }
    } catch { completionHandler(.failed(error)) }
  }

  private static func settings(
    _ loaded: [String: Any]?, _ error: (any Error)?, or stored: [String: Any]?
  ) throws -> [String: Any] {
    if let loaded { return loaded }
    switch error {
    case SAPcpmsSettingsError.invalidHTTPStatus(statusCode: 404)?: return [:]
    case SAPcpmsSettingsError.network?:
      if let stored { return stored }
    default: break
    }
    throw error ?? SAPcpmsSettingsError.network
  }

  private static func values(_ data: Data) -> [String: Any]? {
    (try? JSONSerialization.jsonObject(with: data)) as? [String: Any]
  }
}

/// Downloads the app's destinations into the context's `SAPcpmsSettingsParameters`. A server that has no such service
/// (status 404) changes nothing, and neither does a missing network for a user who returns.
open class SAPcpmsDestinationsDownloadStep: OnboardingStep {
  /// The key of the settings' parameters in the context.
  public var settingsInfoKey = OnboardingInfoKey.sapcpmsSettingsParameters

  /// Makes a step.
  public init() {}

  open func onboard(context: OnboardingContext, completionHandler: @escaping @Sendable (OnboardingResult) -> Void) {
    download(context, needsServer: true, completionHandler)
  }

  open func restore(context: OnboardingContext, completionHandler: @escaping @Sendable (OnboardingResult) -> Void) {
    download(context, needsServer: false, completionHandler)
  }

  private func download(
    _ context: OnboardingContext, needsServer: Bool,
    _ completionHandler: @escaping @Sendable (OnboardingResult) -> Void
  ) {
    let key = settingsInfoKey
    do {
      let parameters: SAPcpmsSettingsParameters = try context.value(key, source: "SAPcpmsDestinationsDownloadStep")
      SAPcpmsDestinations(sapURLSession: context.sapURLSession, settingsParameters: parameters)
        .load(into: parameters) { loaded, error in
          var context = context
          switch error {
          case SAPURLError.client(let response, _)? where response.statusCode == 404: break
          case SAPURLError.requestFailed(let failure)? where !needsServer && failure.isWithoutNetwork: break
          case let error?: return completionHandler(.failed(error))
          case nil: context.info[key] = loaded ?? parameters
          }
          completionHandler(.success(context))
        }
    } catch { completionHandler(.failed(error)) }
  }
}

extension URLError {
  /// Whether the server could not be reached.
  var isWithoutNetwork: Bool {
    [
      .notConnectedToInternet, .cannotConnectToHost, .cannotFindHost, .networkConnectionLost, .dnsLookupFailed,
      .timedOut,
    ]
    .contains(code)
  }
}

// MARK: - Applying settings

/// Applies the settings for logs to `SAPcpmsLogUploader`. Without such settings it changes nothing.
open class SAPcpmsLogSettingsApplyStep: SimpleTaskStep {
  /// Makes a step.
  ///
  /// - Parameter infoKey: the key of the settings; ``OnboardingInfoKey/sapcpmsLogSettings`` by default.
  public convenience init(infoKey: OnboardingInfoKey = .sapcpmsLogSettings) {
    self.init(always: { context in
      guard let settings = context.info[infoKey] as? SAPcpmsLogSettings else { return }
      SAPcpmsLogUploader.apply(sapcpmsLogSettings: settings)
    })
  }
}

/// Applies the policy for devices without contact: an app that its server has not answered for some days is locked or
/// wiped. It also registers a `SAPcpmsLockAndWipeObserver`, if no step has.
///
/// The policy is `blockWipingPolicy` of the settings: `blockWipeEnabled`, and numbers of days in
/// `blockDisconnectedPeriod` and `wipeDisconnectedPeriod`; 0 is none. Days count from the last answer that neither
/// locks nor wipes. A wipe also tells `LockAndWipeManager.shared`: removing the data is the app's work.
open class SAPcpmsLockWipePolicyApplyStep: SimpleTaskStep {
  /// Makes a step.
  public convenience init() {
    self.init(always: { context in
      try context.registerLockAndWipe(source: "SAPcpmsLockWipePolicyApplyStep")
      let settings = context.info[.sapcpmsSettings] as? [String: Any]
      let policy: LockWipePolicy?
      do { policy = try LockWipePolicy(settings?["blockWipingPolicy"]) } catch {
        throw SAPcpmsLockWipePolicyError.internalError(error: error)
      }
      guard let policy else { return }
      let observers = context.sapURLSession.observers.compactMap { $0 as? SAPcpmsLockAndWipeObserver }
      switch policy.violation(lastContact: observers.first?.lastContact, now: Date()) {
      case .lock?: throw SAPcpmsLockWipePolicyError.lockDisconnectedPeriod
      case .wipe?:
        LockAndWipeManager.shared.Wipe()
        throw SAPcpmsLockWipePolicyError.wipeDisconnectedPeriod
      case nil: return
      }
    })
  }
}

/// The policy for devices without contact. A pure rule.
struct LockWipePolicy: Equatable, Sendable {
  /// The numbers of days; 0 for none.
  let lockDays, wipeDays: Int

  init(lockDays: Int, wipeDays: Int) { (self.lockDays, self.wipeDays) = (lockDays, wipeDays) }

  /// Reads the settings; nil if there is no policy, or if it is switched off.
  init?(_ settings: Any?) throws {
    guard let settings, !(settings is NSNull) else { return nil }
    guard let values = settings as? [String: Any], let isEnabled = SAPcpmsSettings.bool(values["blockWipeEnabled"])
    else { throw ConfigurationError.invalidSettings(name: "blockWipingPolicy") }
    guard isEnabled else { return nil }
    self.init(
      lockDays: SAPcpmsSettings.int(values["blockDisconnectedPeriod"]) ?? 0,
      wipeDays: SAPcpmsSettings.int(values["wipeDisconnectedPeriod"]) ?? 0)
  }

  enum Violation {
    case lock
    case wipe
  }

  /// Returns what has to happen to a device; nil if its last contact is recent enough, or unknown.
  func violation(lastContact: Date?, now: Date) -> Violation? {
    guard let lastContact else { return nil }
    let days = now.timeIntervalSince(lastContact) / 86_400
    if wipeDays > 0, days >= Double(wipeDays) { return .wipe }
    if lockDays > 0, days >= Double(lockDays) { return .lock }
    return nil
  }
}

/// The error of a device that had no contact for too long.
public enum SAPcpmsLockWipePolicyError: SAPError, Sendable {
  /// The policy cannot be applied.
  case internalError(error: any Error)
  /// The app is locked until the server answers again.
  case lockDisconnectedPeriod
  /// The app's data have to be removed.
  case wipeDisconnectedPeriod

  /// The problem.
  public var description: String {
    switch self {
    case .internalError(let error): "The policy for lock and wipe cannot be applied: \(error.localizedDescription)"
    case .lockDisconnectedPeriod: "The app is locked, because it had no contact to its server for too long."
    case .wipeDisconnectedPeriod: "The app's data have to be removed, because it had no contact for too long."
    }
  }

  /// The description.
  public var errorDescription: String? { description }
}
