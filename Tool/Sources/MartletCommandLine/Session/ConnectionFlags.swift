@_spi(Transports) import MartletEngine
@_spi(Toolkit) import MartletSemantics

/// The options that decide how the transport connects.
struct ConnectionFlags {
  private let arguments: ParsedArguments
  private let environment: ToolEnvironment

  init(_ arguments: ParsedArguments, _ environment: ToolEnvironment) {
    (self.arguments, self.environment) = (arguments, environment)
  }

  /// - Parameter url: the URL of the request, which decides between proxies for http and https.
  func configuration(for url: URL) throws(UsageError) -> ConnectionConfiguration {
    var configuration = ConnectionConfiguration()
    if let timeout = arguments.seconds(.timeout) { configuration.connectTimeout = timeout }
    if arguments.has(.http1), arguments.has(.http2) { throw UsageError("--http1 and --http2 cannot be combined") }
    if arguments.has(.http1) { configuration.versions = .http1 }
    if arguments.has(.http2) { configuration.versions = .http2PriorKnowledge }
    for text in arguments.all(.proxy) {
      let (scheme, proxy) = Self.parts(of: text)
      if scheme == nil || scheme == url.scheme?.lowercased() { configuration.proxy = try Self.proxy(proxy) }
    }
    configuration.tls = try tls()
    return configuration
  }

  private func tls() throws(UsageError) -> TLSSettings {
    var tls = TLSSettings()
    tls.additionalAuthorities = try file(.ca)
    tls.keyLog = environment.keyLog
    if arguments.value(.ssl) == "tls1.3" { tls.minimumVersion = .v1_3 }
    tls.pinnedPublicKeys = try arguments.all(.pin).map { text throws(UsageError) in
      let pin = text.hasPrefix("sha256//") ? String(text.dropFirst(8)) : text
      guard Data(base64Encoded: pin)?.count == 32 else {
        throw UsageError("--pin '\(text)' is not the base64 of a SHA-256: it has 44 characters")
      }
      return pin
    }
    if arguments.has(.insecure), arguments.has(.cert) {
      throw UsageError(
        "--insecure and --cert cannot be combined: the server would get the certificate before it is known to be the "
          + "right one; --ca FILE trusts the server's authority")
    }
    if arguments.has(.insecure) { tls.acceptsRefusedServer = { _, _ in true } }
    guard let certificate = try file(.cert) else {
      for option in ["--key": arguments.has(.key), "--cert-password": arguments.has(.certPassword)]
      where option.value { throw UsageError("\(option.key) needs --cert FILE") }
      return tls
    }
    let password = arguments.value(.certPassword)
    if ["p12", "pfx"].contains(ASCII.lowercased(certificate.pathExtension)) {
      tls.clientCertificate = .pkcs12(file: certificate, password: password ?? "")
    } else {
      let key = try file(.key) ?? certificate
      tls.clientCertificate = .pem(certificate: certificate, key: key, password: password)
    }
    return tls
  }

  private func file(_ option: OptionName) throws(UsageError) -> URL? {
    guard let path = arguments.value(option) else { return nil }
    return try environment.existingFile(path, of: option)
  }

  /// Splits HTTPie's form of a proxy: `http:URL` and `https:URL` are for URLs of this scheme, and `all:URL` is for all.
  private static func parts(of text: String) -> (scheme: String?, proxy: String) {
    for scheme in ["http", "https", "all"] where text.hasPrefix(scheme + ":") && !text.hasPrefix(scheme + "://") {
      return (scheme == "all" ? nil : scheme, String(text.dropFirst(scheme.count + 1)))
    }
    return (nil, text)
  }

  private static func proxy(_ text: String) throws(UsageError) -> Proxy {
    if text == "none" { return .direct }
    let complete = text.contains("://") ? text : "http://" + text
    guard let url = URL(text: complete), let host = url.host(percentEncoded: false), !host.isEmpty else {
      throw UsageError("--proxy is not a URL: write one such as http://proxy.example.com:3128")
    }
    let proxy: Proxy
    switch url.scheme?.lowercased() {
    case "http": proxy = .http(host, port: url.port ?? 80)
    case "https": proxy = .https(host, port: url.port ?? 443)
    case "socks5", "socks5h": proxy = .socks5(host, port: url.port ?? 1080)
    default: throw UsageError("--proxy has the scheme '\(url.scheme ?? "")': use http, https or socks5")
    }
    guard let user = url.user(percentEncoded: false) else { return proxy }
    return proxy.authenticated(user: user, password: url.password(percentEncoded: false) ?? "")
  }
}
