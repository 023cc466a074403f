#if os(Linux)
import MartletEngine
import MartletSemantics

/// Receives the events of one request. ``HTTP2Session`` calls it within calls of the session's owner, on the owner's
/// thread.
///
/// It may submit requests, and reset, resume or consume streams, but must not receive or pull. ``ended(trailers:)`` or
/// ``failed(_:)`` is the last call.
protocol HTTP2StreamHandler: AnyObject {
  /// A 1xx head, as raw lines: `HTTP/2 103 `, then the fields, each with its line break.
  func received(informational head: [UInt8], status: Int)
  /// The final head, as raw lines for `ResponseHead(lines:)`.
  ///
  /// - Parameter contentLength: the value of `Content-Length`, which the session checks against the body.
  func received(head: [UInt8], status: Int, contentLength: Int64?)
  /// Bytes of the response's body, valid during the call. They count against the stream's window until
  /// ``HTTP2Session/consumed(_:of:)``.
  func received(body: UnsafeRawBufferPointer)
  /// The server has ended its direction of a tunnel, and the client has not ended its own.
  func receivedEnd()
  /// The response is complete. If the request's body is not, the session has stopped it. A tunnel has ended in both
  /// directions.
  ///
  /// - Parameter trailers: raw lines, each with its line break; often empty.
  func ended(trailers: [UInt8])
  /// The response is missing or incomplete.
  func failed(_ failure: HTTP2Failure)
  /// Copies bytes of the request's body. Called in ``HTTP2Session/pull(into:upTo:)``, within the peer's windows.
  func readBody(into room: UnsafeMutableRawBufferPointer) -> HTTP2BodyPart
  /// The request's last frame was pulled.
  func sentRequest()
}

extension HTTP2StreamHandler {
  func receivedEnd() {}
}

/// The result of ``HTTP2StreamHandler/readBody(into:)``.
enum HTTP2BodyPart {
  /// This many bytes, more than 0; others follow.
  case bytes(Int)
  /// This many bytes, which end the body.
  case end(Int)
  /// This many bytes, which end the body, followed by trailers.
  case endWithTrailers(Int, HTTP2Fields)
  /// None yet; ``HTTP2Session/resume(_:)`` asks again.
  case later
  /// The body cannot be read. The stream is reset, and its handler gets no further calls.
  case failed
}

/// The session's state of one stream.
final class HTTP2Stream {
  let id: Int32
  /// The handler; nil after its last event.
  var handler: (any HTTP2StreamHandler)?
  /// The maximum number of bytes of all heads and trailers, as lines of text.
  let headLimit: Int
  /// Whether the request has a body that is not completely sent.
  var isUploading: Bool
  /// Whether it carries bytes in both directions, after a CONNECT that the server has accepted.
  var isTunnel = false
  /// Whether the server has ended its direction of the tunnel.
  var hasInputEnded = false
  /// Whether the request's head was sent.
  var isSent = false
  var hasHead = false
  var informationalCount = 0
  var headerBytes = 0

  init(id: Int32, handler: any HTTP2StreamHandler, headLimit: Int, isUploading: Bool) {
    self.id = id
    self.handler = handler
    self.headLimit = headLimit
    self.isUploading = isUploading
  }

  var phase: HTTPError.Phase { hasHead ? .receiving : .waiting }

  /// Ends the stream: the handler gets its last event.
  func fail(_ failure: @autoclosure () -> HTTP2Failure) {
    guard let handler else { return }
    self.handler = nil
    handler.failed(failure())
  }

  /// Ends the stream: the handler gets its last event.
  func end(trailers: [UInt8]) {
    guard let handler else { return }
    self.handler = nil
    handler.ended(trailers: trailers)
  }
}
#endif
