import MartletSemantics

/// The error when Mobile Services has blocked the user.
public enum SAPcpmsUserBlockedError: String, Error, Sendable, Hashable, CaseIterable {
  /// Requests are refused.
  case traffic = "TRAFFIC_BLOCKED"
  /// Requests and new registrations are refused.
  case trafficAndRegistration = "TRAFFIC_REG_BLOCKED"
  /// New registrations are refused.
  case registration = "REG_BLOCKED"
}

extension SAPcpmsUserBlockedError: SAPError {
  /// The message for the user.
  public var description: String {
    switch self {
    case .traffic: "The user is blocked."
    case .trafficAndRegistration: "The user is blocked, and cannot register again."
    case .registration: "The user cannot register."
    }
  }

  /// The description.
  public var errorDescription: String? { description }
}

/// Recognizes responses for a user whom Mobile Services has blocked, and fails the requests.
///
/// ```swift
/// let session = SAPURLSession()
/// session.register(SAPcpmsUserBlockedObserver { error in showBlocked(error) })
/// ```
///
/// A user is blocked if the status **and** a field of a response say so: 403 alone may mean an invalid CSRF token, or a
/// missing permission. Every blocked request fails with the ``SAPcpmsUserBlockedError``. The handler is called for the
/// first one. It is called again only after the same origin has sent a response that does not block. That may be a
/// response to any request, including those of observers.
///
/// The field's values are not published. By default they are the raw values of the cases, and you can replace them.
open class SAPcpmsUserBlockedObserver: SAPURLSessionObserver {
  /// The status of a response that blocks; 403 by default.
  public let blockedHTTPStatusCode: Int
  /// The field of a response that blocks; `x-message-code` by default.
  public let blockedHTTPHeaderName: String
  /// The handler for the case that the user is blocked. It is called on the session's `delegateQueue`.
  public let userBlockedHandler: (SAPcpmsUserBlockedError) -> Void
  private let errors: [String: SAPcpmsUserBlockedError]
  /// The origins that block the user and for which the handler was called.
  private let blocked = Locked(Set<Origin>())

  /// The default values of the field: the raw values of the cases.
  public static let defaultErrors = Dictionary(
    uniqueKeysWithValues: SAPcpmsUserBlockedError.allCases.map { ($0.rawValue, $0) })

  /// Makes an observer for status 403, the field `x-message-code` and the default values.
  public convenience init(userBlockedHandler: @escaping (SAPcpmsUserBlockedError) -> Void) {
    self.init(blockedHTTPStatusCode: 403, userBlockedHandler: userBlockedHandler)
  }

  /// Makes an observer for another status, field or values.
  ///
  /// - Parameters:
  ///   - blockedHTTPStatusCode: the status.
  ///   - blockedHTTPHeaderName: the field.
  ///   - errors: the errors by the field's values; any other value does not block.
  ///   - userBlockedHandler: called when the user is blocked.
  public init(
    blockedHTTPStatusCode: Int, blockedHTTPHeaderName: String = "x-message-code",
    errors: [String: SAPcpmsUserBlockedError] = SAPcpmsUserBlockedObserver.defaultErrors,
    userBlockedHandler: @escaping (SAPcpmsUserBlockedError) -> Void
  ) {
    self.blockedHTTPStatusCode = blockedHTTPStatusCode
    self.blockedHTTPHeaderName = blockedHTTPHeaderName
    self.errors = errors
    self.userBlockedHandler = userBlockedHandler
  }

  /// Returns an observer with the same properties, to which no user is blocked yet. A subclass has to override it,
  /// because the copy is of this class.
  open override func copy() -> Any? {
    SAPcpmsUserBlockedObserver(
      blockedHTTPStatusCode: blockedHTTPStatusCode, blockedHTTPHeaderName: blockedHTTPHeaderName, errors: errors,
      userBlockedHandler: userBlockedHandler)
  }

  /// Fails the task if the response blocks the user.
  open override func sapURLSession(
    _ session: SAPURLSession, dataTask task: SAPURLSessionTask, didReceive response: URLResponse,
    completionHandler: @escaping @Sendable (SAPURLSession.ResponseDisposition) -> Void
  ) {
    guard let http = response as? HTTPURLResponse, let origin = http.url.flatMap({ Origin($0) }) else {
      return completionHandler(.allow(response))
    }
    guard let error = blocking(http) else {
      if !task.isAnsweredLocally { blocked.withLock { _ = $0.remove(origin) } }
      return completionHandler(.allow(response))
    }
    if blocked.withLock({ $0.insert(origin).inserted }) { userBlockedHandler(error) }
    completionHandler(.cancel(error))
  }

  private func blocking(_ response: HTTPURLResponse) -> SAPcpmsUserBlockedError? {
    guard response.statusCode == blockedHTTPStatusCode else { return nil }
    return response.value(forHTTPHeaderField: blockedHTTPHeaderName).flatMap { errors[$0] }
  }
}
