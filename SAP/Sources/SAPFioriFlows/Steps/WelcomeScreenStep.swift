/// Shows the welcome screen, and loads the app's configuration into the context.
///
/// ```swift
/// let transformer = DiscoveryServiceConfigurationTransformer(
///   applicationID: "com.example.shop", authenticationPath: "orders")
/// let step = WelcomeScreenStep(transformer: transformer, providers: [FileConfigurationProvider()])
/// step.welcomeScreenCustomizationHandler = { $0.headlineLabel.text = "Shop" }
/// ```
///
/// A new user decides to begin: the context's presentation delegate asks, and has to conform to ``WelcomeDeciding``.
/// The configuration is that of the first provider that has one. It is kept in the credential store, for a user who
/// returns when no provider has one. Such a user is not asked.
open class WelcomeScreenStep: OnboardingStep {
  /// Makes the configuration into values of the context.
  public let transformer: any ConfigurationTransforming
  /// Provide the configuration, in the order in which they are asked.
  public let providers: [any ConfigurationProviding]
  /// Changes the texts of the screen; nil, the default, for none.
  public var welcomeScreenCustomizationHandler: ((any WelcomeStepUI) -> Void)?

  /// Makes a step.
  ///
  /// - Parameters:
  ///   - transformer: makes the configuration into values of the context.
  ///   - providers: provide the configuration; by default the file `ConfigurationProvider.plist`.
  public init(
    transformer: any ConfigurationTransforming, providers: [any ConfigurationProviding] = [FileConfigurationProvider()]
  ) { (self.transformer, self.providers) = (transformer, providers) }

  open func onboard(context: OnboardingContext, completionHandler: @escaping @Sendable (OnboardingResult) -> Void) {
    let screen = WelcomeText()
    welcomeScreenCustomizationHandler?(screen)
    let step = UncheckedSendable(value: self)
    do {
      let decider: any WelcomeDeciding = try context.delegate("WelcomeDeciding", for: "WelcomeScreenStep")
      decider.decideStart(screen) { decision in
        switch decision {
        case .start: completionHandler(step.value.configured(context, usesStored: false))
        case .demoMode: completionHandler(.failed(WelcomeScreenError.demoModeRequested))
        case .cancel: completionHandler(.failed(OnboardingError.cancelled(error: CancellationError())))
        }
      }
    } catch { completionHandler(.failed(error)) }
  }

  open func restore(context: OnboardingContext, completionHandler: @escaping @Sendable (OnboardingResult) -> Void) {
    completionHandler(configured(context, usesStored: true))
  }

  open func background(
    context: OnboardingContext, completionHandler: @escaping @Sendable (OnboardingResult) -> Void
  ) { completionHandler(configured(context, usesStored: true)) }

  private static let storeKey = "martlet.configuration"

  private func configured(_ context: OnboardingContext, usesStored: Bool) -> OnboardingResult {
    var context = context
    do {
      let stored = usesStored ? try context.credentialStore.get(Data.self, for: Self.storeKey) : nil
      let configuration = try provided(or: stored.flatMap(Self.dictionary))
      context.info.merge(try transformer.transform(config: configuration)) { $1 }
      let data = try PropertyListSerialization.data(fromPropertyList: configuration, format: .binary, options: 0)
      try context.credentialStore.put(data, for: Self.storeKey)
      return .success(context)
    } catch { return .failed(error) }
  }

  private static func dictionary(_ data: Data) -> NSDictionary? {
    let values = try? PropertyListSerialization.propertyList(from: data, format: nil) as? [String: Any]
    return values.map { NSDictionary(dictionary: $0) }
  }

  /// Returns the configuration of the first provider that has one, or else the stored one.
  private func provided(or stored: NSDictionary?) throws -> NSDictionary {
    var failure: (any Error)?
    for provider in providers {
      let found = provider.provideConfiguration(input: [:])
      if found.providerSuccess { return found.configuration }
      failure = failure ?? found.returnError
    }
    if let stored { return stored }
    throw failure ?? OnboardingError.missingArgument("configuration", source: "WelcomeScreenStep")
  }
}

/// Decides for a new user whether to begin, in place of SAP's welcome screen. A ``FlowPresentationDelegate`` conforms.
public protocol WelcomeDeciding: AnyObject {
  /// Shows a welcome. Call the handler once.
  func decideStart(
    _ screen: any WelcomeStepUI, completionHandler: @escaping @Sendable (WelcomeDecision) -> Void)
}

/// What a new user does.
public enum WelcomeDecision: Sendable, Hashable {
  /// The user begins.
  case start
  /// The user wants to try the app without a server: ``WelcomeScreenError/demoModeRequested``.
  case demoMode
  /// The user gives up.
  case cancel
}

/// The error of a welcome screen.
public enum WelcomeScreenError: SAPError, Sendable, Hashable {
  /// The user wants to try the app without a server.
  case demoModeRequested

  /// The message.
  public var description: String { "The user wants to try the app without a server." }

  /// The description.
  public var errorDescription: String? { description }
}

/// The texts of a welcome screen. An app sets them in ``WelcomeScreenStep/welcomeScreenCustomizationHandler``.
public protocol WelcomeStepUI: AnyObject {
  /// The headline.
  var headlineLabel: WelcomeLabel { get }
  /// The text below.
  var detailLabel: WelcomeLabel { get }
  /// The button that begins.
  var primaryActionButton: WelcomeButton { get }
  /// Whether the app can be tried without a server.
  var isDemoModeAvailable: Bool { get set }
}

/// A text of a welcome screen.
public final class WelcomeLabel: Sendable {
  private let content = Locked<String?>(nil)

  /// The text; nil at first.
  public var text: String? {
    get { content.value }
    set { _ = content.replace(by: newValue) }
  }
}

/// A button of a welcome screen.
public final class WelcomeButton: Sendable {
  /// Its text.
  public let titleLabel: WelcomeLabel? = WelcomeLabel()
}

/// The texts of a welcome screen that is not drawn.
private final class WelcomeText: WelcomeStepUI, Sendable {
  let headlineLabel = WelcomeLabel()
  let detailLabel = WelcomeLabel()
  let primaryActionButton = WelcomeButton()
  private let offersDemo = Locked(false)

  var isDemoModeAvailable: Bool {
    get { offersDemo.value }
    set { _ = offersDemo.replace(by: newValue) }
  }
}
