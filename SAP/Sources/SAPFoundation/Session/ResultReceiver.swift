/// The receiver of a task's results.
enum ResultReceiver: Sendable {
  /// None but observers and the delegate.
  case events
  /// A handler for the whole body.
  case whole(@Sendable (Data?, URLResponse?, (any Error)?) -> Void)
  /// Three handlers, for the response, each batch of the body and the completion.
  case batches(
    response: @Sendable (URLResponse) -> Void, data: @Sendable (Data) -> Void,
    completion: @Sendable ((any Error)?) -> Void)
  /// A handler for the complete file.
  case file(@Sendable (URL?, URLResponse?, (any Error)?) -> Void)
  /// An async sequence, as fast as it is iterated.
  case stream(ByteStream)

  var collects: Bool {
    if case .whole = self { true } else { false }
  }

  /// Calls the completion handler.
  func finish(_ data: Data?, _ location: URL?, _ response: URLResponse?, _ error: (any Error)?) {
    switch self {
    case .events: break
    case .whole(let handler): handler(error == nil ? data : nil, response, error)
    case .batches(_, _, let handler): handler(error)
    case .file(let handler): handler(error == nil ? location : nil, response, error)
    case .stream(let stream): stream.finish(error)
    }
  }
}
