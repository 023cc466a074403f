#if os(Linux)
import CCurl
import MartletEngine
import MartletSemantics

/// Sets the options of an easy handle for a request and a configuration.
struct RequestSetup {
  let request: HTTPRequest
  let origin: Origin
  let configuration: ConnectionConfiguration
  let handle: EasyHandle
  let body: OpenBody?
  let authorities: TrustedAuthorities

  /// Sets all options that do not refer to the transfer. Returns the header lines, which the transfer has to free.
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

  /// Whether the body is sent after a 100 response only.
  var expectsContinue: Bool { body != nil && request.expectsContinue }

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
    // whole seconds; 0 would mean no limit
    handle.set(CURLOPT_MAXAGE_CONN, max(1, idleSeconds))
    // 0 would mean libcurl's default of five minutes; without a limit the response timeout applies
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

  /// Whether the connection is used for this request only: because connections may not be idle, or because libcurl
  /// before 8.1.0 fails at the second request over a plain connection on which it assumes HTTP/2.
  ///
  /// `CURLOPT_FORBID_REUSE` is not used for this: with it, libcurl closes the connection before it reports the end of
  /// the transfer, which is the same as for a connection that failed.
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
    switch proxy.credentials {
    case nil: break
    case .tokens(let tokens):
      throw HTTPError(
        .authenticationFailed,
        "this transport cannot send the tokens of \(type(of: tokens)) to a proxy: use SocketTransport",
        phase: .preparing)
    case .password(let user, let password, let schemes):
      if schemes.contains(.negotiate) { try requireNegotiation() }
      handle.set(CURLOPT_PROXYAUTH, schemes.reduce(0) { $0 | $1.bit })
      handle.set(CURLOPT_PROXYUSERNAME, user)
      handle.set(CURLOPT_PROXYPASSWORD, password)
    }
  }

  /// Negotiate is the only scheme of an origin that libcurl answers and not the engine, because it belongs to the
  /// connection.
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

  private func headerLines() -> UnsafeMutablePointer<curl_slist>? {
    var lines: UnsafeMutablePointer<curl_slist>?
    // where libcurl adds the field itself, it leaves it out when it repeats the request after a 417
    let addsExpectation = expectsContinue && body.map { $0.length.map { $0 > 1 << 20 } ?? true } ?? false
    for (name, value) in request.fields where !Self.framing.contains(name) && !(addsExpectation && name == .expect) {
      let line = value.isEmpty ? "\(name.rawName);" : "\(name.rawName): \(value)"
      if name == .cookie, FieldOctets.hasOctets(line) {
        lines = curl_slist_append(lines, FieldOctets.bytes(line).map { CChar(bitPattern: $0) } + [0])
      } else {
        lines = curl_slist_append(lines, line)
      }
    }
    // libcurl writes `[name]` on a proxy's connection that was used for an IPv6 address before
    if !origin.isSecure, !request.fields.contains(.host) {
      lines = curl_slist_append(lines, "Host: \(origin.authority)")
    }
    // libcurl itself adds an `Expect` to every request with a large body
    if body != nil, !request.fields.contains(.expect) { lines = curl_slist_append(lines, "Expect:") }
    return lines
  }

  /// The fields that the transport sets itself: other values would allow request smuggling.
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
  /// Returns the URL without its fragment and without user information, which libcurl would turn into an
  /// `Authorization`. The host is in A-labels, as the origin has it: libcurl would interpret others in the process's
  /// locale.
  fileprivate func sendableText(to origin: Origin) -> String {
    var text = absoluteString
    if let fragment = text.utf8.firstIndex(of: UInt8(ascii: "#")) { text.removeSubrange(fragment...) }
    guard let slashes = text.firstRange(of: "://") else { return text }
    let end = text[slashes.upperBound...].utf8.firstIndex { "/?".utf8.contains($0) } ?? text.endIndex
    var authority = text[slashes.upperBound..<end]
    if let at = authority.utf8.lastIndex(of: UInt8(ascii: "@")) {
      authority = authority[authority.utf8.index(after: at)...]
    }
    // an IPv6 address may have a zone, which is kept
    let host = authority.utf8.contains(UInt8(ascii: "[")) ? String(authority) : origin.authority
    return "\(origin.scheme)://\(host)\(text[end...])"
  }
}

extension Duration {
  /// Whole milliseconds, rounded up, so that a short time does not become 0.
  var milliseconds: Int {
    let (seconds, attoseconds) = components
    guard seconds < Int64(Int32.max) / 1000 else { return Int(Int32.max) }
    return Int(seconds) * 1000 + Int((attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
  }

  /// Nanoseconds; 0 for a negative duration.
  var nanoseconds: UInt64 {
    let (seconds, attoseconds) = components
    guard seconds >= 0, attoseconds >= 0 else { return 0 }
    guard seconds < 1 << 33 else { return UInt64(1 << 33) * 1_000_000_000 }
    return UInt64(seconds) * 1_000_000_000 + UInt64(attoseconds / 1_000_000_000)
  }
}
#endif
