/// Decides what a user consents to, in place of SAP's screens. A ``FlowPresentationDelegate`` conforms to it.
///
/// **Nothing consents by itself**: a step whose delegate does not conform fails with
/// ``OnboardingFlowError/noDecision(step:needs:)``.
public protocol ConsentDeciding: AnyObject {
  /// Shows a form. Call the handler once, with whether the user consents.
  func decideConsent(to form: UserConsentFormContent, completionHandler: @escaping @Sendable (Bool) -> Void)

  /// Shows a licence. Call the handler once, with whether the user accepts it.
  func decideLicence(_ licence: EULAContent, completionHandler: @escaping @Sendable (Bool) -> Void)

  /// Asks whether data about the use of the app may be collected. Call the handler once.
  func decideDataCollection(completionHandler: @escaping @Sendable (Bool) -> Void)
}

/// A page of a form.
public struct UserConsentPageContent: Sendable, Hashable {
  /// The title; nil, the default, for none.
  public var title: String?
  /// The text; nil, the default, for none.
  public var body: String?
  /// The text of the link to more; nil, the default, for none.
  public var actionTitle: String?
  /// The link to more; nil, the default, for none.
  public var actionUrl: String?

  /// Makes an empty page.
  public init() {}
}

/// A form to which a user consents.
public struct UserConsentFormContent: Sendable, Hashable {
  /// The version: a user who returns is asked again if it has changed.
  public var version: String
  /// Whether the app cannot be used without the consent.
  public var isRequired: Bool
  /// The pages, in order.
  public var pages: [UserConsentPageContent]

  /// Makes a form.
  public init(version: String, isRequired: Bool, pages: [UserConsentPageContent]) {
    (self.version, self.isRequired, self.pages) = (version, isRequired, pages)
  }
}

/// Asks for the consent to forms, one after another.
///
/// The decisions are in the credential store. A user who returns is asked for forms without a decision, and for those
/// with a new version. Declining a required form is ``OnboardingFlowError/declined(step:)``.
open class UserConsentStep: OnboardingStep {
  /// The forms, in order.
  public let userConsentFormsContent: [UserConsentFormContent]

  /// Makes a step.
  public init(userConsentFormsContent: [UserConsentFormContent]) {
    self.userConsentFormsContent = userConsentFormsContent
  }

  open func onboard(context: OnboardingContext, completionHandler: @escaping @Sendable (OnboardingResult) -> Void) {
    ask(0, context, completionHandler)
  }

  open func restore(context: OnboardingContext, completionHandler: @escaping @Sendable (OnboardingResult) -> Void) {
    ask(0, context, completionHandler)
  }

  private func ask(
    _ number: Int, _ context: OnboardingContext, _ completionHandler: @escaping @Sendable (OnboardingResult) -> Void
  ) {
    guard number < userConsentFormsContent.count else { return completionHandler(.success(context)) }
    let form = userConsentFormsContent[number]
    let step = UncheckedSendable(value: self)
    let question = Question(name: "consent \(number)", version: form.version, step: "UserConsentStep")
    question.ask(context, isRequired: form.isRequired, { $0.decideConsent(to: form, completionHandler: $1) }) {
      result in
      guard case .success(let context) = result else { return completionHandler(result) }
      step.value.ask(number + 1, context, completionHandler)
    }
  }
}

/// A licence.
///
/// SAFETY: the text is copied when the licence is made, so nobody changes it.
public struct EULAContent: @unchecked Sendable {
  /// The title.
  public let title: String
  /// The text.
  public let content: NSAttributedString
  /// The version: a user who returns is asked again if it has changed.
  public let version: String

  /// Makes a licence.
  public init(title: String, content: NSAttributedString, version: String) {
    (self.title, self.version) = (title, version)
    self.content = NSAttributedString(attributedString: content)
  }
}

/// Asks whether the user accepts a licence. Declining is ``OnboardingFlowError/declined(step:)``.
open class EULAStep: OnboardingStep {
  /// The licence.
  public let eulaContent: EULAContent

  /// Makes a step.
  public init(eulaContent: EULAContent) { self.eulaContent = eulaContent }

  open func onboard(context: OnboardingContext, completionHandler: @escaping @Sendable (OnboardingResult) -> Void) {
    ask(context, completionHandler)
  }

  open func restore(context: OnboardingContext, completionHandler: @escaping @Sendable (OnboardingResult) -> Void) {
    ask(context, completionHandler)
  }

  private func ask(
    _ context: OnboardingContext, _ completionHandler: @escaping @Sendable (OnboardingResult) -> Void
  ) {
    let licence = eulaContent
    Question(name: "licence", version: licence.version, step: "EULAStep")
      .ask(context, isRequired: true, { $0.decideLicence(licence, completionHandler: $1) }, completionHandler)
  }
}

extension OnboardingInfoKey {
  /// Whether the user allows to collect data about the use of the app: a `Bool`, after ``DataCollectionConsentStep``.
  public static let allowsDataCollection = Self("martlet.allowsDataCollection")
}

/// Asks whether data about the use of the app may be collected. The decision is in the context
/// (``OnboardingInfoKey/allowsDataCollection``); collecting and uploading them is not part of this module.
open class DataCollectionConsentStep: OnboardingStep {
  /// Makes a step.
  public init() {}

  open func onboard(context: OnboardingContext, completionHandler: @escaping @Sendable (OnboardingResult) -> Void) {
    ask(context, completionHandler)
  }

  open func restore(context: OnboardingContext, completionHandler: @escaping @Sendable (OnboardingResult) -> Void) {
    ask(context, completionHandler)
  }

  private func ask(
    _ context: OnboardingContext, _ completionHandler: @escaping @Sendable (OnboardingResult) -> Void
  ) {
    let question = Question(name: "data collection", version: "1", step: "DataCollectionConsentStep")
    question.ask(context, isRequired: false, { $0.decideDataCollection(completionHandler: $1) }) { result in
      guard case .success(var context) = result else { return completionHandler(result) }
      context.info[.allowsDataCollection] = question.decision(context) ?? false
      completionHandler(.success(context))
    }
  }
}

/// The name that generated apps used before version 6.
public typealias UsageCollectionConsentStep = DataCollectionConsentStep

/// A question whose answer is kept in the credential store, for one version.
private struct Question: Sendable {
  private struct Decision: Codable {
    let version: String
    let isAccepted: Bool
  }

  let name: String
  let version: String
  let step: String

  private var key: String { "martlet.decision \(name)" }

  /// The kept decision; nil if there is none for this version.
  func decision(_ context: OnboardingContext) -> Bool? {
    guard let kept = try? context.credentialStore.get(Decision.self, for: key), kept.version == version else {
      return nil
    }
    return kept.isAccepted
  }

  /// Asks, unless there is a decision. A refusal of what is required is kept nowhere.
  func ask(
    _ context: OnboardingContext, isRequired: Bool,
    _ question: (any ConsentDeciding, @escaping @Sendable (Bool) -> Void) -> Void,
    _ completionHandler: @escaping @Sendable (OnboardingResult) -> Void
  ) {
    if let kept = decision(context), kept || !isRequired { return completionHandler(.success(context)) }
    do {
      let decider: any ConsentDeciding = try context.delegate("ConsentDeciding", for: step)
      question(decider) { isAccepted in
        if isRequired, !isAccepted { return completionHandler(.failed(OnboardingFlowError.declined(step: step))) }
        do {
          try context.credentialStore.put(Decision(version: version, isAccepted: isAccepted), for: key)
          completionHandler(.success(context))
        } catch { completionHandler(.failed(error)) }
      }
    } catch { completionHandler(.failed(error)) }
  }
}
