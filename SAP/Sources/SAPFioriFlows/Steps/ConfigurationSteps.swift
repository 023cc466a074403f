// Steps that register an observer with the session, in the order of the steps.

/// The lists of steps that generated apps put into their flows.
///
/// ```swift
/// let steps: [any OnboardingStep] = [
///   CompositeStep(steps: SAPcpmsDefaultSteps.configuration), BasicAuthenticationStep(),
///   CompositeStep(steps: SAPcpmsDefaultSteps.settingsDownload),
/// ]
/// ```
///
/// The order is SAP's. Each call makes new steps. SAP's lists also have a step for the usage policy, which configures a
/// collector of usage data. That is not here: the policy itself is in the context
/// (``OnboardingInfoKey/sapcpmsUsagePolicy``).
public enum SAPcpmsDefaultSteps {
  /// The observers: app and device, correlation, language, passport, application version, CSRF tokens.
  public static var configuration: [any OnboardingStep] {
    [
      SAPcpmsSessionConfigurationStep(), SAPcpmsCorrelationConfigurationStep(), LanguageObserverConfigurationStep(),
      SAPPassportObserverConfigurationStep(), ApplicationVersionStep(), SAPcpmsCSRFTokenConfigurationStep(),
    ]
  }

  /// The downloads: settings, then destinations.
  public static var settingsDownload: [any OnboardingStep] {
    [SAPcpmsSettingsDownloadStep(), SAPcpmsDestinationsDownloadStep()]
  }

  /// What applies the settings for a new user: logs, lock and wipe. ``StoreManagerStep`` applies the passcode policy.
  public static var applyDuringOnboard: [any OnboardingStep] {
    [SAPcpmsLogSettingsApplyStep(), SAPcpmsLockWipePolicyApplyStep()]
  }

  /// What applies the settings for a user who returns: logs, passcode, lock and wipe.
  public static var applyDuringRestore: [any OnboardingStep] {
    [SAPcpmsLogSettingsApplyStep(), PasscodePolicyApplyStep(), SAPcpmsLockWipePolicyApplyStep()]
  }
}

/// Registers a `SAPcpmsObserver`: identifies app and device to Mobile Services.
open class SAPcpmsSessionConfigurationStep: SimpleTaskStep {
  /// Makes a step.
  ///
  /// - Parameter infoKey: the key of the settings; ``OnboardingInfoKey/sapcpmsSettingsParameters`` by default.
  public convenience init(infoKey: OnboardingInfoKey = .sapcpmsSettingsParameters) {
    self.init(always: { context in
      let settings: SAPcpmsSettingsParameters = try context.value(infoKey, source: "SAPcpmsSessionConfigurationStep")
      context.sapURLSession.register(SAPcpmsObserver(settingsParameters: settings))
    })
  }
}

/// Registers a `CorrelationObserver`.
open class SAPcpmsCorrelationConfigurationStep: SimpleTaskStep {
  /// Makes a step.
  public convenience init() { self.init(always: { $0.sapURLSession.register(CorrelationObserver()) }) }
}

/// Registers a `LanguageObserver`.
open class LanguageObserverConfigurationStep: SimpleTaskStep {
  /// Makes a step.
  public convenience init() { self.init(always: { $0.sapURLSession.register(LanguageObserver()) }) }
}

/// Registers a `SAPPassportObserver`.
open class SAPPassportObserverConfigurationStep: SimpleTaskStep {
  /// Makes a step.
  public convenience init() { self.init(always: { $0.sapURLSession.register(SAPPassportObserver()) }) }
}

/// Registers an `ApplicationVersionObserver`: requests fail if the app's version was switched off.
open class ApplicationVersionStep: SimpleTaskStep {
  /// Makes a step.
  public convenience init() { self.init(always: { $0.sapURLSession.register(ApplicationVersionObserver()) }) }
}

/// Registers a `CSRFTokenObserver` for the ``OnboardingInfoKey/authenticationURL``, or else for the backend.
open class SAPcpmsCSRFTokenConfigurationStep: SimpleTaskStep {
  /// Makes a step.
  public convenience init() {
    self.init(always: { context in
      let url: URL
      if let authentication = context.info[.authenticationURL] as? URL {
        url = authentication
      } else {
        url = try context.settings(source: "SAPcpmsCSRFTokenConfigurationStep").backendURL
      }
      context.sapURLSession.register(CSRFTokenObserver(rootUrl: url))
    })
  }
}

/// Registers a `SAPcpmsUserBlockedObserver`.
open class SAPcpmsUserBlockedConfigurationStep: SimpleTaskStep {
  /// Makes a step.
  ///
  /// - Parameter userBlockedHandler: called when the user is blocked.
  public convenience init(userBlockedHandler: @escaping @Sendable (SAPcpmsUserBlockedError) -> Void) {
    self.init(always: {
      $0.sapURLSession.register(SAPcpmsUserBlockedObserver(userBlockedHandler: userBlockedHandler))
    })
  }
}

/// Registers a `SAPcpmsLockAndWipeObserver` for the backend: requests fail if an administrator has locked or wiped the
/// app. It keeps the date of the last contact in the credential store.
open class SAPcpmsUserLockAndWipeConfigurationStep: SimpleTaskStep {
  /// Makes a step.
  public convenience init() {
    self.init(always: { try $0.registerLockAndWipe(source: "SAPcpmsUserLockAndWipeConfigurationStep") })
  }
}

/// Registers an `OTPObserver`, which lets the user enter one-time codes. Put it before the step that signs in.
open class OTPSessionConfigurationStep: SimpleTaskStep {
  /// Makes a step whose page the context's presentation delegate shows: it has to be an `OTPAuthentication`.
  public convenience init() { self.init(page: nil) }

  /// Makes a step.
  ///
  /// - Parameter presenter: shows the page for the code.
  public convenience init(presenter: any OTPAuthentication) { self.init(page: presenter) }

  private convenience init(page: (any OTPAuthentication)?) {
    let given = UncheckedSendable(value: page)
    self.init(always: { context in
      let page = try given.value ?? context.delegate("OTPAuthentication", for: "OTPSessionConfigurationStep")
      context.sapURLSession.register(OTPObserver(authenticator: page))
    })
  }
}

extension OnboardingContext {
  /// Returns a value of ``info``.
  ///
  /// - Throws: ``OnboardingError`` if it is missing, or has another type.
  func value<Value>(_ key: OnboardingInfoKey, source: String) throws -> Value {
    guard let stored = info[key] else { throw OnboardingError.missingArgument(key.rawValue, source: source) }
    guard let value = stored as? Value else {
      throw OnboardingError.invalidArgument(key.rawValue, "\(type(of: stored))", source: source)
    }
    return value
  }

  func settings(source: String) throws -> SAPcpmsSettingsParameters {
    try value(.sapcpmsSettingsParameters, source: source)
  }

  /// Returns the presentation delegate as a type that a step needs.
  func delegate<Needed>(_ name: String, for step: String) throws -> Needed {
    guard let delegate = presentationDelegate as? Needed else {
      throw OnboardingFlowError.noDecision(step: step, needs: name)
    }
    return delegate
  }

  /// Registers an observer for locks and wipes, unless there is one.
  func registerLockAndWipe(source: String) throws {
    guard !sapURLSession.observers.contains(where: { $0 is SAPcpmsLockAndWipeObserver }) else { return }
    let backend = try settings(source: source).backendURL
    sapURLSession.register(SAPcpmsLockAndWipeObserver(store: credentialStore, backend: backend))
  }
}
