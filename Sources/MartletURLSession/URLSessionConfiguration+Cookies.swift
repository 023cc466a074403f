#if canImport(FoundationNetworking)
package import FoundationNetworking
#else
package import Foundation
#endif

extension URLSessionConfiguration {
  /// `httpCookieStorage` under a name that a module can use which has a property of that name of its own.
  package var foundationCookieStorage: HTTPCookieStorage? {
    get { httpCookieStorage }
    set { httpCookieStorage = newValue }
  }
}
