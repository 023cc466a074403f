import Foundation
import MartletEngine
import MartletSemantics

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

extension SessionConfiguration {
  /// Foundation's configuration in the engine's terms, as far as it means something here. What belongs to a request is read
  /// with each request, from the session's copy: timeouts, cache policy, cookies.
  init(_ configuration: URLSessionConfiguration) {
    self.init()
    interceptors = [AdditionalFields(configuration.httpAdditionalHeaders)]
    listeners = [LogListener(to: PrefixedLog())]
    if configuration.urlCache == nil { cache = nil }
    if configuration.httpCookieStorage == nil || configuration.httpCookieAcceptPolicy == .never
      || !configuration.httpShouldSetCookies
    {
      cookies = nil
    }
  }
}

/// `httpAdditionalHeaders`: for requests that do not say otherwise, and before observers see them.
private struct AdditionalFields: Interceptor {
  private var fields = HTTPFields()

  init(_ headers: [AnyHashable: Any]?) {
    for (name, value) in headers ?? [:] { fields.append(String(describing: value), forName: String(describing: name)) }
  }

  func prepare(_ request: HTTPRequest, in exchange: Exchange) async throws -> HTTPRequest {
    if let refusal = fields.refusal { throw refusal }
    var request = request
    for (name, value) in fields where !request.fields.contains(name) { request.fields.append(value, for: name) }
    return request
  }
}
