// What `URLSessionConfiguration` lacks on Linux for the SDK's documented code, and how this module adds it.
//
// The gaps on Linux:
// - `HTTPCookieStorage` cannot be subclassed, so a session's cookies do not fit into `httpCookieStorage`.
// - `waitsForConnectivity` is declared, but unavailable.
// - The class has no place for other settings: an extension cannot store values, and `copy()` returns an instance of
//   Foundation's class without the properties of a subclass.
//
// Why there are overloads: the documented code has to compile under Foundation's names. An extension of the class
// cannot declare a name again, but an extension of a protocol that the class conforms to can. The compiler then
// chooses:
// - `waitsForConnectivity`: Foundation's is unavailable, so this module's is used.
// - `httpCookieStorage` of a `URLSessionConfiguration`: this module's is disfavored. It is used where only its type,
//   `SAPHTTPCookieStorage`, fits.
// - `httpCookieStorage` of a `SAPURLSession.Configuration`: Foundation's is overridden only to make it disfavored, so
//   this module's is used wherever both fit.
//
// Why the values are in `connectionProxyDictionary`: it takes any value, and is copied with the configuration. Their
// keys have a type of this module, so they never replace a proxy's entry.
//
// What this does not do:
// - The choice is made at compile time, by the declared type. Code that sees a `URLSessionConfiguration` and does not
//   ask for a `SAPHTTPCookieStorage` gets Foundation's cookies, which sessions of this module do not use.
// - It does not protect the values: a new `connectionProxyDictionary` removes them, so assign the dictionary first.
// - It has no effect on Foundation's `URLSession`, which does not know these settings.

@_spi(Toolkit) import MartletURLSession

// MARK: - Where the settings are stored

/// The key of one of this module's settings in a configuration. It never equals a key of another type.
struct SettingKey: Hashable {
  let name: String

  static let cookieStorage = SettingKey(name: "cookieStorage")
  static let waitsForConnectivity = SettingKey(name: "waitsForConnectivity")
  /// Marks a dictionary that was made for settings: the app has assigned none, not even an empty one.
  static let ownDictionary = SettingKey(name: "ownDictionary")
}

extension URLSessionConfiguration {
  subscript(setting key: SettingKey) -> Any? {
    get { connectionProxyDictionary?[key] }
    set {
      var values = connectionProxyDictionary ?? [SettingKey.ownDictionary: true]
      values[key] = newValue
      let isUnused = values.count == 1 && values[SettingKey.ownDictionary] != nil
      connectionProxyDictionary = isUnused ? nil : values
    }
  }

  /// `connectionProxyDictionary` without this module's settings; nil if the app has assigned none. An empty one is one
  /// without proxies.
  var foundationProxies: [AnyHashable: Any]? {
    guard let dictionary = connectionProxyDictionary else { return nil }
    let values = dictionary.filter { !($0.key.base is SettingKey) }
    return values.isEmpty && dictionary[SettingKey.ownDictionary] != nil ? nil : values
  }
}

// MARK: - URLSessionConfiguration

/// Adds properties to `URLSessionConfiguration` whose names Foundation already has: an `httpCookieStorage` of this
/// module's type, and `waitsForConnectivity`, which is unavailable on Linux.
public protocol SAPConfiguring: AnyObject {}

extension URLSessionConfiguration: SAPConfiguring {}

#if os(Linux)
extension SAPConfiguring where Self: URLSessionConfiguration {
  /// Whether a task waits if no connection can be made, instead of failing at once; false by default. This is the case
  /// if the server's name cannot be resolved, or if the server refuses connections or is silent until the connect
  /// timeout. Foundation has this property on Apple's platforms only.
  ///
  /// Observers and the delegate are notified once (`taskIsWaitingForConnectivity`). The session tries the connection
  /// again after a second, then after intervals that double up to 30 seconds. It stops when the connection is made, the
  /// task is cancelled, or `timeoutIntervalForResource` has passed.
  public var waitsForConnectivity: Bool {
    get { self[setting: .waitsForConnectivity] as? Bool ?? false }
    set { self[setting: .waitsForConnectivity] = newValue ? true : nil }
  }
}
#endif

extension SAPConfiguring where Self: URLSessionConfiguration {
  /// The cookie storage of sessions with this configuration; nil if none was set. Foundation's property of the same
  /// name has another type, by which the compiler chooses: `configuration.httpCookieStorage = sapCookieStorage`.
  ///
  /// To disable cookies, assign nil, which sets Foundation's property. The storage is kept within
  /// `connectionProxyDictionary`, so that copies of the configuration have it. If you set both, assign the dictionary
  /// first.
  @_disfavoredOverload
  public var httpCookieStorage: SAPHTTPCookieStorage? {
    get { sapCookieStorage }
    set { sapCookieStorage = newValue }
  }
}

extension URLSessionConfiguration {
  /// The same property under a name that Foundation does not have.
  var sapCookieStorage: SAPHTTPCookieStorage? {
    get { self[setting: .cookieStorage] as? SAPHTTPCookieStorage }
    set {
      self[setting: .cookieStorage] = newValue
      if newValue != nil, foundationCookieStorage == nil { foundationCookieStorage = .shared }
    }
  }
}

// MARK: - SAPURLSession.Configuration

extension SAPURLSession {
  /// A `URLSessionConfiguration` whose `urlCache` and `httpCookieStorage` are those of the session, so that the
  /// documented lines clear them:
  ///
  /// ```swift
  /// let session = SAPURLSession()
  /// session.configuration.urlCache?.removeAllCachedResponses()
  /// session.configuration.httpCookieStorage?.removeCookies(since: .distantPast)
  /// ```
  ///
  /// `HTTPCookieStorage` cannot be subclassed on Linux, so `httpCookieStorage` is a ``SAPHTTPCookieStorage`` here. A
  /// variable declared as `URLSessionConfiguration` has Foundation's property, which has none of the session's cookies.
  ///
  /// SAFETY: it has no properties of its own, and its superclass is used as anywhere else.
  public final class Configuration: URLSessionConfiguration, SAPCookieStorageConfigured, @unchecked Sendable {
    /// Foundation's cookies, which sessions of this module do not use; see ``SAPCookieStorageConfigured``.
    @_disfavoredOverload
    public override var httpCookieStorage: HTTPCookieStorage? {
      get { super.httpCookieStorage }
      set { super.httpCookieStorage = newValue }
    }

    /// This is deprecated because the only initializer that a subclass can call is deprecated, too.
    @available(*, deprecated)
    fileprivate init(copyOf original: URLSessionConfiguration) {
      super.init()
      requestCachePolicy = original.requestCachePolicy
      timeoutIntervalForRequest = original.timeoutIntervalForRequest
      timeoutIntervalForResource = original.timeoutIntervalForResource
      networkServiceType = original.networkServiceType
      allowsCellularAccess = original.allowsCellularAccess
      isDiscretionary = original.isDiscretionary
      connectionProxyDictionary = original.connectionProxyDictionary
      httpShouldUsePipelining = original.httpShouldUsePipelining
      httpShouldSetCookies = original.httpShouldSetCookies
      httpCookieAcceptPolicy = original.httpCookieAcceptPolicy
      httpAdditionalHeaders = original.httpAdditionalHeaders
      httpMaximumConnectionsPerHost = original.httpMaximumConnectionsPerHost
      foundationCookieStorage = original.foundationCookieStorage
      urlCredentialStorage = original.urlCredentialStorage
      urlCache = original.urlCache
      shouldUseExtendedBackgroundIdleMode = original.shouldUseExtendedBackgroundIdleMode
      protocolClasses = original.protocolClasses
    }

    static func copy(of original: URLSessionConfiguration) -> Configuration { make(original) }

    private static func make<Copy: ConfigurationCopying>(_ original: URLSessionConfiguration) -> Copy {
      Copy(copyOf: original)
    }
  }
}

/// Calls the initializer of ``SAPURLSession/Configuration`` without a deprecation warning.
private protocol ConfigurationCopying {
  init(copyOf original: URLSessionConfiguration)
}

extension SAPURLSession.Configuration: ConfigurationCopying {}

/// Gives ``SAPURLSession/Configuration`` its `httpCookieStorage`, which the compiler prefers to Foundation's.
public protocol SAPCookieStorageConfigured: AnyObject {}

extension SAPCookieStorageConfigured where Self: SAPURLSession.Configuration {
  /// The session's cookies; nil if it has none.
  public var httpCookieStorage: SAPHTTPCookieStorage? {
    get { sapCookieStorage }
    set {
      sapCookieStorage = newValue
      if newValue == nil { foundationCookieStorage = nil }
    }
  }
}

extension SAPURLSession.Configuration: CustomReflectable {
  /// A mirror without children: additional fields and proxies may contain secrets.
  public var customMirror: Mirror { Mirror(self, children: [:], ancestorRepresentation: .suppressed) }
}
