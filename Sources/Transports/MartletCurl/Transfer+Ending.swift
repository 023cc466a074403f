#if os(Linux)
import CCurl
@_spi(Transports) import MartletEngine
import MartletSemantics

extension Transfer {
  /// The last signal of a transfer that libcurl has finished.
  func ending(_ code: CURLcode) -> TransferSignal {
    if let failure { return .failed(failure) }
    guard code == CURLE_OK else {
      if code == CURLE_HTTP2_STREAM, endedBeforeUpload, !hasHead, !isHoldingHead { return .failed(lostResponse) }
      if !hasHead, isRefused { return .failed(refusal) }
      let error = CurlFailure(code: code, handle: handle, hasHead: hasHead).error
      return .failed(withCertificates(error))
    }
    // libcurl accepts a head that was cut off by the end of the connection
    guard hasHead || isHoldingHead else {
      let message = "\(CurlFailure.peer(of: handle)): the connection ended within the response's head"
      return .failed(HTTPError(.connectionLost, message, phase: .waiting))
    }
    return .end(trailers: trailers)
  }

  /// The error if libcurl lost a response: a server that does not need the request's body may end the stream with a
  /// RST_STREAM after its response (RFC 9113 §8.1); if both are read together, libcurl 7.88 drops the response.
  private var lostResponse: HTTPError {
    let message = "the server answered before the request's body was sent, and libcurl lost the response"
    return HTTPError(.connectionLost, "\(CurlFailure.peer(of: handle)): \(message)", phase: .sending)
  }

  private var refusal: HTTPError {
    var error = HTTPError(
      .connectionLost, "\(CurlFailure.peer(of: handle)): the server refused the request unread", phase: .waiting)
    error.delivery = .refused
    return error
  }

  /// Whether the response may be incomplete if its connection has failed: over HTTP/2, libcurl 7.88 reports a failed
  /// connection as the end of a body without a length. After a GOAWAY the connection closes as well.
  func endsWithConnection(_ code: CURLcode) -> Bool {
    guard code == CURLE_OK, failure == nil, mayHaveBody, let connection, connection.version == .http2 else {
      return false
    }
    return connection.lastAnsweredStream == nil && !sawEviction && !leftConnectionIntact
      && handle.offset(CURLINFO_CONTENT_LENGTH_DOWNLOAD_T) < 0
  }

  /// The last signal of a response that was cut off by the end of its connection.
  var cutOff: TransferSignal {
    let message = "\(CurlFailure.peer(of: handle)): the connection failed before the end of the response"
    return .failed(HTTPError(.connectionLost, message, phase: .receiving))
  }

  /// The last signal of a transfer whose timeout is over.
  func timedOut(after nanoseconds: UInt64) -> TransferSignal {
    let limit = Duration.nanoseconds(Int64(clamping: nanoseconds))
    let phase = hasHead ? .receiving : CurlFailure.phase(of: handle)
    let message = "\(CurlFailure.peer(of: handle)): no data was received for \(limit) while \(phase.rawValue)"
    return .failed(HTTPError(hasHead ? .idleTimeout : .responseTimeout, message, phase: phase))
  }

  /// How long the phases took. It is not read for a request that goes on after a check of the server's certificates.
  func metrics(before last: TransferSignal) -> TransferMetrics? {
    if case .failed(let error) = last, let received = error.underlying as? ReceivedCertificates, !received.isRefused {
      return nil
    }
    return limits.events.contains(.metrics) ? metrics : nil
  }

  private var metrics: TransferMetrics {
    var metrics = TransferMetrics()
    metrics.nameLookup = duration(CURLINFO_NAMELOOKUP_TIME_T)
    metrics.connect = duration(CURLINFO_CONNECT_TIME_T)
    metrics.secureConnect = duration(CURLINFO_APPCONNECT_TIME_T)
    metrics.requestStart = duration(CURLINFO_PRETRANSFER_TIME_T)
    metrics.firstByte = duration(CURLINFO_STARTTRANSFER_TIME_T)
    metrics.total = max(duration(CURLINFO_TOTAL_TIME_T), metrics.firstByte)  // libcurl counts it at the end only
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
