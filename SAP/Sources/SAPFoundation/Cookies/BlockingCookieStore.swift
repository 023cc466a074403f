@_spi(Stores) import MartletEngine
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

  /// The sign-outs that all processes with these cookies know; nil if they cannot be read, or if ``change(_:since:_:)``
  /// compares them by itself.
  var signOuts: SharedSignOuts? { get }

  /// Changes the cookies of a site, unless there was another sign-out since these.
  func change(_ site: String, since signOuts: SharedSignOuts?, _ body: (inout [Cookie]) -> Void)

  /// Removes the cookies that were created at this date or later.
  func remove(since date: Date)
}
