import MartletEngine
import MartletSemantics
import MartletURLSession

extension SAPURLSession {
  /// A copy of the configuration that the session was made with; changes to it have no effect on the session. A session
  /// made with this copy shares the cookies and the cache.
  public var configuration: Configuration {
    let configuration = Configuration.copy(of: foundationConfiguration)
    configuration.urlCache = urlCache
    configuration.sapCookieStorage = cookieStorage
    if cookieStorage == nil { configuration.foundationCookieStorage = nil }
    return configuration
  }

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

    fileprivate static func copy(of original: URLSessionConfiguration) -> Configuration { make(original) }

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

/// Adds properties to `URLSessionConfiguration` whose names Foundation already has: an `httpCookieStorage` of this
/// module's type, and `waitsForConnectivity`, which is unavailable on Linux.
public protocol SAPConfiguring: AnyObject {}

extension URLSessionConfiguration: SAPConfiguring {}

/// The key of one of this module's settings in a configuration. It never equals a key of another type.
struct SettingKey: Hashable {
  let name: String

  static let cookieStorage = SettingKey(name: "cookieStorage")
  static let waitsForConnectivity = SettingKey(name: "waitsForConnectivity")
}

// Settings for which Foundation's configuration has no property are stored in its `connectionProxyDictionary`. It takes
// any value, and is copied with the configuration.
extension URLSessionConfiguration {
  subscript(setting key: SettingKey) -> Any? {
    get { connectionProxyDictionary?[key] }
    set {
      var values = connectionProxyDictionary ?? [:]
      values[key] = newValue
      connectionProxyDictionary = values.isEmpty ? nil : values
    }
  }

  /// `connectionProxyDictionary` without this module's settings; nil if it has no other entries.
  var foundationProxies: [AnyHashable: Any]? {
    let values = connectionProxyDictionary?.filter { !($0.key.base is SettingKey) }
    return values?.isEmpty == true ? nil : values
  }
}

#if os(Linux)
extension SAPConfiguring where Self: URLSessionConfiguration {
  /// Whether a task waits if no connection can be made, instead of failing at once; false by default. This is the case
  /// if the server's name cannot be resolved or the server does not accept connections. Foundation has this property on
  /// Apple's platforms only.
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

extension SessionConfiguration {
  /// Makes the engine's configuration. Settings of single requests (timeouts, cache policy, cookies) are read with each
  /// request from the session's copy of Foundation's configuration.
  init(
    _ configuration: URLSessionConfiguration, cookies storage: SAPHTTPCookieStorage?, cache urlCache: SAPURLCache?,
    _ internalRequests: InternalRequests
  ) {
    self.init()
    if let removal = urlCache?.removal { interceptors.append(removal) }
    let additional = AdditionalFields(configuration.httpAdditionalHeaders)
    if !additional.isEmpty { interceptors.append(additional) }
    interceptors.append(ObserverInterceptor(internalRequests))
    listeners = [LogListener(to: PrefixedLog(), redaction: .strict), internalRequests]
    cache = urlCache?.cache
    cookies = storage?.jar
  }
}

extension URLSessionConfiguration {
  /// The cookie storage of a session with this configuration: the one that was assigned, or a new one; nil if cookies
  /// are disabled.
  var sessionCookies: SAPHTTPCookieStorage? {
    guard foundationCookieStorage != nil, httpCookieAcceptPolicy != .never, httpShouldSetCookies else { return nil }
    return sapCookieStorage ?? SAPHTTPCookieStorage()
  }
}

/// Adds `httpAdditionalHeaders` to requests that do not have these fields, before observers are called. Fields for one
/// origin, such as `Authorization`, are treated like the request's own: they are not sent to another origin after a
/// redirect.
private struct AdditionalFields: Interceptor {
  let stages = InterceptorStages.prepare
  private var fields = HTTPFields()

  var isEmpty: Bool { fields.isEmpty }

  init(_ headers: [AnyHashable: Any]?) {
    for (name, value) in headers ?? [:] { fields.append(String(describing: value), forName: String(describing: name)) }
  }

  func prepare(_ request: HTTPRequest, in call: Call) async throws -> Preparation {
    if let refusal = fields.refusal { throw refusal }
    let isAskedOrigin = call.askedURL.flatMap { Origin($0) } == Origin(request.url)
    var prepared = request
    let kept = request.options.redirectPolicy.crossOriginFields
    for (name, value) in fields
    where !request.fields.contains(name) && (isAskedOrigin || !RedirectRule.belongsToOrigin(name, unlessIn: kept)) {
      prepared.fields.append(value, for: name)
    }
    return .send(prepared)
  }
}
