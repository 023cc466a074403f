import Martlet
package import MartletEngine

// The one place that knows which transport the slideshow speaks through.
extension HTTPSession {
  /// The session of the slideshow: patient for 15 seconds, a minute for a whole picture, plain http on this computer only.
  package static func slideshow(
    allowsInsecure: Bool = false, transport: any Transport = CurlTransport()
  ) -> HTTPSession {
    var configuration = SessionConfiguration()
    configuration.options.responseTimeout = .seconds(15)
    configuration.options.idleTimeout = .seconds(15)
    configuration.options.deadline = .seconds(60)
    configuration.options.collectLimit = 64 << 20
    if !allowsInsecure { configuration.interceptors = [PlainHTTP.Guard()] }
    return HTTPSession(transport: transport, configuration: configuration)
  }
}
