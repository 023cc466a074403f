#if os(Linux)
import MartletEngine
import MartletSemantics

/// Takes what happens to one request. ``HTTP2Session`` calls it in the calls of the session's owner, on the owner's
/// thread.
///
/// It may submit requests, and reset, resume or consume streams, but must not receive or pull. After
/// ``ended(trailers:)`` or ``failed(_:)`` nothing more is called.
protocol HTTP2StreamHandler: AnyObject {
  /// A 1xx head, as raw lines: `HTTP/2 103 `, then the fields, each with its line break.
  func received(informational head: [UInt8], status: Int)
  /// The final head, as raw lines for `ResponseHead(lines:)`.
  ///
  /// - Parameter contentLength: the value of `Content-Length`; the session checks that it is true.
  func received(head: [UInt8], status: Int, contentLength: Int64?)
  /// Bytes of the response's body, valid during the call. They count against the stream's window until
  /// ``HTTP2Session/consumed(_:of:)``.
  func received(body: UnsafeRawBufferPointer)
  /// The response is whole. If the request's body is not, the session has stopped it.
  ///
  /// - Parameter trailers: raw lines, each with its line break; often empty.
  func ended(trailers: [UInt8])
  /// There is no response, or not the whole of it.
  func failed(_ failure: HTTP2Failure)
  /// Copies bytes of the request's body. Called in ``HTTP2Session/pull(into:upTo:)``, as far as the peer's windows
  /// allow.
  func readBody(into room: UnsafeMutableRawBufferPointer) -> HTTP2BodyPart
  /// The request's last frame was pulled.
  func sentRequest()
}

/// What ``HTTP2StreamHandler/readBody(into:)`` copied.
enum HTTP2BodyPart {
  /// So many bytes, more than 0; others follow.
  case bytes(Int)
  /// So many bytes, with which the body ends.
  case end(Int)
  /// So many bytes, with which the body ends, and then trailers.
  case endWithTrailers(Int, HTTP2Fields)
  /// None yet; ``HTTP2Session/resume(_:)`` asks again.
  case later
  /// The body cannot be had. The stream is reset, and its handler hears no more.
  case failed
}

/// The session's state of one stream.
final class HTTP2Stream {
  let id: Int32
  /// The one who is told; nil once the last was said.
  var handler: (any HTTP2StreamHandler)?
  /// The most bytes of all heads and trailers, as lines of text.
  let headerLimit: Int
  /// Whether the request has a body that is not sent completely.
  var isUploading: Bool
  /// Whether the request's head was sent.
  var isSent = false
  var hasHead = false
  var informationalCount = 0
  var headerBytes = 0

  init(id: Int32, handler: any HTTP2StreamHandler, headerLimit: Int, isUploading: Bool) {
    self.id = id
    self.handler = handler
    self.headerLimit = headerLimit
    self.isUploading = isUploading
  }

  var phase: HTTPError.Phase { hasHead ? .receiving : .waiting }

  /// Tells the handler its last event.
  func fail(_ failure: @autoclosure () -> HTTP2Failure) {
    guard let handler else { return }
    self.handler = nil
    handler.failed(failure())
  }

  /// Tells the handler its last event.
  func end(trailers: [UInt8]) {
    guard let handler else { return }
    self.handler = nil
    handler.ended(trailers: trailers)
  }
}
#endif
