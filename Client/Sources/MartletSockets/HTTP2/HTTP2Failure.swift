#if os(Linux)
import CNGHTTP2
import MartletEngine
import MartletSemantics

/// An error code of HTTP/2 (RFC 9113 §7).
struct HTTP2ErrorCode: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
  let rawValue: UInt32

  static let noError = Self(rawValue: 0)
  static let protocolError = Self(rawValue: 1)
  static let internalError = Self(rawValue: 2)
  static let flowControlError = Self(rawValue: 3)
  static let refusedStream = Self(rawValue: 7)
  static let cancel = Self(rawValue: 8)
  static let compressionError = Self(rawValue: 9)
  static let enhanceYourCalm = Self(rawValue: 11)
  static let http11Required = Self(rawValue: 13)

  /// The name in RFC 9113, such as `INTERNAL_ERROR`, or the number of an unknown code.
  var description: String {
    rawValue <= 13 ? String(cString: nghttp2_http2_strerror(rawValue)) : "error code \(rawValue)"
  }
}

/// The failure of one stream.
struct HTTP2Failure: Error, Sendable {
  /// The consequence of the failure for the owner of the connection.
  enum Cause: Sendable, Hashable {
    /// The server has not acted on the request: REFUSED_STREAM, a GOAWAY below the stream, or a request that was never
    /// sent. It may be sent again whatever its method (RFC 9113 §8.7).
    case refused
    /// The server wants the request over HTTP/1.1 (RFC 9113 §7): send it and later requests to this origin that way.
    case http11Required
    /// The server wants fewer requests (RFC 9113 §7): only the caller's policy sends it again, after a pause.
    case enhanceYourCalm
    /// The server reset the stream with another code.
    case reset(HTTP2ErrorCode)
    /// The response is invalid, or exceeds a limit.
    case invalidResponse
    /// The connection failed or ended.
    case connection
  }

  var error: HTTPError
  var cause: Cause
}

extension HTTP2Failure {
  /// The failure of a stream that the server has reset.
  ///
  /// - `REFUSED_STREAM` and `HTTP_1_1_REQUIRED` before a head say that the request was not processed.
  /// - `NO_ERROR` before the end of the response is a loss like any other code: the response is incomplete.
  init(resetWith code: HTTP2ErrorCode, peer: String, hasHead: Bool) {
    let phase: HTTPError.Phase = hasHead ? .receiving : .waiting
    let reason: String
    switch code {
    case .refusedStream where !hasHead:
      self = .refused("\(peer): the server refused the request unread", phase)
      return
    case .http11Required where !hasHead:
      self = .refused("\(peer): the server requires HTTP/1.1 for this request (HTTP_1_1_REQUIRED)", phase)
      cause = .http11Required
      return
    case .enhanceYourCalm:
      reason = "the server wants fewer requests (ENHANCE_YOUR_CALM)"
      cause = .enhanceYourCalm
    default:
      reason = "the server reset the stream before the end of the response (\(code))"
      cause = .reset(code)
    }
    error = HTTPError(.connectionLost, "\(peer): \(reason)", phase: phase)
  }

  /// The failure of a stream that is above the last one of a GOAWAY. A response that has begun contradicts it: it is
  /// incomplete, and no other response may continue it.
  static func goneAway(_ goAway: HTTP2Session.GoAway, peer: String, hasHead: Bool) -> HTTP2Failure {
    let code = goAway.code
    let reason = code == .noError ? "" : " (\(code))"
    guard hasHead else {
      var failure = refused("\(peer): the server closes the connection, and has not processed the request\(reason)")
      if code == .http11Required { failure.cause = .http11Required }
      if code == .enhanceYourCalm, goAway.lastStream == 0 {
        // The server refuses a new connection, so another one at once would be one more than it wants. A server that
        // has processed requests on the connection may accept the next one on another.
        failure.cause = .enhanceYourCalm
        failure.error.replacements = RetryRule.replacementLimit
      }
      return failure
    }
    let message = "\(peer): the server ended the connection before the end of the response\(reason)"
    return HTTP2Failure(error: HTTPError(.connectionLost, message, phase: .receiving), cause: .connection)
  }

  /// The failure of a request that the server has not processed.
  static func refused(_ message: String, _ phase: HTTPError.Phase = .waiting) -> HTTP2Failure {
    var error = HTTPError(.connectionLost, message, phase: phase)
    error.delivery = .refused
    return HTTP2Failure(error: error, cause: .refused)
  }

  /// The failure of a WebSocket that the server opens over HTTP/1.1 at most.
  static func noWebSocket(_ reason: String, peer: String) -> HTTP2Failure {
    var failure = refused("\(peer): the server opens no WebSocket over HTTP/2: \(reason)")
    failure.cause = .http11Required
    return failure
  }

  /// Whether the server may open over HTTP/1.1 the WebSocket that it did not open over HTTP/2. PROTOCOL_ERROR means
  /// that it, or a gateway before it, does not understand an extended CONNECT.
  var suggestsHTTP1: Bool { cause == .http11Required || cause == .reset(.protocolError) }

  /// The failure of a response that violates RFC 9113.
  static func violation(_ reason: String, peer: String, hasHead: Bool) -> HTTP2Failure {
    let phase: HTTPError.Phase = hasHead ? .receiving : .waiting
    return HTTP2Failure(
      error: HTTPError(.protocolViolation, "\(peer): \(reason)", phase: phase), cause: .invalidResponse)
  }
}
#endif
