#if os(Linux)
import Foundation
import FoundationNetworking
import Martlet
import MartletEngine
import MartletURLSession

extension SAPTransport {
  /// The wire for a configuration: libcurl, or Foundation's own where somebody put protocol classes into it.
  static func wire(for configuration: URLSessionConfiguration) -> any Transport {
    let isCustom = (configuration.protocolClasses ?? []).contains {
      !String(reflecting: $0).hasPrefix("FoundationNetworking.")
    }
    if isCustom { return URLSessionTransport(configuration) }
    var settings = CurlConfiguration()
    settings.connectionsPerHost = configuration.httpMaximumConnectionsPerHost
    if let proxy = proxy(configuration.foundationProxies) { settings.proxy = proxy }
    return IdentifiedTransport(settings)
  }

  /// The proxy of `connectionProxyDictionary`; nil leaves it to the environment. One proxy is for everything: that for https
  /// before that for http before SOCKS.
  private static func proxy(_ dictionary: [AnyHashable: Any]?) -> Proxy? {
    guard let dictionary else { return nil }
    func server(_ name: String) -> (host: String, port: Int)? {
      guard (dictionary["\(name)Enable"] as? NSNumber)?.boolValue ?? (dictionary["\(name)Enable"] as? Bool) ?? false,
        let host = dictionary["\(name)Proxy"] as? String
      else { return nil }
      return (host, dictionary["\(name)Port"] as? Int ?? 80)
    }
    var proxy = Proxy.direct
    if let http = server("HTTPS") ?? server("HTTP") {
      proxy = .http(http.host, port: http.port)
    } else if let socks = server("SOCKS") {
      proxy = .socks5(socks.host, port: socks.port)
    }
    if let exceptions = dictionary["ExceptionsList"] as? [String] { proxy = proxy.bypassing(exceptions) }
    return proxy
  }
}
#endif
