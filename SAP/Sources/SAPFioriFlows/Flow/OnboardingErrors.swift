/// The error of a step or of a sign-in. (SAP publishes these cases; their messages are written here.)
public enum OnboardingError: SAPError, Sendable {
  /// Something else has to be done instead.
  case shouldUseAlternateOperation(any Sendable)
  /// The server has refused the user.
  case authenticationFailed(description: String, response: URLResponse?, data: Data?, error: (any Error)?)
  /// A value is missing in the context, for example because a step that sets it comes later in the list.
  case missingArgument(String, source: String)
  /// A value in the context has another type, or cannot be used.
  case invalidArgument(String, any Sendable, source: String)
  /// A signature is wrong. Never thrown by this module.
  case digitalSignatureVerificationFailed
  /// The user, or the program, has given up.
  case cancelled(error: any Error)

  /// The problem, and the remedy if there is one.
  public var description: String {
    switch self {
    case .shouldUseAlternateOperation: "Another operation has to be used instead."
    case .authenticationFailed(let description, _, _, _): "The user was not signed in: \(description)."
    case .missingArgument(let name, let source):
      "\(source) needs the value '\(name)' in the context: put the step that sets it before this one."
    case .invalidArgument(let name, _, let source): "\(source) cannot use the value '\(name)' of the context."
    case .digitalSignatureVerificationFailed: "The signature is wrong."
    case .cancelled: "Onboarding was cancelled."
    }
  }

  /// The description.
  public var errorDescription: String? { description }
}

extension OnboardingError: CustomReflectable {
  /// A mirror with the description only: responses and values may contain secrets.
  public var customMirror: Mirror { Mirror(self, children: ["error": description]) }
}

/// The error of an ``OnboardingController``. (SAP publishes the first case.)
public enum OnboardingControllerError: SAPError, Sendable, Hashable {
  /// The flow is for another user than the one that was asked for, or another process has onboarded a user meanwhile.
  case mismatchingOnboardingIDs

  /// The problem.
  public var description: String { "The flow is for another user than the one who is onboarded." }

  /// The description.
  public var errorDescription: String? { description }
}

/// The error of a flow that cannot go on. (These cases are this module's.)
@nonexhaustive public enum OnboardingFlowError: SAPError, Sendable, Hashable {
  /// The flow provider, or a delegate, answered neither a flow nor an error. The text is the purpose of the flow.
  case noFlow(String)
  /// This object has released its completion handler without calling it.
  case unanswered(String)
  /// A step needs a decision, and the context's presentation delegate does not conform to this protocol.
  case noDecision(step: String, needs: String)
  /// The user has declined what the step asked for.
  case declined(step: String)
  /// The onboarding was ended by ``OnboardingSessionManager/removeSession(completionHandler:)``.
  case removed
  /// The flow's identifiers cannot be stored; the text has the reason.
  case notStored(String)

  /// The problem and the remedy.
  public var description: String {
    switch self {
    case .noFlow(let type):
      "There is no flow for '\(type)': the flow provider has to answer a flow or an error."
    case .unanswered(let name):
      "\(name) has released its completion handler without calling it: call it once in every case."
    case .noDecision(let step, let need):
      "\(step) needs a decision of the user: the context's presentationDelegate has to conform to \(need)."
    case .declined(let step): "The user has declined what \(step) asked for."
    case .removed: "The session was removed while it was being opened."
    case .notStored(let reason): "The onboarding cannot be stored: \(reason)."
    }
  }

  /// The description.
  public var errorDescription: String? { description }
}
