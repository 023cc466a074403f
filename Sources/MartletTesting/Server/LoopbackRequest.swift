public import MartletSemantics

/// The request that a responder answers, with what it can do while the client waits.
///
/// All properties of ``ReceivedRequest`` are there: `request.path`, `request.fields`. It belongs to the connection's
/// thread and cannot leave it; keep ``received`` instead.
@dynamicMemberLookup
public final class LoopbackRequest {
  /// The request as a value that can be kept.
  public let received: ReceivedRequest
  private let bodyReader: BodyReader
  private let socket: Socket

  init(_ received: ReceivedRequest, body: BodyReader, socket: Socket) {
    self.received = received
    bodyReader = body
    self.socket = socket
  }

  /// A property of ``received``.
  public subscript<Value>(dynamicMember path: KeyPath<ReceivedRequest, Value>) -> Value { received[keyPath: path] }

  /// Waits for the next bytes of a streamed body; nil at its end, and at once where the server collected it.
  ///
  /// The first call answers `Expect: 100-continue` (RFC 9110 §10.1.1).
  ///
  /// - Throws: when the client is gone, the server stops, or the body's framing is broken. A responder lets it through.
  public func nextChunk() throws -> Data? { try bodyReader.next() }

  /// Reads a streamed body to its end without keeping it, and returns how many bytes there were.
  public func drainBody() throws -> Int64 {
    var count: Int64 = 0
    while let chunk = try nextChunk() { count += Int64(chunk.count) }
    return count
  }

  /// Blocks the connection's thread until the gate opens.
  ///
  /// - Throws: when the client is gone or the server stops meanwhile. A responder lets it through.
  public func wait(for gate: Gate) throws { try socket.wait(for: gate) }
}
