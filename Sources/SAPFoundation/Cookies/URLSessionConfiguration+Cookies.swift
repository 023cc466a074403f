import MartletURLSession

#if canImport(FoundationNetworking)
public import FoundationNetworking
#else
public import Foundation
#endif

extension URLSessionConfiguration {
  /// Where sessions of this configuration keep their cookies; nil if that was not set. Foundation's property of the same name
  /// has another type, and the compiler chooses by it: `configuration.httpCookieStorage = sapCookieStorage`.
  ///
  /// To disable cookies, assign nil, which is Foundation's property. What is assigned here travels with copies of the
  /// configuration, within its `connectionProxyDictionary`: assign that first where you need both.
  @_disfavoredOverload
  public var httpCookieStorage: SAPHTTPCookieStorage? {
    get { connectionProxyDictionary?[CookieStorageKey()] as? SAPHTTPCookieStorage }
    set {
      var values = connectionProxyDictionary ?? [:]
      values[CookieStorageKey()] = newValue
      connectionProxyDictionary = values.isEmpty ? nil : values
      if newValue != nil, foundationCookieStorage == nil { foundationCookieStorage = .shared }
    }
  }

  /// `connectionProxyDictionary` without what is ours; nil where nothing else is in it.
  var foundationProxies: [AnyHashable: Any]? {
    var values = connectionProxyDictionary
    values?[CookieStorageKey()] = nil
    return values?.isEmpty == true ? nil : values
  }
}

/// A key that nobody else has.
private struct CookieStorageKey: Hashable {}
