import MartletSemantics

/// The bytes of a reply on their way to the socket: the head goes out together with the first of the body.
struct ReplyOutput {
  /// Bytes of the body that were written.
  private(set) var count: Int64 = 0
  private let socket: Socket
  private let chunks: Chunks?
  private var pending: Data
  /// Up to here one copy and one call are cheaper than two calls.
  private static let joinLimit = 512 << 10

  struct Chunks {
    let size: Int
    let sizeLine: String?
  }

  init(_ socket: Socket, head: Data, chunks: Chunks?) {
    self.socket = socket
    self.chunks = chunks
    pending = head
  }

  /// How many bytes the next piece may have at most.
  var room: Int64 { chunks.map { Int64($0.size) } ?? .max }

  mutating func write(_ piece: Data) throws(WireError) {
    count += Int64(piece.count)
    guard let chunks else { return try send(piece) }
    var chunk = Data(capacity: piece.count + 20)
    chunk.append(contentsOf: ((chunks.sizeLine ?? String(piece.count, radix: 16)) + "\r\n").utf8)
    chunk.append(piece)
    chunk.append(contentsOf: "\r\n".utf8)
    try send(chunk)
  }

  /// Ends the body: the last chunk and the trailers, where there are chunks.
  mutating func end(trailers: HTTPFields) throws(WireError) {
    guard chunks != nil else { return try flush() }
    var text = "0\r\n"
    for (name, value) in trailers { text += "\(name.rawName): \(value)\r\n" }
    try send(Data((text + "\r\n").utf8))
  }

  /// Sends what is held back.
  mutating func flush() throws(WireError) {
    guard !pending.isEmpty else { return }
    try socket.send(pending)
    pending = Data()
  }

  private mutating func send(_ data: Data) throws(WireError) {
    guard !pending.isEmpty, data.count <= Self.joinLimit else {
      try flush()
      return try socket.send(data)
    }
    pending.append(data)
    try flush()
  }
}

extension Reply {
  /// Whether the status has a body at all (RFC 9110 §6.4.1).
  var allowsBody: Bool { !status.isInformational && status != .noContent && status != .notModified }

  /// How a chunked body is cut.
  var chunks: ReplyOutput.Chunks {
    if case .chunked(let size, let sizeLine) = framing { return .init(size: size, sizeLine: sizeLine) }
    return .init(size: 64 << 10, sizeLine: nil)
  }
}
