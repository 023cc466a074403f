import MartletEngine
import MartletSQLite
import MartletSemantics
import MartletSignIn

/// The options for a call's behavior, as a session's configuration.
struct CallOptions {
  private let arguments: ParsedArguments
  private let surroundings: Surroundings

  init(_ arguments: ParsedArguments, _ surroundings: Surroundings) {
    (self.arguments, self.surroundings) = (arguments, surroundings)
  }

  func apply(to configuration: inout SessionConfiguration, for url: URL) throws {
    if let timeout = arguments.seconds(.timeout) {
      configuration.options.responseTimeout = timeout
      configuration.options.idleTimeout = timeout
    }
    configuration.options.deadline = arguments.seconds(.deadline)
    if arguments.has(.pathAsIs) { configuration.options.keepsDotSegments = true }
    if arguments.has(.noRedirects) { configuration.options.redirectPolicy = .manual }
    if let limit = arguments.count(.retry) {
      configuration.retry = RetryPolicy(limit: limit)
      configuration.retryBudget = .unlimited
      configuration.options.downloadResumptions = limit
      configuration.attemptLimit = max(configuration.attemptLimit, limit + 21)
    }
    try setCache(of: &configuration)
    try addInterceptors(to: &configuration, for: url)
    if arguments.has(.netrc) || arguments.has(.netrcFile) {
      // Only for the URL's own origin, because an entry may apply to every host.
      configuration.credentials.append(
        PasswordSource(try netrc(), for: .origin(of: url), offer: .preemptive))
    }
  }

  /// The file of `--netrc-file`, of `$NETRC`, or `.netrc` in the folder `$HOME`.
  private func netrc() throws -> Netrc {
    if let path = arguments.value(.netrcFile) { return try Netrc.file(surroundings.existingFile(path, of: .netrcFile)) }
    let places = [("NETRC", ""), ("HOME", "/.netrc")].compactMap { name, rest in
      surroundings.environment[name].flatMap { $0.isEmpty ? nil : $0 + rest }
    }
    guard let path = places.first else {
      throw UsageError("--netrc needs a folder: set HOME, or name the file with --netrc-file")
    }
    return try Netrc.file(surroundings.existingFile(path, of: .netrc))
  }

  private func setCache(of configuration: inout SessionConfiguration) throws {
    guard let path = arguments.value(.cache) else {
      if arguments.has(.offline) { throw UsageError("--offline answers from a cache: add --cache FOLDER") }
      return
    }
    let folder = surroundings.file(path)
    try FileManager.default.createDirectory(
      at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    configuration.cache = HTTPCache(store: try SQLiteCacheStore(at: folder.appending(component: "responses.sqlite")))
    if arguments.has(.offline) { configuration.options.cachePolicy = .returnCacheDataDontLoad }
  }

  private func addInterceptors(to configuration: inout SessionConfiguration, for url: URL) throws {
    if arguments.has(.correlation) { configuration.interceptors.append(CorrelationInterceptor(trace: .sampled)) }
    if let languages = arguments.value(.language) {
      let list = languages.split(separator: ",").map { String(ASCII.trimmed($0)) }
      configuration.interceptors.append(try LanguageInterceptor(list))
    }
    if let root = arguments.value(.csrf) {
      guard let rootURL = URL(text: root, relativeTo: url) else {
        throw UsageError("--csrf '\(root)' is not a URL: write the root of the service, such as /service/")
      }
      configuration.interceptors.append(CSRFInterceptor(root: rootURL))
    }
  }
}

extension URL {
  /// A URL on the command line: complete, a path of the same server, or without a scheme.
  fileprivate init?(text: String, relativeTo base: URL) {
    if text.hasPrefix("/") {
      guard let url = URL(string: text, relativeTo: base)?.absoluteURL else { return nil }
      self = url
    } else {
      guard let url = try? TargetURL.parse(text) else { return nil }
      self = url
    }
  }
}

/// The options that decide how the transport connects.
struct ConnectionFlags {
  private let arguments: ParsedArguments
  private let surroundings: Surroundings

  init(_ arguments: ParsedArguments, _ surroundings: Surroundings) {
    (self.arguments, self.surroundings) = (arguments, surroundings)
  }

  func configuration() throws(UsageError) -> ConnectionConfiguration {
    var configuration = ConnectionConfiguration()
    if let timeout = arguments.seconds(.timeout) { configuration.connectTimeout = timeout }
    if arguments.has(.http1), arguments.has(.http2) { throw UsageError("--http1 and --http2 exclude each other") }
    if arguments.has(.http1) { configuration.versions = .http1 }
    if arguments.has(.http2) { configuration.versions = .http2PriorKnowledge }
    if let proxy = arguments.value(.proxy) { configuration.proxy = try Self.proxy(proxy) }
    configuration.tls = try tls()
    return configuration
  }

  private func tls() throws(UsageError) -> TLSSettings {
    var tls = TLSSettings()
    tls.additionalAuthorities = try file(.ca)
    tls.pinnedPublicKeys = try arguments.all(.pin).map { text throws(UsageError) in
      let pin = text.hasPrefix("sha256//") ? String(text.dropFirst(8)) : text
      guard Data(base64Encoded: pin)?.count == 32 else {
        throw UsageError("--pin '\(text)' is not the base64 of a SHA-256: it has 44 characters")
      }
      return pin
    }
    if arguments.has(.insecure), arguments.has(.cert) {
      throw UsageError(
        "--insecure and --cert exclude each other: the server would get the certificate before it is known to be the "
          + "right one; --ca FILE trusts the server's authority")
    }
    if arguments.has(.insecure) { tls.acceptsRefusedServer = { _, _ in true } }
    guard let certificate = try file(.cert) else {
      if arguments.has(.key) || arguments.has(.certPassword) { throw UsageError("--key needs --cert FILE") }
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
    return try surroundings.existingFile(path, of: option)
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
