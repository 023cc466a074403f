#if os(Linux)
import CCurl
import MartletEngine
import MartletSemantics

extension Transfer {
  /// The last signal of a transfer that libcurl says is done.
  func ending(_ code: CURLcode) -> Signal {
    if let failure { return .failed(failure) }
    guard code == CURLE_OK else {
      if !hasHead, isRefused { return .failed(refusal) }
      return .failed(CurlFailure(code: code, handle: handle, hasHead: hasHead).error)
    }
    // libcurl is content with a head that the connection's end cut short
    guard hasHead || isHoldingHead else {
      let message = "\(CurlFailure.peer(of: handle)): the connection ended within the response's head"
      return .failed(HTTPError(.connectionLost, message, phase: .waiting))
    }
    return .end(Signal.Ending(trailers: trailers, metrics: limits.isObserved ? metrics : nil))
  }

  private var refusal: HTTPError {
    var error = HTTPError(
      .connectionLost, "\(CurlFailure.peer(of: handle)): the server refused the request unread", phase: .waiting)
    error.delivery = .refused
    return error
  }

  /// Whether only its connection tells if the response is whole: over HTTP/2, libcurl 7.88 takes a connection that failed for
  /// the end of the body, where no length contradicts. A connection that the server ends with a GOAWAY closes as well.
  func endsWithConnection(_ code: CURLcode) -> Bool {
    guard code == CURLE_OK, failure == nil, mayHaveBody, let connection, connection.version == .http2 else {
      return false
    }
    return connection.lastAnsweredStream == nil && !sawEviction && !leftConnectionIntact
      && handle.offset(CURLINFO_CONTENT_LENGTH_DOWNLOAD_T) < 0
  }

  /// The last signal of a response that its connection cut off.
  var cutOff: Signal {
    let message = "\(CurlFailure.peer(of: handle)): the connection failed before the end of the response"
    return .failed(HTTPError(.connectionLost, message, phase: .receiving))
  }

  /// The error of a transfer that was silent for too long.
  func timedOut(after nanoseconds: UInt64) -> Signal {
    let limit = Duration.nanoseconds(Int64(clamping: nanoseconds))
    let phase = hasHead ? .receiving : CurlFailure.phase(of: handle)
    let message = "\(CurlFailure.peer(of: handle)): nothing came for \(limit) while \(phase.rawValue)"
    return .failed(HTTPError(hasHead ? .idleTimeout : .responseTimeout, message, phase: phase))
  }

  private var metrics: TransferMetrics {
    var metrics = TransferMetrics()
    metrics.nameLookup = duration(CURLINFO_NAMELOOKUP_TIME_T)
    metrics.connect = duration(CURLINFO_CONNECT_TIME_T)
    metrics.secureConnect = duration(CURLINFO_APPCONNECT_TIME_T)
    metrics.requestStart = duration(CURLINFO_PRETRANSFER_TIME_T)
    metrics.firstByte = duration(CURLINFO_STARTTRANSFER_TIME_T)
    metrics.total = duration(CURLINFO_TOTAL_TIME_T)
    metrics.bytesSent = handle.offset(CURLINFO_SIZE_UPLOAD_T)
    metrics.bytesReceived = handle.offset(CURLINFO_SIZE_DOWNLOAD_T)
    metrics.headerBytesReceived = Int64(handle.long(CURLINFO_HEADER_SIZE))
    metrics.reusedConnection = handle.long(CURLINFO_NUM_CONNECTS) == 0
    metrics.remoteAddress = handle.string(CURLINFO_PRIMARY_IP)
    metrics.remotePort = handle.long(CURLINFO_PRIMARY_PORT)
    metrics.localPort = handle.long(CURLINFO_LOCAL_PORT)
    metrics.version =
      switch handle.long(CURLINFO_HTTP_VERSION) {
      case Int(CURL_HTTP_VERSION_1_0): .http1_0
      case Int(CURL_HTTP_VERSION_1_1): .http1_1
      case Int(CURL_HTTP_VERSION_2_0): .http2
      case Int(CURL_HTTP_VERSION_3): .http3
      default: nil
      }
    return metrics
  }

  private func duration(_ info: CURLINFO) -> Duration { .microseconds(handle.offset(info)) }
}
#endif
