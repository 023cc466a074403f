#if os(Linux)
import CCurl
import MartletEngine
import MartletSemantics

/// Translates libcurl's codes into kinds that a user can act on, and names host and phase.
struct CurlFailure {
  let code: CURLcode
  let handle: EasyHandle
  /// Whether the response's head was whole.
  let hasHead: Bool

  var error: HTTPError {
    let (kind, phase) = classification
    return HTTPError(kind, "\(Self.peer(of: handle)): \(reason(kind))", phase: phase ?? Self.phase(of: handle))
  }

  /// libcurl's own words, which name address and port; never a URL with credentials.
  private func reason(_ kind: HTTPError.Kind) -> String {
    let detail = handle.lastError
    if kind == .headersTooLarge { return "a line of the head or the trailers is longer than libcurl takes" }
    if kind == .protocolViolation, detail.isEmpty, code == CURLE_BAD_FUNCTION_ARGUMENT {
      return "a line of the head or the trailers is no field (RFC 9112 §5)"
    }
    let meaning = detail.isEmpty ? String(cString: curl_easy_strerror(code)) : detail
    guard code == CURLE_SSL_CERTPROBLEM else { return meaning }
    if detail.contains("PEM") { return isWrongPassword ? meaning + " (is the password right?)" : meaning }
    return isWrongPassword ? meaning : meaning + " (is it a PKCS#12 container?)"
  }

  /// Host and port of the request, or the whole redacted URL where there is none.
  static func peer(of handle: EasyHandle) -> String {
    guard let text = handle.string(CURLINFO_EFFECTIVE_URL), let url = URL(string: text), let host = url.host() else {
      return "the request"
    }
    let literal = host.contains(":") ? "[\(host)]" : host
    return url.port.map { "\(literal):\($0)" } ?? literal
  }

  /// How far the transfer had come.
  static func phase(of handle: EasyHandle) -> HTTPError.Phase {
    if handle.offset(CURLINFO_STARTTRANSFER_TIME_T) > 0 { return .receiving }
    if handle.offset(CURLINFO_PRETRANSFER_TIME_T) > 0 { return .waiting }
    if handle.offset(CURLINFO_CONNECT_TIME_T) > 0 { return .securing }
    return handle.offset(CURLINFO_NAMELOOKUP_TIME_T) > 0 ? .connecting : .resolving
  }

  private var classification: (HTTPError.Kind, HTTPError.Phase?) {
    switch code {
    // codes for bad arguments are for bad responses too, once the request is on its way
    case CURLE_URL_MALFORMAT, CURLE_BAD_FUNCTION_ARGUMENT, CURLE_UNSUPPORTED_PROTOCOL:
      isSent ? (.protocolViolation, hasHead ? .receiving : .waiting) : (.invalidRequest, .preparing)
    case CURLE_WEIRD_SERVER_REPLY: (.protocolViolation, hasHead ? .receiving : .waiting)
    case CURLE_OUT_OF_MEMORY where isSent, Self.tooLarge: (.headersTooLarge, hasHead ? .receiving : .waiting)
    case CURLE_COULDNT_RESOLVE_HOST: (.cannotResolveHost, .resolving)
    case CURLE_COULDNT_RESOLVE_PROXY: (.proxyFailed, .resolving)
    case CURLE_PROXY: (.proxyFailed, .connecting)
    case CURLE_COULDNT_CONNECT: (.cannotConnect, .connecting)
    case CURLE_OPERATION_TIMEDOUT: (.connectTimeout, nil)
    // of a transfer coding: content codings are the engine's
    case CURLE_BAD_CONTENT_ENCODING, CURLE_WRITE_ERROR: (.protocolViolation, .receiving)
    case CURLE_PEER_FAILED_VERIFICATION: (.untrustedCertificate, .securing)
    case CURLE_SSL_PINNEDPUBKEYNOTMATCH: (.pinMismatch, .securing)
    case CURLE_SSL_CERTPROBLEM:
      (isWrongPassword ? .badClientCertificatePassword : .badClientCertificate, .securing)
    case CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CIPHER, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_ISSUER_ERROR,
      CURLE_SSL_CLIENTCERT, CURLE_USE_SSL_FAILED, CURLE_SSL_ENGINE_INITFAILED:
      (.tlsFailed, .securing)
    case CURLE_HTTP2, CURLE_HTTP2_STREAM, CURLE_HTTP3: (.protocolViolation, nil)
    case CURLE_AUTH_ERROR, CURLE_LOGIN_DENIED: (.authenticationFailed, nil)
    case CURLE_GOT_NOTHING: (.connectionLost, .waiting)
    case CURLE_SEND_ERROR, CURLE_SEND_FAIL_REWIND: (.connectionLost, .sending)
    case CURLE_PARTIAL_FILE: (.connectionLost, .receiving)
    case CURLE_RECV_ERROR: receiveFailure
    default: (.other, nil)
    }
  }

  /// One code for several things: a proxy that refuses the tunnel, framing that makes no sense, a broken connection.
  private var receiveFailure: (HTTPError.Kind, HTTPError.Phase?) {
    if handle.long(CURLINFO_HTTP_CONNECTCODE) >= 300 { return (.proxyFailed, .connecting) }
    let detail = handle.lastError
    if detail.contains("Out of memory in chunked") || detail.contains("Too large response headers") {
      return (.headersTooLarge, hasHead ? .receiving : .waiting)
    }
    if blamesHTTP2 {
      // nghttp2's codes for a callback that fails, because libcurl has no room for the head, and for too many CONTINUATION
      let isTooLarge = detail.contains("returned -902") || detail.contains("returned -905")
      let kind = isTooLarge ? HTTPError.Kind.headersTooLarge : .protocolViolation
      return (kind, hasHead ? .receiving : .waiting)
    }
    return detail.contains("chunk") ? (.protocolViolation, .receiving) : (.connectionLost, nil)
  }

  /// Whether what came over an HTTP/2 connection could not be read.
  var blamesHTTP2: Bool { handle.lastError.contains("nghttp2_session_mem_recv() returned") }

  /// Whether the request had begun to go out.
  private var isSent: Bool { handle.offset(CURLINFO_PRETRANSFER_TIME_T) > 0 }

  /// `CURLE_TOO_LARGE`, which older headers do not name.
  private static let tooLarge = CURLcode(rawValue: 100)

  /// libcurl has one code for a container that is none and for one it cannot open, but says which. Of a key in a file of its
  /// own it says only that it cannot be used: if it is there and encrypted, it is the password.
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
