#if os(Linux)
import CCurl
import MartletEngine
import MartletSemantics

/// Turns a request and a configuration into the options of an easy handle.
struct RequestSetup {
  let request: HTTPRequest
  let origin: Origin
  let configuration: CurlConfiguration
  let handle: EasyHandle
  let body: OpenBody?
  let trust: Trust

  /// Sets every option that does not point to the transfer. Returns the header lines, which the transfer has to free.
  func apply() throws(HTTPError) -> UnsafeMutablePointer<curl_slist>? {
    handle.reset()
    setTarget()
    setMethod()
    setConnection()
    try setProxy()
    try setNegotiation()
    setTLS()
    if let refused = handle.refusedOption { throw refusal(refused.option, refused.code) }
    return headerLines()
  }

  /// Whether the body waits for the server's consent: where the caller says so, or allows it and it is worth the time.
  var expectsContinue: Bool {
    guard body != nil else { return false }
    if let expectation = request.fields[.expect] { return ASCII.equalIgnoringCase(expectation, "100-continue") }
    guard request.options.continueTimeout != nil else { return false }
    return isLarge || !request.body.isReplayable
  }

  /// Whether libcurl finds that a body is worth a 100: it is larger than 1 MiB, or nobody knows.
  private var isLarge: Bool { body?.length.map { $0 > 1 << 20 } ?? true }

  private func setTarget() {
    handle.set(CURLOPT_URL, request.url.sendableText(to: origin))
    handle.set(CURLOPT_PATH_AS_IS, 1)
    handle.set(CURLOPT_PROTOCOLS_STR, "http,https")
  }

  private func setMethod() {
    let method = request.method
    if method == .head { return handle.set(CURLOPT_NOBODY, 1) }
    let hasBody = body != nil || [.post, .put, .patch].contains(method)
    if hasBody {
      handle.set(CURLOPT_UPLOAD, 1)
      handle.set(CURLOPT_INFILESIZE_LARGE, offset: body.map { $0.length ?? -1 } ?? 0)
      handle.prefer(CURLOPT_UPLOAD_BUFFERSIZE, 256 << 10)
      if let timeout = request.options.continueTimeout {
        handle.set(CURLOPT_EXPECT_100_TIMEOUT_MS, max(1, timeout.milliseconds))
      }
    }
    if method != .get || hasBody { handle.set(CURLOPT_CUSTOMREQUEST, method.rawValue) }
  }

  private func setConnection() {
    handle.set(CURLOPT_NOSIGNAL, 1)
    handle.prefer(CURLOPT_BUFFERSIZE, 128 << 10)
    handle.set(CURLOPT_TCP_KEEPALIVE, 1)
    // whole seconds, of which 0 would mean for ever
    handle.set(CURLOPT_MAXAGE_CONN, max(1, idleSeconds))
    // 0 would mean libcurl's own five minutes; what the caller leaves open ends with the response timeout
    handle.set(
      CURLOPT_CONNECTTIMEOUT_MS, configuration.connectTimeout.map { max(1, $0.milliseconds) } ?? Int(Int32.max))
    if ownsConnection { handle.set(CURLOPT_FRESH_CONNECT, 1) }
    switch configuration.versions {
    case .automatic:
      handle.set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_2TLS))
      handle.set(CURLOPT_PIPEWAIT, origin.isSecure ? 1 : 0)
    case .http1: handle.set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1))
    case .http2PriorKnowledge:
      handle.set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE))
      handle.set(CURLOPT_PIPEWAIT, 1)
    }
  }

  /// Whether the request's connection is for this request only: because none may be idle, or because libcurl before 8.1.0 fails
  /// at the second request over a plain connection on which it assumes HTTP/2.
  ///
  /// `CURLOPT_FORBID_REUSE` would not do: libcurl closes the connection before it says how the transfer ended, as it closes one
  /// that failed.
  var ownsConnection: Bool {
    idleSeconds <= 0 || assumesHTTP2WithoutReuse
  }

  private var idleSeconds: Int { configuration.idleLifetime.milliseconds / 1000 }

  private var assumesHTTP2WithoutReuse: Bool {
    configuration.versions == .http2PriorKnowledge && !origin.isSecure && !HandlePool.isReuseSafe
  }

  private func setProxy() throws(HTTPError) {
    let proxy = configuration.proxy
    switch proxy.route {
    case .environment: break
    case .direct: handle.set(CURLOPT_PROXY, "")
    case .server(let url):
      handle.set(CURLOPT_PROXY, url)
      handle.set(CURLOPT_NOPROXY, proxy.bypass.joined(separator: ","))
    }
    handle.set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
    guard let credentials = proxy.credentials else { return }
    if credentials.schemes.contains(.negotiate) { try requireNegotiation() }
    handle.set(CURLOPT_PROXYAUTH, credentials.schemes.reduce(0) { $0 | $1.bit })
    handle.set(CURLOPT_PROXYUSERNAME, credentials.user)
    handle.set(CURLOPT_PROXYPASSWORD, credentials.password)
  }

  /// The engine answers the challenges of origins, this one excepted, because it belongs to the connection.
  private func setNegotiation() throws(HTTPError) {
    guard configuration.negotiates(for: request) else { return }
    try requireNegotiation()
    handle.set(CURLOPT_HTTPAUTH, martlet_auth_negotiate)
    handle.set(CURLOPT_USERNAME, "")
    handle.set(CURLOPT_PASSWORD, "")
  }

  private func requireNegotiation() throws(HTTPError) {
    guard martlet_can_negotiate() == 0 else { return }
    throw HTTPError(
      .authenticationFailed, "this libcurl was built without GSS-API, so it cannot negotiate: install one that was",
      phase: .preparing)
  }

  private func setTLS() {
    let tls = configuration.tls
    handle.set(CURLOPT_SSL_VERIFYPEER, 1)
    handle.set(CURLOPT_SSL_VERIFYHOST, 2)
    handle.set(
      CURLOPT_SSLVERSION,
      tls.minimumVersion == .v1_3 ? Int(CURL_SSLVERSION_TLSv1_3) : Int(CURL_SSLVERSION_TLSv1_2))
    setAuthorities()
    if !tls.pinnedPublicKeys.isEmpty {
      handle.set(CURLOPT_PINNEDPUBLICKEY, tls.pinnedPublicKeys.map { "sha256//" + $0 }.joined(separator: ";"))
    }
    guard let certificate = tls.clientCertificate else { return }
    handle.set(CURLOPT_KEYPASSWD, certificate.password ?? "")  // without one, OpenSSL would ask at the terminal
    handle.set(CURLOPT_SSLCERTTYPE, certificate.type)
    switch certificate.source {
    case .file(let url): handle.set(CURLOPT_SSLCERT, url.path)
    case .data(let data): handle.set(CURLOPT_SSLCERT_BLOB, blob: data)
    case .pem(let certificate, let key):
      handle.set(CURLOPT_SSLCERT, certificate.path)
      handle.set(CURLOPT_SSLKEYTYPE, "PEM")
      handle.set(CURLOPT_SSLKEY, key.path)
    }
  }

  private func setAuthorities() {
    switch trust {
    case .system: break
    case .file(let file): handle.set(CURLOPT_CAINFO, file.path)
    case .certificates(let data): handle.set(CURLOPT_CAINFO_BLOB, blob: data)
    }
    // the folder of the system's certificates is one more place in which OpenSSL looks
    if configuration.tls.authorities != nil { handle.set(CURLOPT_CAPATH, pointer: nil) }
  }

  private func headerLines() -> UnsafeMutablePointer<curl_slist>? {
    var lines: UnsafeMutablePointer<curl_slist>?
    for (name, value) in request.fields where !Self.framing.contains(name) {
      let line = value.isEmpty ? "\(name.rawName);" : "\(name.rawName): \(value)"
      if name == .cookie, FieldOctets.hasOctets(line) {
        lines = curl_slist_append(lines, FieldOctets.bytes(line).map { CChar(bitPattern: $0) } + [0])
      } else {
        lines = curl_slist_append(lines, line)
      }
    }
    // libcurl writes `[name]` behind a proxy whose connection served an IPv6 address before
    if !origin.isSecure, !request.fields.contains(.host) {
      lines = curl_slist_append(lines, "Host: \(origin.authority)")
    }
    // libcurl expects a 100 before every large body by itself, asked or not, and goes again without after a 417
    if body != nil, !request.fields.contains(.expect) {
      if !expectsContinue {
        lines = curl_slist_append(lines, "Expect:")
      } else if !isLarge {
        lines = curl_slist_append(lines, "Expect: 100-continue")
      }
    }
    return lines
  }

  /// How the message is framed is the transport's business; a second opinion in a field would be a smuggling risk.
  private static let framing: Set<FieldName> = [.contentLength, .transferEncoding]

  private func refusal(_ option: CURLoption, _ code: CURLcode) -> HTTPError {
    let reason = String(cString: curl_easy_strerror(code))
    let kind: HTTPError.Kind = option == CURLOPT_SSLCERT_BLOB ? .badClientCertificate : .invalidRequest
    return HTTPError(
      kind, "libcurl refuses option \(option.rawValue) for '\(request.url.redacted)': \(reason)", phase: .preparing)
  }
}

extension Proxy.Scheme {
  fileprivate var bit: Int {
    switch self {
    case .basic: martlet_auth_basic
    case .digest: martlet_auth_digest
    case .negotiate: martlet_auth_negotiate
    }
  }
}

extension URL {
  /// The URL without what no server sees: the fragment; and user information, of which libcurl would make an
  /// `Authorization` that nobody asked for. The host is the origin's, in A-labels: libcurl reads others in the process's locale.
  fileprivate func sendableText(to origin: Origin) -> String {
    var text = absoluteString
    if let fragment = text.utf8.firstIndex(of: UInt8(ascii: "#")) { text.removeSubrange(fragment...) }
    guard let slashes = text.firstRange(of: "://") else { return text }
    let end = text[slashes.upperBound...].utf8.firstIndex { "/?".utf8.contains($0) } ?? text.endIndex
    var authority = text[slashes.upperBound..<end]
    if let at = authority.utf8.lastIndex(of: UInt8(ascii: "@")) {
      authority = authority[authority.utf8.index(after: at)...]
    }
    // an address with a zone stays as it was written
    let place = authority.utf8.contains(UInt8(ascii: "[")) ? String(authority) : origin.authority
    return "\(origin.scheme)://\(place)\(text[end...])"
  }
}

extension Duration {
  /// Whole milliseconds, rounded up, so that a short time never becomes none.
  var milliseconds: Int {
    let (seconds, attoseconds) = components
    guard seconds < Int64(Int32.max) / 1000 else { return Int(Int32.max) }
    return Int(seconds) * 1000 + Int((attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
  }

  /// Nanoseconds, none below zero.
  var nanoseconds: UInt64 {
    let (seconds, attoseconds) = components
    guard seconds >= 0, attoseconds >= 0 else { return 0 }
    guard seconds < 1 << 33 else { return UInt64(1 << 33) * 1_000_000_000 }
    return UInt64(seconds) * 1_000_000_000 + UInt64(attoseconds / 1_000_000_000)
  }
}
#endif
