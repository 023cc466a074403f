@_spi(Toolkit) import MartletEngine
@_spi(Toolkit) import MartletSemantics
@_spi(Toolkit) import MartletURLSession

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
  /// The cookie storage of a session with this configuration: the one that was assigned; that of the default
  /// configuration, if Foundation's is the shared one; otherwise a new one. It is nil if cookies are disabled.
  var sessionCookies: SAPHTTPCookieStorage? {
    guard let foundationCookieStorage, httpCookieAcceptPolicy != .never, httpShouldSetCookies else { return nil }
    if let sapCookieStorage { return sapCookieStorage }
    return foundationCookieStorage === HTTPCookieStorage.shared ? DefaultCookies.storage : SAPHTTPCookieStorage()
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
    let isAskedOrigin = call.askedURL.flatMap { Origin($0) } == request.origin
    var prepared = request
    let kept = request.options.redirectPolicy.crossOriginFields
    for (name, value) in fields
    where !request.fields.contains(name) && (isAskedOrigin || !RedirectRule.belongsToOrigin(name, unlessIn: kept)) {
      prepared.fields.append(value, for: name)
    }
    return .send(prepared)
  }
}
