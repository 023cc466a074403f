import MartletEngine
import MartletSemantics

/// A store of cookies with synchronous methods for ``SAPHTTPCookieStorage``. Failures are logged.
protocol BlockingCookieStore: CookieStore, AnyObject {
  /// The app's permanent store of the cookies; nil for none.
  var storage: (any CodableStoring)? { get }
  var options: SAPHTTPCookieStorageOptions { get set }
  var policy: HTTPCookie.AcceptPolicy { get set }

  /// Adopts changes that other code has made in the meantime. It is called before a task begins, so that a sign-out is
  /// noticed before and not after the task's beginning.
  func synchronize()

  /// Returns the cookies of a site.
  func read(_ site: String) -> [Cookie]

  /// Returns all cookies that have not expired.
  func all(at now: Date) -> [Cookie]

  /// Changes the cookies of a site.
  func change(_ site: String, _ body: (inout [Cookie]) -> Void)

  /// Removes the cookies that were created at this date or later.
  func remove(since date: Date)
}
