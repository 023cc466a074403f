public import MartletSemantics

/// The bytes of a body on their way into a store that keeps bodies in chunks of one size.
///
/// A chunk is full only when more bytes follow, so that a store can keep a body of one chunk with its entry.
@_spi(Stores) public struct ChunkBuffer: Sendable {
  private let size: Int
  /// The bytes of the next chunk.
  public private(set) var bytes = Data()

  /// Makes an empty buffer.
  public init(size: Int) { self.size = size }

  /// Moves bytes into the buffer until the chunk is full. Returns whether it is, and has to be taken.
  public mutating func fill(from rest: inout Data) -> Bool {
    let part = rest.prefix(size - bytes.count)
    bytes.append(part)
    rest = rest.dropFirst(part.count)
    return !rest.isEmpty
  }

  /// Returns the bytes; the buffer is empty afterwards.
  @discardableResult
  public mutating func take() -> Data {
    defer { bytes = Data() }
    return bytes
  }
}
