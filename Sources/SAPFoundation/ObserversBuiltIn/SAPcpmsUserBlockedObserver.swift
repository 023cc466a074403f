public import Foundation
import MartletSemantics

#if canImport(FoundationNetworking)
public import FoundationNetworking
#endif

/// In which way Mobile Services have blocked a user.
public enum SAPcpmsUserBlockedError: String, Error, Sendable, Hashable, CaseIterable {
  /// Requests are refused.
  case traffic = "TRAFFIC_BLOCKED"
  /// Requests are refused, and so are new registrations.
  case trafficAndRegistration = "TRAFFIC_REG_BLOCKED"
  /// New registrations are refused.
  case registration = "REG_BLOCKED"
}

extension SAPcpmsUserBlockedError: LocalizedError {
  /// What happened.
  public var errorDescription: String? {
    switch self {
    case .traffic: "The user is blocked."
    case .trafficAndRegistration: "The user is blocked, and cannot register again."
    case .registration: "The user cannot register."
    }
  }
}

/// Notices that Mobile Services have blocked the user, and fails the requests with it.
///
/// ```swift
/// let session = SAPURLSession()
/// session.register(SAPcpmsUserBlockedObserver { error in showBlocked(error) })
/// ```
///
/// A response blocks if its status **and** a field say so: 403 alone may mean a CSRF token, or simply no permission. Every
/// blocked request fails with the ``SAPcpmsUserBlockedError``. The handler is called for the first; then the observer is
/// silent until the origin that blocked gives any other answer from the network, to whatever request, an observer's own
/// included.
///
/// The field's values are not published: those of the cases are ours, and can be replaced.
open class SAPcpmsUserBlockedObserver: SAPURLSessionObserving {
  /// The status of a response that blocks; 403 by default.
  public let blockedHTTPStatusCode: Int
  /// The field of a response that blocks; `x-message-code` by default.
  public let blockedHTTPHeaderName: String
  /// Called once when blocking begins, on the session's `delegateQueue`.
  public let userBlockedHandler: (SAPcpmsUserBlockedError) -> Void
  private let errors: [String: SAPcpmsUserBlockedError]
  /// The origins that block.
  private let silent = Locked(Set<Origin>())

  /// The values of the field that are understood unless others are given: those of the cases.
  public static let defaultErrors = Dictionary(
    uniqueKeysWithValues: SAPcpmsUserBlockedError.allCases.map { ($0.rawValue, $0) })

  /// Makes an observer with the names and values that are documented, or follow from what is.
  public convenience init(userBlockedHandler: @escaping (SAPcpmsUserBlockedError) -> Void) {
    self.init(blockedHTTPStatusCode: 403, userBlockedHandler: userBlockedHandler)
  }

  /// Makes an observer for a server that says it in another way.
  ///
  /// - Parameters:
  ///   - blockedHTTPStatusCode: the status.
  ///   - blockedHTTPHeaderName: the field.
  ///   - errors: what its values mean; any other value does not block.
  ///   - userBlockedHandler: called once when blocking begins.
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

  open func sapURLSession(
    _ session: SAPURLSession, dataTask task: SAPURLSessionTask, didReceive response: URLResponse,
    completionHandler: @escaping @Sendable (SAPURLSession.ResponseDisposition) -> Void
  ) {
    guard let http = response as? HTTPURLResponse, let origin = http.url.flatMap({ Origin($0) }) else {
      return completionHandler(.allow(response))
    }
    guard let error = blocking(http) else {
      if !task.isAnsweredLocally { silent.withLock { _ = $0.remove(origin) } }
      return completionHandler(.allow(response))
    }
    if silent.withLock({ $0.insert(origin).inserted }) { userBlockedHandler(error) }
    completionHandler(.cancel(error))
  }

  private func blocking(_ response: HTTPURLResponse) -> SAPcpmsUserBlockedError? {
    guard response.statusCode == blockedHTTPStatusCode else { return nil }
    return response.value(forHTTPHeaderField: blockedHTTPHeaderName).flatMap { errors[$0] }
  }
}
