/// The error when Mobile Services has switched off the app's version. (SAP publishes this case.)
public enum ApplicationVersioningError: SAPError, Sendable, Hashable {
  /// The version may not be used any more.
  case inactive

  /// The message for the user.
  public var description: String { "This version of the app can no longer be used: update the app." }

  /// The description.
  public var errorDescription: String? { description }
}

/// Fails requests if Mobile Services has switched off the app's version.
///
/// ```swift
/// let session = SAPURLSession()
/// session.register(SAPcpmsObserver(settingsParameters: settings))      // sends the version
/// session.register(ApplicationVersionObserver())
/// ```
///
/// The server says so in the field `x-app-version-inactive` of a response, with `true`. Every such request fails with
/// ``ApplicationVersioningError/inactive``. Which field of the request has the version is not published;
/// ``SAPcpmsObserver`` lets you choose it.
open class ApplicationVersionObserver: SAPURLSessionObserver {
  /// `x-app-version-inactive`.
  public static let inactiveHeaderName = "x-app-version-inactive"

  /// Makes an observer.
  public override init() {}

  /// Returns an observer. A subclass has to override it, because the copy is of this class.
  open override func copy() -> Any? { ApplicationVersionObserver() }

  /// Fails the task if the response says that the version is inactive.
  open override func sapURLSession(
    _ session: SAPURLSession, dataTask task: SAPURLSessionTask, didReceive response: URLResponse,
    completionHandler: @escaping @Sendable (SAPURLSession.ResponseDisposition) -> Void
  ) {
    let value = (response as? HTTPURLResponse)?.value(forHTTPHeaderField: Self.inactiveHeaderName)
    let isInactive = value?.lowercased() == "true"
    completionHandler(isInactive ? .cancel(ApplicationVersioningError.inactive) : .allow(response))
  }
}
