#if os(Linux)
@_spi(Transports) import MartletEngine
import MartletSemantics

/// The body of a request on its way from its source to a connection.
struct RequestUpload {
  private let source: Upload
  /// The number of bytes; nil if it is not known.
  private let length: Int64?
  private let hasTrailers: Bool
  /// How many bytes were taken from the source.
  private var taken: Int64 = 0
  var sent: Int64 = 0
  /// How many of the sent bytes were reported to the call's listeners.
  var reported: Int64 = 0
  /// Whether the source was stopped, so that the request cannot be sent again.
  private var isStopped = false

  init(of exchange: Exchange) {
    source = exchange.upload
    length = exchange.bodyLength
    hasTrailers = exchange.request.body.hasTrailers
  }

  /// Takes the next part from the source.
  mutating func next() -> UploadQueue.Next {
    switch source {
    case .none: return .end(trailers: [:])
    case .bytes(let data):
      guard taken == 0 else { return .end(trailers: [:]) }
      taken = Int64(data.count)
      return .chunk(data)
    case .queue(let queue):
      let next = queue.next()
      if case .chunk(let data) = next { taken += Int64(data.count) }
      return next
    }
  }

  /// Whether all bytes of a body of known length were taken from their source, even if the source has not reported its
  /// end. False if trailers follow.
  var isTaken: Bool { length == taken && !hasTrailers }

  /// Stops the source: the server does not need the body.
  mutating func stop() {
    guard case .queue(let queue) = source else { return }
    queue.close()
    isStopped = true
  }

  /// Whether the body can still be sent from its beginning.
  var canBeginAgain: Bool { if case .queue = source { taken == 0 && !isStopped } else { true } }

  /// Prepares for another connection.
  mutating func beginAgain() { (taken, sent) = (0, 0) }
}

/// A chunk that is being sent: of a request's body, or of the output of an upgraded connection.
struct UploadChunk {
  private(set) var bytes = Data()
  private var offset = 0

  init() {}

  init(_ bytes: Data) { self.bytes = bytes }

  var isSent: Bool { offset == bytes.count }

  /// Copies unsent bytes, which then count as sent. Returns how many.
  mutating func copy(into room: UnsafeMutableRawBufferPointer) -> Int {
    let count = min(room.count, bytes.count - offset)
    guard count > 0 else { return 0 }
    let start = bytes.startIndex + offset
    bytes.copyBytes(to: room, from: start..<(start + count))
    offset += count
    return count
  }

  /// Passes the unsent bytes to the closure.
  func withUnsentBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    bytes.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[offset...])) }
  }

  mutating func markSent(_ count: Int) { offset += count }
}
#endif
