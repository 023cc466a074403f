#if canImport(FoundationNetworking)
public import FoundationNetworking
#else
public import Foundation
#endif

/// Gives ``SAPURLSession`` a second `configuration`, of Foundation's type. The compiler chooses it where that is wanted.
public protocol FoundationConfigured {}

extension FoundationConfigured where Self == SAPURLSession {
  /// A copy of the configuration as it was when the session was made, with the session's own cache and cookies: a session made
  /// with it shares both.
  public var configuration: URLSessionConfiguration { SAPURLSession.shownConfiguration(of: self) }
}

extension SAPURLSession {
  /// The configuration as it was when the session was made; what is changed in it has no effect on the session. Its `urlCache`
  /// and its `httpCookieStorage` are those that the session really uses:
  ///
  /// ```swift
  /// let session = SAPURLSession()
  /// session.configuration.urlCache?.removeAllCachedResponses()
  /// session.configuration.httpCookieStorage?.removeCookies(since: .distantPast)
  /// ```
  ///
  /// Where a `URLSessionConfiguration` is asked for, this is one: see ``FoundationConfigured``.
  public var configuration: Configuration { Configuration(Self.shownConfiguration(of: self), cookies: cookieStorage) }

  /// A `URLSessionConfiguration` whose cookies can be used on Linux, where `HTTPCookieStorage` cannot be subclassed.
  @dynamicMemberLookup
  public struct Configuration {
    /// The configuration in Foundation's terms.
    public let foundation: URLSessionConfiguration
    /// Where the session keeps its cookies; nil if it has none.
    public let httpCookieStorage: SAPHTTPCookieStorage?

    init(_ foundation: URLSessionConfiguration, cookies: SAPHTTPCookieStorage?) {
      self.foundation = foundation
      httpCookieStorage = cookies
    }

    /// A property of Foundation's configuration.
    public subscript<Value>(dynamicMember path: KeyPath<URLSessionConfiguration, Value>) -> Value {
      foundation[keyPath: path]
    }
  }

  fileprivate static func shownConfiguration(of session: SAPURLSession) -> URLSessionConfiguration {
    let configuration = session.foundationConfiguration
    let copy = configuration.copy() as? URLSessionConfiguration ?? configuration
    copy.urlCache = session.urlCache
    copy.httpCookieStorage = session.cookieStorage
    return copy
  }
}
