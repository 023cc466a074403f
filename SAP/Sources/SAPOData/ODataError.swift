/// An error of a call to a service that is no plain refusal: those are SAPFoundation's `ODataServiceError`.
///
/// ```swift
/// do {
///   try await provider.update(order, at: path, ifMatch: tag)
/// } catch let error as ODataError where error.kind == .preconditionFailed {
///   print("someone else changed the order:", error.localizedDescription)
/// }
/// ```
///
/// Messages have no keys, tokens or values of queries.
public struct ODataError: Error, Sendable {
  /// What went wrong. New kinds may be added.
  public struct Kind: Sendable, Hashable, CustomStringConvertible {
    /// The name of the kind.
    public let description: String

    /// 412: the entity has changed since its tag was read. Read it again, apply the change to it, and repeat.
    public static let preconditionFailed = Kind(description: "preconditionFailed")
    /// 428: the service changes the entity only with the tag that was read last. Pass `ifMatch`.
    public static let preconditionRequired = Kind(description: "preconditionRequired")
    /// The service requires a CSRF token, and the session has no observer that adds one, or it got no valid one.
    public static let tokenRequired = Kind(description: "tokenRequired")
    /// The service speaks the other version than `serviceOptions.dataVersion`.
    public static let versionMismatch = Kind(description: "versionMismatch")
    /// The request cannot be made: an invalid root, an option that the version does not have, too large a batch.
    public static let invalidRequest = Kind(description: "invalidRequest")
    /// The response is not what OData prescribes.
    public static let invalidResponse = Kind(description: "invalidResponse")
    /// The response is larger than `limits.responseBytes`.
    public static let responseTooLarge = Kind(description: "responseTooLarge")
    /// A link of the service leads to another origin, where credentials must not be sent. See
    /// ``ServiceOptions/followsLinksByPath``.
    public static let foreignLink = Kind(description: "foreignLink")
    /// The pages lead in a cycle, or there are more than `limits.pages`.
    public static let tooManyPages = Kind(description: "tooManyPages")
    /// The service executed the change, but its result could not be read, or did not arrive completely. Do not repeat
    /// the change: ``ODataError/receipt`` has what the service said, such as the link of a created entity.
    public static let resultNotRead = Kind(description: "resultNotRead")
    /// A request of a batch was not executed, because an earlier one failed or the service left it out.
    public static let notExecuted = Kind(description: "notExecuted")
  }

  /// What went wrong.
  public let kind: Kind
  /// The problem, and the remedy.
  public let message: String
  /// The service's own error, if there is one.
  public let serviceError: ODataServiceError?
  /// What the service said about a change that it executed: only with ``Kind/resultNotRead``.
  public private(set) var receipt: ODataReceipt?
  /// The reason, such as a `DecodingError` or the session's error: only with ``Kind/resultNotRead``.
  public private(set) var underlyingError: (any Error)?

  init(_ kind: Kind, _ message: String, _ serviceError: ODataServiceError? = nil) {
    (self.kind, self.message, self.serviceError) = (kind, message, serviceError)
  }

  /// Makes the error of a change whose result was not read for this reason.
  init(notReading error: any Error, _ receipt: ODataReceipt) {
    let reason = (error as? ODataError)?.message ?? "see underlyingError"
    self.init(
      .resultNotRead,
      "the service executed the change, but its result was not read: do not repeat it, and use the receipt (\(reason))",
      error as? ODataServiceError ?? (error as? ODataError)?.serviceError)
    (self.receipt, underlyingError) = (receipt, error)
  }
}

extension ODataError {
  /// Makes the error of a change whose answer is not the service's.
  static func unconfirmed(_ objection: String) -> ODataError {
    ODataError(
      .invalidResponse,
      "the service did not confirm the change: \(objection). Sign in, check whether it was made, and repeat it if not")
  }
}

extension ODataError: LocalizedError, CustomStringConvertible {
  /// The service's text and the message.
  public var errorDescription: String? { serviceError.map { "\($0.message) (\(message))" } ?? message }

  /// The kind, and the service's status and code.
  public var failureReason: String? {
    [kind.description, serviceError?.failureReason].compactMap(\.self).joined(separator: ", ")
  }

  /// The kind and the message.
  public var description: String { "\(kind): \(errorDescription ?? "")" }
}
