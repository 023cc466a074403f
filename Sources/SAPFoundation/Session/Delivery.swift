import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Where the results of a task go.
enum Delivery: Sendable {
  typealias Whole = @Sendable (Data?, URLResponse?, (any Error)?) -> Void
  typealias File = @Sendable (URL?, URLResponse?, (any Error)?) -> Void

  /// To observers and the delegate alone.
  case events
  /// To a handler, when all is there.
  case whole(Whole)
  /// To three handlers, as it comes.
  case batches(
    response: @Sendable (URLResponse) -> Void, data: @Sendable (Data) -> Void,
    completion: @Sendable ((any Error)?) -> Void)
  /// To a handler, when the file is there.
  case file(File)

  var collects: Bool {
    if case .whole = self { true } else { false }
  }

  /// The last call.
  func finish(_ data: Data?, _ location: URL?, _ response: URLResponse?, _ error: (any Error)?) {
    switch self {
    case .events: break
    case .whole(let handler): handler(error == nil ? data : nil, response, error)
    case .batches(_, _, let handler): handler(error)
    case .file(let handler): handler(error == nil ? location : nil, response, error)
    }
  }
}
