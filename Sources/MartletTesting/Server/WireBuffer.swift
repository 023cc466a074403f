import MartletSemantics

/// What came over the connection and was not yet used: a pipelined request stays here until its turn.
final class WireBuffer {
  private let socket: Socket
  private var bytes: [UInt8] = []
  private var position = 0
  private static let pieceSize = 64 << 10

  init(_ socket: Socket) { self.socket = socket }

  /// The next line without its end, nil if the connection ended before it began. A lone LF ends a line too
  /// (RFC 9112 §2.2).
  func line(upTo limit: Int) throws(WireError) -> String? {
    var searched = position
    while true {
      if let end = bytes[searched...].firstIndex(of: 10) {
        guard end - position <= limit else { throw .refused(.requestHeaderFieldsTooLarge, "a line is too long") }
        let line = bytes[position..<(end > position && bytes[end - 1] == 13 ? end - 1 : end)]
        position = end + 1
        return String(decoding: line, as: UTF8.self)
      }
      guard bytes.count - position <= limit else { throw .refused(.requestHeaderFieldsTooLarge, "a line is too long") }
      let unfinished = bytes.count - position
      guard receive() else {
        if unfinished == 0 { return nil }
        throw .peerGone
      }
      searched = position + unfinished
    }
  }

  /// The next bytes, at most as many; nil at the connection's end.
  func data(upTo count: Int64) -> Data? {
    if position < bytes.count {
      let end = position + Int(min(count, Int64(bytes.count - position)))
      defer { position = end }
      return Data(bytes[position..<end])
    }
    var piece = Data(count: Int(min(count, Int64(Self.pieceSize * 4))))
    let received = piece.withUnsafeMutableBytes { socket.receive(into: $0) }
    guard received > 0 else { return nil }
    return received == piece.count ? piece : piece.prefix(received)
  }

  /// Appends what comes next to the unused bytes; false at the connection's end.
  private func receive() -> Bool {
    bytes.removeSubrange(..<position)
    position = 0
    return withUnsafeTemporaryAllocation(byteCount: Self.pieceSize, alignment: 1) { scratch in
      let count = socket.receive(into: scratch)
      bytes.append(contentsOf: UnsafeRawBufferPointer(rebasing: scratch[..<count]))
      return count > 0
    }
  }
}
