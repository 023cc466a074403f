import Foundation
import MartletEngine
import MartletSemantics
import MartletURLSession

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

extension SessionConfiguration {
  /// Foundation's configuration in the engine's terms, as far as it means something here. What belongs to a request is read
  /// with each request, from the session's copy: timeouts, cache policy, cookies.
  init(
    _ configuration: URLSessionConfiguration, cookies storage: SAPHTTPCookieStorage?, cache urlCache: SessionURLCache?,
    _ stepIn: InternalRequests
  ) {
    self.init()
    interceptors = [AdditionalFields(configuration.httpAdditionalHeaders), stepIn]
    if let removal = urlCache?.removal { interceptors.insert(removal, at: 0) }
    listeners = [LogListener(to: PrefixedLog(), redaction: .strict), stepIn]
    cache = urlCache?.cache
    cookies = storage?.jar
  }
}

extension URLSessionConfiguration {
  /// Where a session of this configuration keeps its cookies: the storage that was assigned, or one of the session's own. nil
  /// where cookies were disabled.
  var sessionCookies: SAPHTTPCookieStorage? {
    guard foundationCookieStorage != nil, httpCookieAcceptPolicy != .never, httpShouldSetCookies else { return nil }
    return httpCookieStorage ?? SAPHTTPCookieStorage()
  }

  /// Where a session of this configuration keeps answers: where another session does whose cache was assigned, else in memory
  /// of its own, as large as that of an assigned `URLCache`. nil where caching was disabled.
  var sessionCache: SessionURLCache? {
    guard let urlCache else { return nil }
    if let shared = urlCache as? SessionURLCache { return shared }
    let isDefault = urlCache === URLCache.shared
    let store = isDefault ? MemoryCacheStore() : MemoryCacheStore(capacity: Int64(urlCache.memoryCapacity))
    return SessionURLCache(HTTPCache(store: store), CacheRemoval())
  }
}

/// `httpAdditionalHeaders`: for requests that do not say otherwise, and before observers see them. What belongs to one origin,
/// `Authorization` say, goes to the origin that was asked and not where a redirect leads, as if it were the request's own.
private struct AdditionalFields: Interceptor {
  private var fields = HTTPFields()

  init(_ headers: [AnyHashable: Any]?) {
    for (name, value) in headers ?? [:] { fields.append(String(describing: value), forName: String(describing: name)) }
  }

  func prepare(_ request: HTTPRequest, in exchange: Exchange) async throws -> HTTPRequest {
    if let refusal = fields.refusal { throw refusal }
    let isAsked = exchange.askedURL.flatMap { Origin($0) } == Origin(request.url)
    var prepared = request
    let kept = request.options.redirectPolicy.crossOriginFields
    for (name, value) in fields
    where !request.fields.contains(name) && (isAsked || !RedirectRule.belongsToOrigin(name, unlessIn: kept)) {
      prepared.fields.append(value, for: name)
    }
    return prepared
  }
}
