#if os(Linux)
public import MartletEngine
@_spi(Toolkit) import MartletSemantics

/// A proxy: its address, the user's credentials, and the source of the setting. Descriptions show no credentials.
struct ProxyServer: Sendable, Hashable {
  /// Where a proxy is configured, for errors.
  enum Source: Sendable, Hashable {
    /// ``ConnectionConfiguration/proxy``.
    case setting
    /// An environment variable.
    case variable(String)
  }

  /// A name or an address, as in an `Origin`.
  let host: String
  let port: Int
  let credentials: ProxyCredentials?
  let source: Source

  /// The proxy as the origin of a URL; nil if no URL can name it.
  func origin(isSecure: Bool) -> Origin? {
    let literal = host.contains(":") ? "[\(host)]" : host
    return URL(string: "\(isSecure ? "https" : "http")://\(literal):\(port)/").flatMap(Origin.init)
  }

  /// Makes an error that names the proxy and where it is configured.
  ///
  /// - Parameters:
  ///   - reason: what went wrong, as the continuation of "the proxy HOST port PORT (…): ".
  ///   - kind: ``HTTPError/Kind/proxyFailed`` by default.
  ///   - origin: the origin of the request, with which the message begins.
  ///   - phase: the phase that failed; connecting by default.
  func error(
    _ reason: String, _ kind: HTTPError.Kind = .proxyFailed, for origin: Origin, phase: HTTPError.Phase = .connecting
  ) -> HTTPError {
    HTTPError(kind, "\(origin.authority): \(self): \(reason)", phase: phase)
  }

  /// Converts an error of the connection to the proxy into one that names the proxy. If its name cannot be resolved or
  /// no connection can be opened, the kind is ``HTTPError/Kind/proxyFailed``.
  func unreachable(_ cause: HTTPError, for origin: Origin) -> HTTPError {
    var error = cause
    if [.cannotResolveHost, .cannotConnect].contains(cause.kind) { error.kind = .proxyFailed }
    error.message = "\(origin.authority): \(self): \(cause.message)"
    return error
  }
}

/// The credentials that identify a client to a proxy.
enum ProxyCredentials: Sendable, Hashable {
  /// A user name and a password, and the schemes by which they may be sent to an HTTP proxy.
  case password(Credential, schemes: Set<PasswordScheme>)
  /// The source of a token for each request to an HTTP proxy.
  case tokens(any ProxyTokens)

  /// The user name and the password.
  var credential: Credential? { if case .password(let credential, _) = self { credential } else { nil } }

  static func == (left: Self, right: Self) -> Bool {
    switch (left, right) {
    case (.password(let left, let leftSchemes), .password(let right, let rightSchemes)):
      left == right && leftSchemes == rightSchemes
    case (.tokens(let left), .tokens(let right)): left === right
    case (.password, .tokens), (.tokens, .password): false
    }
  }

  func hash(into hasher: inout Hasher) {
    switch self {
    case .password(let credential, _): hasher.combine(credential)
    case .tokens(let tokens): hasher.combine(ObjectIdentifier(tokens))
    }
  }
}

extension ProxyServer {
  /// Returns a token for a request to the proxy.
  ///
  /// - Throws: the error of the source of tokens, as one that names the proxy; ``HTTPError/Kind/authenticationFailed``
  ///   if the token cannot be sent.
  func token(by tokens: any ProxyTokens, for origin: Origin) async throws(HTTPError) -> String {
    let token: String
    do { token = try await tokens.token(for: host) } catch {
      if error is CancellationError { throw HTTPError(wrapping: error) }
      guard var failure = error as? HTTPError else {
        var failure = self.error("there is no token for it", .authenticationFailed, for: origin, phase: .preparing)
        failure.underlying = error
        throw failure
      }
      failure.message = "\(origin.authority): \(self): \(failure.message)"
      throw failure
    }
    let fields: HTTPFields = [.proxyAuthorization: "\(tokens.scheme) \(token)"]
    guard fields.refusal == nil else {
      throw self.error("its token contains a control character", .authenticationFailed, for: origin, phase: .preparing)
    }
    return token
  }
}

extension ProxyServer: CustomStringConvertible, CustomReflectable {
  /// `the proxy 127.0.0.1 port 3128 (named by http_proxy)`.
  var description: String { "the proxy \(host) port \(port) (\(source))" }
  var customMirror: Mirror { Mirror(self, children: ["proxy": description]) }
}

extension ProxyServer.Source: CustomStringConvertible {
  var description: String {
    switch self {
    case .setting: Proxy.placeInErrors
    case .variable(let name): "named by \(name)"
    }
  }
}

extension Proxy {
  /// The name of ``ConnectionConfiguration/proxy`` in errors. A program whose users set the proxy elsewhere may name
  /// that place.
  @_spi(Toolkit) public static let placeInErrors = "named by the connection's settings"
}

/// The text of a proxy in a setting or a variable: `[scheme://][user[:password]@]host[:port][/…]`, as curl reads it.
///
/// Without a scheme it is an HTTP proxy; without a port it is 1080, or 443 for https. User name and password are
/// percent-encoded.
struct ProxyURL {
  enum Scheme: String {
    case http
    case https
    /// SOCKS5; the client resolves names.
    case socks5
    /// SOCKS5; the proxy resolves names.
    case socks5h
  }

  /// The mistake in the text. It quotes none of the text, which may contain a password.
  struct Fault: Error {
    let reason: String
  }

  let scheme: Scheme
  let host: String
  let port: Int
  let credential: Credential?

  init(_ text: String) throws(Fault) {
    var rest = text[...]
    var scheme = Scheme.http
    if let separator = rest.firstRange(of: "://") {
      guard let known = Scheme(rawValue: ASCII.lowercased(rest[..<separator.lowerBound])) else {
        throw Fault(reason: "its scheme is none of http, https, socks5 and socks5h")
      }
      scheme = known
      rest = rest[separator.upperBound...]
    }
    rest = rest.prefix { !"/?#".contains($0) }
    credential = Self.credential(in: &rest)
    // The URL parser checks host and port.
    guard let url = URL(string: "http://\(rest)/"), let origin = Origin(url) else {
      throw Fault(reason: "it is no 'scheme://host:port' with a port from 1 to 65535")
    }
    self.scheme = scheme
    host = origin.host
    port = url.port ?? (scheme == .https ? 443 : 1080)
  }

  /// Removes the user information.
  private static func credential(in authority: inout Substring) -> Credential? {
    guard let at = authority.lastIndex(of: "@") else { return nil }
    let parts = authority[..<at].split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
      .map { PercentEncoding.pathSegment.decode(String($0)) }
    authority = authority[authority.index(after: at)...]
    let credential = Credential(user: parts.first ?? "", password: parts.count == 2 ? parts[1] : "")
    return credential.user.isEmpty && credential.password.isEmpty ? nil : credential
  }
}
#endif
