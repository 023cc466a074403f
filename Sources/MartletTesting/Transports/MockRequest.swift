public import MartletEngine
public import MartletSemantics
import Synchronization

/// The request as a mock's closure sees it: all properties of `HTTPRequest`, and its body on demand.
@dynamicMemberLookup
public struct MockRequest: Sendable {
  /// The request as it was sent.
  public let request: HTTPRequest
  /// The call that it belongs to.
  public let exchange: Exchange
  private let didMove: @Sendable () -> Void

  init(_ request: HTTPRequest, in exchange: Exchange, didMove: @escaping @Sendable () -> Void) {
    self.request = request
    self.exchange = exchange
    self.didMove = didMove
  }

  /// A property of ``request``.
  public subscript<Value>(dynamicMember path: KeyPath<HTTPRequest, Value>) -> Value { request[keyPath: path] }

  /// Reads the request's body as a transport does while it sends: every chunk is told as progress and counts as
  /// activity for the response's timeout.
  ///
  /// - Parameter limit: the most bytes, 16 MiB by default; more is an `HTTPError` of kind `.bodyTooLarge`.
  /// - Throws: what the body throws when it is opened or read.
  public func readBody(upTo limit: Int = 16 << 20) async throws -> Data {
    let body = try await request.body.open()
    var data = Data()
    while let chunk = try await body.source.next() {
      data.append(chunk)
      guard data.count <= limit else {
        body.source.cancel()
        throw HTTPError(
          .bodyTooLarge, "the request's body is larger than \(limit) bytes: raise the mock's limit", phase: .sending)
      }
      didMove()
      exchange.emit(.progress(TransferProgress(.sent, completed: Int64(data.count), total: body.length)))
    }
    return data
  }
}
