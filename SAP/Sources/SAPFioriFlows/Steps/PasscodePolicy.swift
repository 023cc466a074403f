/// What a passcode has to be like. A pure rule.
///
/// The default has this module's own values: at least 8 characters, ten attempts. (SAP's type is part of its user
/// interface, and its values are not published.)
public struct PasscodePolicy: Codable, Sendable, Hashable {
  /// The minimum number of characters; 8 by default.
  public var minimumLength = 8
  /// The minimum number of different characters; 0, the default, for any.
  public var minimumUniqueCharacters = 0
  /// Whether there has to be a digit; false by default.
  public var requiresDigit = false
  /// Whether there has to be a lower-case letter; false by default.
  public var requiresLowercase = false
  /// Whether there has to be an upper-case letter; false by default.
  public var requiresUppercase = false
  /// Whether there has to be a character that is neither letter nor digit; false by default.
  public var requiresSpecial = false
  /// Whether all characters have to be digits; false by default.
  public var isDigitsOnly = false
  /// The number of wrong passcodes in a row after which the user has to be reset; 10 by default, 0 for any number.
  public var retryLimit = 10
  /// Whether the user may do without a passcode; false by default.
  public var isSkippable = false
  /// The number of days after which the user has to choose a new passcode; 0, the default, for never.
  public var expiryDays = 0
  /// The number of seconds after which the server wants an app that is not used to be locked; nil, the default, for
  /// any number. Calling ``OnboardingSessionManager/lock(completionHandler:)`` is the app's work.
  public var lockTimeout: Int?

  /// Makes the default policy.
  public init() {}

  /// Reads `passwordPolicy` of the settings of Mobile Services; nil if there is none, or if it is switched off. Its
  /// numbers and Booleans may be texts.
  ///
  /// - Throws: `ConfigurationError.invalidSettings(name:)` if it is no dictionary, or does not say whether it is
  ///   switched on: a policy is not passed over because it cannot be read.
  public init?(settings: [String: Any]) throws {
    guard let policy = settings["passwordPolicy"], !(policy is NSNull) else { return nil }
    guard let values = policy as? [String: Any] else {
      throw ConfigurationError.invalidSettings(name: "passwordPolicy")
    }
    func bool(_ name: String) -> Bool? { SAPcpmsSettings.bool(values["passwordPolicy" + name]) }
    func int(_ name: String) -> Int? { SAPcpmsSettings.int(values["passwordPolicy" + name]) }
    guard let isEnabled = bool("Enabled") else {
      throw ConfigurationError.invalidSettings(name: "passwordPolicyEnabled")
    }
    guard isEnabled else { return nil }
    minimumLength = int("MinLength") ?? minimumLength
    minimumUniqueCharacters = int("MinUniqueChars") ?? 0
    requiresDigit = bool("DigitRequired") ?? false
    requiresLowercase = bool("LowerRequired") ?? false
    requiresUppercase = bool("UpperRequired") ?? false
    requiresSpecial = bool("SpecialRequired") ?? false
    retryLimit = int("RetryLimit") ?? retryLimit
    isSkippable = bool("DefaultPasswordAllowed") ?? false
    expiryDays = int("ExpiresInNDays") ?? 0
    lockTimeout = int("LockTimeout")
  }

  /// A requirement that a passcode does not meet.
  @nonexhaustive public enum Violation: Sendable, Hashable {
    /// It is too short.
    case length(minimum: Int)
    /// It has too few different characters.
    case uniqueCharacters(minimum: Int)
    /// It has no digit.
    case digit
    /// It has no lower-case letter.
    case lowercase
    /// It has no upper-case letter.
    case uppercase
    /// It has only letters and digits.
    case special
    /// It has other characters than digits.
    case digitsOnly
  }

  /// Returns what a passcode does not meet; nothing if it may be used. An empty one never may.
  public func violations(of passcode: String) -> [Violation] {
    var violations: [Violation] = []
    let minimum = max(1, minimumLength)
    if passcode.count < minimum { violations.append(.length(minimum: minimum)) }
    if Set(passcode).count < minimumUniqueCharacters {
      violations.append(.uniqueCharacters(minimum: minimumUniqueCharacters))
    }
    if isDigitsOnly {
      return passcode.allSatisfy(\.isASCIIDigit) ? violations : violations + [.digitsOnly]
    }
    if requiresDigit, !passcode.contains(where: \.isASCIIDigit) { violations.append(.digit) }
    if requiresLowercase, !passcode.contains(where: \.isLowercase) { violations.append(.lowercase) }
    if requiresUppercase, !passcode.contains(where: \.isUppercase) { violations.append(.uppercase) }
    if requiresSpecial, passcode.allSatisfy({ $0.isLetter || $0.isNumber }) { violations.append(.special) }
    return violations
  }
}

extension PasscodePolicy {
  /// Whether a passcode has to be replaced. One of an unknown age has to be.
  func hasExpired(chosen: Date?, now: Date) -> Bool {
    guard expiryDays > 0 else { return false }
    return chosen.map { now.timeIntervalSince($0) >= Double(expiryDays) * 86_400 } ?? true
  }
}

extension Character {
  fileprivate var isASCIIDigit: Bool { ("0"..."9").contains(self) }
}

/// Chooses and enters passcodes, in place of SAP's screens. A ``FlowPresentationDelegate`` conforms to it.
public protocol PasscodeDeciding: AnyObject {
  /// Lets the user choose a passcode. It is called again if the passcode does not meet the policy.
  ///
  /// - Parameters:
  ///   - policy: what the passcode has to be like.
  ///   - violations: what the last one did not meet; empty at first.
  ///   - completionHandler: to be called once.
  func choosePasscode(
    for policy: PasscodePolicy, violations: [PasscodePolicy.Violation],
    completionHandler: @escaping @Sendable (PasscodeDecision) -> Void)

  /// Lets the user enter the passcode. It is called again if the passcode is wrong.
  ///
  /// - Parameters:
  ///   - attemptsLeft: how often a wrong passcode may still be entered; nil for any number.
  ///   - completionHandler: to be called once.
  func enterPasscode(attemptsLeft: Int?, completionHandler: @escaping @Sendable (PasscodeDecision) -> Void)
}

/// What a user does who is asked for a passcode.
public enum PasscodeDecision: Sendable {
  /// The user has entered this one.
  case passcode(String)
  /// The user wants none: ``StoreManagerError/skipPasscodeSetup``, unless the policy allows that.
  case skip
  /// The user has forgotten it: ``StoreManagerError/resetPasscode``.
  case reset
  /// The user gives up: ``StoreManagerError/cancelPasscodeEntry``.
  case cancel
  /// Another user wants to begin: ``StoreManagerError/addNewUser``.
  case addNewUser
  /// Another user wants to return: ``StoreManagerError/switchUser(to:)``.
  case switchUser(to: UUID)
}

extension PasscodeDecision: CustomStringConvertible, CustomReflectable {
  /// The decision, without the passcode.
  public var description: String {
    switch self {
    case .passcode: "a passcode"
    case .skip: "skip"
    case .reset: "reset"
    case .cancel: "cancel"
    case .addNewUser: "another user begins"
    case .switchUser: "another user returns"
    }
  }

  /// The description alone.
  public var customMirror: Mirror { Mirror(self, children: ["decision": description]) }
}
