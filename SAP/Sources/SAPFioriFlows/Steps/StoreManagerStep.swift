extension OnboardingInfoKey {
  /// The ``PasscodePolicy`` of ``StoreManagerStep``: the one in the settings of Mobile Services, if there is one.
  public static let passcodePolicy = Self("martlet.passcodePolicy")
}

/// Opens the encrypted store of the user, and moves the credential store into it.
///
/// - Onboarding makes the store, whose file has the name of the `onboardingID`. If the server's settings have a
///   passcode policy, or else with ``defaultPasscodePolicy``, the user chooses a passcode. Without both, the store has
///   a random key, which is in a file that only the user can read.
/// - Restoring opens the store, with the passcode if it has one. Put the step first, because the steps after it find
///   their tokens there. Wrong passcodes are counted also over restarts of the program; when there were too many, the
///   store stays closed (``StoreManagerError/passcodeRetryLimitReached``).
/// - A reset removes the file and its key.
///
/// The context's presentation delegate asks for passcodes: it has to conform to ``PasscodeDeciding``. If the program
/// ends during an onboarding, the store is removed when the next one begins.
open class StoreManagerStep: OnboardingStep {
  /// The policy if the server has none; nil for none, so that no passcode is needed. ``PasscodePolicy/init()`` by
  /// default.
  public var defaultPasscodePolicy: PasscodePolicy? = PasscodePolicy()
  /// Whether onboarding opens a store that exists, as restoring does; false by default: it is an error
  /// (``StoreManagerError/storeAlreadyExists(path:)``).
  public var runRestoreIfStoreExists = false
  let records: OnboardingRecords

  /// Makes a step.
  public init() { records = .shared }

  init(_ records: OnboardingRecords) { self.records = records }

  open func onboard(context: OnboardingContext, completionHandler: @escaping @Sendable (OnboardingResult) -> Void) {
    let policy = Self.policy(in: context, or: defaultPasscodePolicy)
    run(context, completionHandler) { [runRestoreIfStoreExists] records, questions in
      let store = UserStore(context, records)
      if runRestoreIfStoreExists, try store.exists {
        try await store.open(questions)
      } else {
        try await store.make(policy, questions)
      }
    }
  }

  open func restore(context: OnboardingContext, completionHandler: @escaping @Sendable (OnboardingResult) -> Void) {
    run(context, completionHandler) { try await UserStore(context, $0).open($1) }
  }

  open func background(
    context: OnboardingContext, completionHandler: @escaping @Sendable (OnboardingResult) -> Void
  ) {
    run(context, completionHandler) { records, _ in try await UserStore(context, records).open(nil) }
  }

  open func resetPasscode(
    context: OnboardingContext, completionHandler: @escaping @Sendable (OnboardingResult) -> Void
  ) {
    let policy = Self.policy(in: context, or: defaultPasscodePolicy)
    run(context, completionHandler) { try await UserStore(context, $0).replacePasscode(policy, $1) }
  }

  open func reset(context: OnboardingContext, completionHandler: @escaping @Sendable () -> Void) {
    let store = UserStore(context, records)
    store.remove()
    completionHandler()
  }

  /// Does the work with the object that asks for passcodes, if there is one.
  private func run(
    _ context: OnboardingContext, _ completionHandler: @escaping @Sendable (OnboardingResult) -> Void,
    _ work: @escaping @Sendable (OnboardingRecords, PasscodeQuestions?) async throws -> Void
  ) {
    let calls = ForeignCalls()
    let questions = (context.presentationDelegate as? any PasscodeDeciding).map { PasscodeQuestions($0, calls) }
    Task { [records] in
      do {
        try await work(records, questions)
        calls.perform { completionHandler(.success(context)) }
      } catch { calls.perform { completionHandler(.failed(error)) } }
    }
  }

  static func policy(in context: OnboardingContext, or defaultPolicy: PasscodePolicy?) -> PasscodePolicy? {
    context.info[.passcodePolicy] as? PasscodePolicy ?? defaultPolicy
  }
}

extension StoreManagerStep: FinishingStep {
  func finish(_ context: OnboardingContext) { try? records.set(nil, .unfinished, of: context.onboardingID) }
}

/// Applies the passcode policy of the server to a user who returns: if it has changed, or if the passcode is too old,
/// the user chooses a new one.
///
/// A user without a passcode is asked for one as soon as the policy needs one. If the policy is switched off, the
/// passcode stays.
open class PasscodePolicyApplyStep: OnboardingStep {
  /// The policy if the server has none; nil for none. ``PasscodePolicy/init()`` by default.
  public var defaultPasscodePolicy: PasscodePolicy? = PasscodePolicy()
  private let records: OnboardingRecords
  private let now: @Sendable () -> Date

  /// Makes a step.
  public init() { (records, now) = (.shared, { Date() }) }

  init(_ records: OnboardingRecords, now: @escaping @Sendable () -> Date = { Date() }) {
    (self.records, self.now) = (records, now)
  }

  open func onboard(context: OnboardingContext, completionHandler: @escaping @Sendable (OnboardingResult) -> Void) {
    completionHandler(.success(context))
  }

  open func restore(context: OnboardingContext, completionHandler: @escaping @Sendable (OnboardingResult) -> Void) {
    let policy = StoreManagerStep.policy(in: context, or: defaultPasscodePolicy)
    let store = UserStore(context, records)
    guard let policy, context.persistentStoreManger.store != nil,
      store.policy != policy || policy.hasExpired(chosen: store.passcodeDate, now: now())
    else { return completionHandler(.success(context)) }
    let calls = ForeignCalls()
    let questions = (context.presentationDelegate as? any PasscodeDeciding).map { PasscodeQuestions($0, calls) }
    Task {
      do {
        try await store.replacePasscode(policy, questions)
        calls.perform { completionHandler(.success(context)) }
      } catch { calls.perform { completionHandler(.failed(error)) } }
    }
  }
}

/// The error of a store with a passcode. (SAP publishes these cases.)
public enum StoreManagerError: SAPError, Sendable, Hashable {
  /// Too many wrong passcodes were entered: the user has to be reset.
  case passcodeRetryLimitReached
  /// The user has forgotten the passcode.
  case resetPasscode
  /// The user wants no passcode, which the policy does not allow.
  case skipPasscodeSetup
  /// The user gave up.
  case cancelPasscodeEntry
  /// The passcode was not changed.
  case passcodeChangeFailed
  /// A passcode was needed for a store without one, or the other way round.
  case invalidPasscodeAction
  /// There is already a store of this user.
  case storeAlreadyExists(path: String)
  /// There is no store of this user.
  case storeDoesntExist(path: String)
  /// The store cannot be made. The log has the reason.
  case failedToCreateStore
  /// The store cannot be opened. The log has the reason.
  case failedToOpenStore
  /// Another user wants to begin.
  case addNewUser
  /// Another user wants to return.
  case switchUser(to: UUID)
  /// The passcode was used before. Never thrown by this module.
  case passcodeReuseNotAllowed(value: Int)

  /// The problem, and the remedy if there is one.
  public var description: String {
    switch self {
    case .passcodeRetryLimitReached: "Too many wrong passcodes were entered: the user has to be reset."
    case .resetPasscode: "The passcode was forgotten: the user has to be reset."
    case .skipPasscodeSetup: "The app needs a passcode."
    case .cancelPasscodeEntry: "No passcode was entered."
    case .passcodeChangeFailed: "The passcode was not changed."
    case .invalidPasscodeAction: "The store of the user has no passcode."
    case .storeAlreadyExists(let path): "There is already a store at \(path)."
    case .storeDoesntExist(let path): "There is no store at \(path): the user has to onboard again."
    case .failedToCreateStore: "The store of the user cannot be made."
    case .failedToOpenStore: "The store of the user cannot be opened."
    case .addNewUser: "Another user wants to begin."
    case .switchUser: "Another user wants to return."
    case .passcodeReuseNotAllowed: "The passcode was used before."
    }
  }

  /// The description.
  public var errorDescription: String? { description }
}
