/// What the steps of a flow hand on: the user's identifier, the session, the store of credentials, and values by key.
///
/// ```swift
/// var context = OnboardingContext(presentationDelegate: screens)
/// context.info[.authenticationURL] = backend.appending(path: "orders")
/// ```
///
/// The session is the same object through the whole flow: each step registers its observer there, so their order is
/// that of the steps.
///
/// SAFETY: only one step at a time has a context. The values in ``info`` and the objects are an app's own, and may be
/// used on any thread, as the documentation of ``OnboardingStep`` says.
public struct OnboardingContext: @unchecked Sendable {
  /// Identifies the user on this device. A new one for each onboarding.
  public var onboardingID: UUID
  /// The session, which gets the observers.
  public var sapURLSession: SAPURLSession
  /// Has tokens and passwords: in memory until ``StoreManagerStep`` has opened the encrypted store, to which they move.
  public var credentialStore: any CompositeCodableStoring
  /// The encrypted store of the user, once it is open. (The name is SAP's.)
  public var persistentStoreManger: any PersistentStoreManaging
  /// Values that steps leave to later ones.
  public var info: [OnboardingInfoKey: Any] = [:]
  /// Shows what the flow does, and answers its questions.
  public var presentationDelegate: any FlowPresentationDelegate

  /// Makes a context.
  ///
  /// - Parameters:
  ///   - onboardingID: identifies the user; a new one by default.
  ///   - sapURLSession: the session; one of the default configuration by default, which keeps cookies for the next run.
  ///   - credentialStore: stores tokens and passwords; in memory by default.
  ///   - presentationDelegate: shows what the flow does; by default one that shows nothing, and answers no question.
  public init(
    onboardingID: UUID = UUID(), sapURLSession: SAPURLSession = SAPURLSession(),
    credentialStore: any CompositeCodableStoring = CompositeStorage(),
    presentationDelegate: any FlowPresentationDelegate = SilentPresentation()
  ) {
    self.onboardingID = onboardingID
    self.sapURLSession = sapURLSession
    self.credentialStore = credentialStore
    self.presentationDelegate = presentationDelegate
    persistentStoreManger = PersistentStoreManager()
  }
}

extension OnboardingContext: CustomStringConvertible, CustomReflectable {
  /// The identifier and the keys of ``info``, without values, which may be secrets.
  public var description: String {
    "onboarding \(onboardingID) with \(info.keys.map(\.rawValue).sorted().joined(separator: ", "))"
  }

  /// The description alone.
  public var customMirror: Mirror { Mirror(self, children: ["context": description]) }
}

/// The name of a value in ``OnboardingContext/info``. An app adds its own in an extension.
///
/// ```swift
/// extension OnboardingInfoKey {
///   static let tenant = OnboardingInfoKey("com.example.tenant")
/// }
/// ```
///
/// SAP publishes the names of some keys, and no raw values: those here are this module's own.
public struct OnboardingInfoKey: RawRepresentable, Sendable, Hashable {
  /// The text.
  public let rawValue: String

  /// Makes a key.
  public init(rawValue: String) { self.rawValue = rawValue }

  /// Makes a key.
  public init(_ rawValue: String) { self.init(rawValue: rawValue) }

  /// The `URL` with which an authentication step signs the user in: a GET of it asks for authentication.
  public static let authenticationURL = Self("martlet.authenticationURL")
  /// The app's `SAPcpmsSettingsParameters`.
  public static let sapcpmsSettingsParameters = Self("martlet.sapcpmsSettingsParameters")
}

extension OnboardingInfoKey: CustomStringConvertible, CustomDebugStringConvertible {
  /// The text.
  public var description: String { rawValue }

  /// The type and the text.
  public var debugDescription: String { "OnboardingInfoKey(\(rawValue))" }
}

/// Gives access to the encrypted store of the user. (SAP publishes the name, and not the members.)
public protocol PersistentStoreManaging: AnyObject {
  /// The store; nil while it is closed.
  var store: SecureKeyValueStore? { get }
}

/// The store that ``StoreManagerStep`` has opened.
final class PersistentStoreManager: PersistentStoreManaging, Sendable {
  private let opened = Locked<UncheckedSendable<SecureKeyValueStore>?>(nil)

  var store: SecureKeyValueStore? { opened.value?.value }

  func set(_ store: SecureKeyValueStore?) { _ = opened.replace(by: store.map { UncheckedSendable(value: $0) }) }
}

/// What an app is doing, for its screens.
@nonexhaustive public enum PresentationState: Sendable, Hashable {
  /// No flow is running.
  case general
  /// A new user onboards.
  case onboarding
  /// A user who has onboarded returns.
  case restoring
}

/// Shows what a flow does. It may be used on any thread.
///
/// In SAP's framework it also shows view controllers. There are none here: steps that need a decision ask the delegate
/// if it conforms to ``WelcomeDeciding``, ``ConsentDeciding`` or ``PasscodeDeciding``; steps that sign in do so if it
/// is a `BasicCredentialDiscovery`, `LoginPagePresenting`, `CookiePagePresenting` or `OTPAuthentication`.
public protocol FlowPresentationDelegate: AnyObject, InfoTextSettable {
  /// Whether a flow is running, and which. A flow sets it.
  var state: PresentationState { get set }
}

/// Shows what a flow does. Splash screens of generated apps conform to it.
public protocol InfoTextSettable {
  /// Shows what is being done.
  func setInfoText(_ text: String)
}

/// Shows nothing, and answers no question: steps that need a decision fail.
public final class SilentPresentation: FlowPresentationDelegate, Sendable {
  private let current = Locked(PresentationState.general)

  /// Makes a delegate.
  public init() {}

  public var state: PresentationState {
    get { current.value }
    set { _ = current.replace(by: newValue) }
  }

  public func setInfoText(_ text: String) {}
}
