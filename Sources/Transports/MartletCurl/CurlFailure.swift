#if os(Linux)
import CCurl
import MartletEngine
import MartletSemantics

/// Translates libcurl's error codes to errors with a kind, a phase, and the name of the host.
struct CurlFailure {
  let code: CURLcode
  let handle: EasyHandle
  /// Whether the response's head was complete.
  let hasHead: Bool

  var error: HTTPError {
    let (kind, phase) = classification
    return HTTPError(kind, "\(Self.peer(of: handle)): \(reason(kind))", phase: phase ?? Self.phase(of: handle))
  }

  /// The message: libcurl's own, which may contain address and port, but never a URL with credentials, or a clearer
  /// one.
  private func reason(_ kind: HTTPError.Kind) -> String {
    let detail = handle.lastError
    if kind == .headersTooLarge { return "a line of the head or the trailers is longer than libcurl accepts" }
    if kind == .protocolViolation, detail.isEmpty, code == CURLE_BAD_FUNCTION_ARGUMENT {
      return "a line of the head or the trailers is no field (RFC 9112 §5)"
    }
    let meaning = detail.isEmpty ? String(cString: curl_easy_strerror(code)) : detail
    if isAnswerWithoutTLS { return "the server does not use TLS on this port: is it a port for http? (\(meaning))" }
    guard code == CURLE_SSL_CERTPROBLEM else { return meaning }
    if detail.contains("PEM") { return isWrongPassword ? meaning + " (is the password right?)" : meaning }
    return isWrongPassword ? meaning : meaning + " (is it a PKCS#12 container?)"
  }

  /// Host and port of the request.
  static func peer(of handle: EasyHandle) -> String {
    guard let text = handle.string(CURLINFO_EFFECTIVE_URL), let url = URL(string: text), let host = url.host() else {
      return "the request"
    }
    let literal = host.contains(":") ? "[\(host)]" : host
    return url.port.map { "\(literal):\($0)" } ?? literal
  }

  /// The phase that the transfer has reached.
  static func phase(of handle: EasyHandle) -> HTTPError.Phase {
    if handle.offset(CURLINFO_STARTTRANSFER_TIME_T) > 0 { return .receiving }
    if handle.offset(CURLINFO_PRETRANSFER_TIME_T) > 0 { return .waiting }
    if handle.offset(CURLINFO_CONNECT_TIME_T) > 0 { return .securing }
    return handle.offset(CURLINFO_NAMELOOKUP_TIME_T) > 0 ? .connecting : .resolving
  }

  private var classification: (HTTPError.Kind, HTTPError.Phase?) {
    isCertificateRefused ? (.badClientCertificate, .securing) : classificationOfCode
  }

  private var classificationOfCode: (HTTPError.Kind, HTTPError.Phase?) {
    switch code {
    // libcurl has the same codes for bad arguments and, after the request was sent, for bad responses
    case CURLE_URL_MALFORMAT, CURLE_BAD_FUNCTION_ARGUMENT, CURLE_UNSUPPORTED_PROTOCOL:
      isSent ? (.protocolViolation, hasHead ? .receiving : .waiting) : (.invalidRequest, .preparing)
    case CURLE_WEIRD_SERVER_REPLY: (.protocolViolation, hasHead ? .receiving : .waiting)
    case CURLE_OUT_OF_MEMORY where isSent, Self.tooLarge: (.headersTooLarge, hasHead ? .receiving : .waiting)
    case CURLE_COULDNT_RESOLVE_HOST: (.cannotResolveHost, .resolving)
    case CURLE_COULDNT_RESOLVE_PROXY: (.proxyFailed, .resolving)
    case CURLE_PROXY: (.proxyFailed, .connecting)
    case CURLE_COULDNT_CONNECT: (.cannotConnect, .connecting)
    case CURLE_OPERATION_TIMEDOUT: (.connectTimeout, nil)
    // of a transfer coding: the engine decodes content codings
    case CURLE_BAD_CONTENT_ENCODING, CURLE_WRITE_ERROR: (.protocolViolation, .receiving)
    case CURLE_PEER_FAILED_VERIFICATION: (.untrustedCertificate, .securing)
    case CURLE_SSL_PINNEDPUBKEYNOTMATCH: (.pinMismatch, .securing)
    case CURLE_SSL_CERTPROBLEM:
      (isWrongPassword ? .badClientCertificatePassword : .badClientCertificate, .securing)
    case CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CIPHER, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_ISSUER_ERROR,
      CURLE_SSL_CLIENTCERT, CURLE_USE_SSL_FAILED, CURLE_SSL_ENGINE_INITFAILED:
      (.tlsFailed, .securing)
    // so says libcurl of an HTTP/2 connection that broke while it wrote
    case CURLE_HTTP2 where handle.lastError.contains("Send failure"): (.connectionLost, .sending)
    case CURLE_HTTP2, CURLE_HTTP2_STREAM, CURLE_HTTP3: (.protocolViolation, nil)
    case CURLE_AUTH_ERROR, CURLE_LOGIN_DENIED: (.authenticationFailed, nil)
    case CURLE_GOT_NOTHING: (.connectionLost, .waiting)
    case CURLE_SEND_ERROR, CURLE_SEND_FAIL_REWIND: (.connectionLost, .sending)
    case CURLE_PARTIAL_FILE: (.connectionLost, .receiving)
    case CURLE_RECV_ERROR: receiveFailure
    default: (.other, nil)
    }
  }

  /// `CURLE_RECV_ERROR` has several causes: a proxy refused the tunnel, the framing is invalid, or the connection
  /// broke.
  private var receiveFailure: (HTTPError.Kind, HTTPError.Phase?) {
    if handle.long(CURLINFO_HTTP_CONNECTCODE) >= 300 { return (.proxyFailed, .connecting) }
    let detail = handle.lastError
    if detail.contains("Out of memory in chunked") || detail.contains("Too large response headers") {
      return (.headersTooLarge, hasHead ? .receiving : .waiting)
    }
    if blamesHTTP2 {
      // nghttp2's codes for a failed callback, because libcurl has no room for the head, and for too many CONTINUATION
      // frames
      let isTooLarge = detail.contains("returned -902") || detail.contains("returned -905")
      let kind = isTooLarge ? HTTPError.Kind.headersTooLarge : .protocolViolation
      return (kind, hasHead ? .receiving : .waiting)
    }
    return detail.contains("chunk") ? (.protocolViolation, .receiving) : (.connectionLost, nil)
  }

  /// Whether the server refused the client certificate, with an alert about certificates (RFC 8446 §6.2). With TLS 1.3
  /// the alert comes after the client's part of the handshake, as a failure to read.
  private var isCertificateRefused: Bool {
    guard [CURLE_SSL_CONNECT_ERROR, CURLE_RECV_ERROR, CURLE_SEND_ERROR].contains(code) else { return false }
    let detail = handle.lastError
    return Self.certificateAlerts.contains { detail.contains("alert " + $0) }
  }

  /// Whether the server's first bytes were no TLS record: OpenSSL takes the place of the version in an HTTP response,
  /// or that of the length, for invalid (RFC 8446 §5.1).
  private var isAnswerWithoutTLS: Bool {
    guard code == CURLE_SSL_CONNECT_ERROR else { return false }
    let detail = handle.lastError
    return detail.contains("SSL routines")
      && (detail.contains("wrong version number") || detail.contains("packet length too long"))
  }

  private static let certificateAlerts = [
    "bad certificate", "unsupported certificate", "certificate revoked", "certificate expired", "certificate unknown",
    "unknown ca",
  ]

  /// Whether a frame of an HTTP/2 connection was invalid.
  var blamesHTTP2: Bool { handle.lastError.contains("nghttp2_session_mem_recv() returned") }

  /// Whether sending the request had begun.
  private var isSent: Bool { handle.offset(CURLINFO_PRETRANSFER_TIME_T) > 0 }

  /// `CURLE_TOO_LARGE`, which older headers of libcurl do not have.
  private static let tooLarge = CURLcode(rawValue: 100)

  /// Whether a client certificate could not be opened because of its password. libcurl has one code for this and for an
  /// invalid container, but different messages. For a key in a file of its own it only says that the key cannot be
  /// used: if the file exists and is encrypted, the password is taken for the reason.
  private var isWrongPassword: Bool {
    let detail = handle.lastError
    if detail.contains("check password") { return true }
    guard let start = detail.firstRange(of: "private key file: '"),
      let end = detail[start.upperBound...].firstRange(of: "' type PEM"),
      let key = try? Data(contentsOf: URL(filePath: String(detail[start.upperBound..<end.lowerBound])))
    else { return false }
    return String(decoding: key, as: UTF8.self).contains("ENCRYPTED")
  }
}
#endif
