import MartletSemantics

/// Reads a request's body by its framing (RFC 9112 §6–7).
final class BodyReader {
  private(set) var trailers: HTTPFields = [:]
  private let buffer: WireBuffer
  private let socket: Socket
  private var framing: Framing
  private var owesContinue: Bool

  private enum Framing: Equatable {
    /// A known number of bytes is still to come; 0 is the end.
    case length(Int64)
    /// That much of a chunk is still to come.
    case chunk(Int64)
    /// The line with a chunk's size is next.
    case chunkSize
  }

  init(for request: ReceivedRequest, from buffer: WireBuffer, socket: Socket) throws(WireError) {
    self.buffer = buffer
    self.socket = socket
    framing = try Self.framing(of: request)
    let expectation = request.fields[.expect] ?? ""
    owesContinue = ASCII.equalIgnoringCase(expectation, "100-continue") && framing != .length(0)
  }

  /// Whether the body was read to its end.
  var isAtEnd: Bool { framing == .length(0) }
  /// Whether the client still waits for 100 Continue, and so may never send the body.
  var isUnasked: Bool { owesContinue }

  /// The next bytes, nil at the end.
  func next() throws(WireError) -> Data? {
    if owesContinue {
      owesContinue = false
      try socket.send(Data("HTTP/1.1 100 Continue\r\n\r\n".utf8))
    }
    if framing == .chunkSize { try readChunkSize() }
    switch framing {
    case .length(0), .chunkSize: return nil
    case .length(let rest):
      let data = try read(upTo: rest)
      framing = .length(rest - Int64(data.count))
      return data
    case .chunk(let rest):
      let data = try read(upTo: rest)
      framing = .chunk(rest - Int64(data.count))
      if data.count == rest { try endChunk() }
      return data
    }
  }

  private func read(upTo count: Int64) throws(WireError) -> Data {
    guard let data = buffer.data(upTo: count) else { throw .peerGone }
    return data
  }

  private func readChunkSize() throws(WireError) {
    guard let line = try buffer.line(upTo: 4096) else { throw .peerGone }
    let digits = ASCII.trimmed(line.prefix { $0 != ";" })
    guard let size = Int64(digits, radix: 16), size >= 0, digits.first != "+" else {
      throw .refused(.badRequest, "a chunk's size is not hexadecimal (RFC 9112 §7.1)")
    }
    guard size == 0 else { return framing = .chunk(size) }
    trailers = try RequestHeadReader.fields(from: buffer)
    framing = .length(0)
  }

  private func endChunk() throws(WireError) {
    guard try buffer.line(upTo: 2) == "" else {
      throw .refused(.badRequest, "a chunk is longer than its size (RFC 9112 §7.1)")
    }
    framing = .chunkSize
  }

  private static func framing(of request: ReceivedRequest) throws(WireError) -> Framing {
    let lengths = request.fields[values: .contentLength]
    if let coding = request.fields[.transferEncoding] {
      guard ASCII.equalIgnoringCase(coding, "chunked") else {
        throw .refused(.notImplemented, "the only transfer coding that is understood is 'chunked'")
      }
      // Both together are a way to smuggle requests (RFC 9112 §6.3, rule 3).
      guard lengths.isEmpty else { throw .refused(.badRequest, "Content-Length beside Transfer-Encoding") }
      return .chunkSize
    }
    guard let text = lengths.first else { return .length(0) }
    guard Set(lengths).count == 1, text.utf8.allSatisfy({ (48...57).contains($0) }), let length = Int64(text) else {
      throw .refused(.badRequest, "Content-Length is not one number (RFC 9112 §6.3)")
    }
    return .length(length)
  }
}
