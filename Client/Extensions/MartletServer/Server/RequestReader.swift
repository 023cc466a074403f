@_spi(Toolkit) import MartletSemantics

/// Reads a request's body by its framing (RFC 9112 §6–7).
final class BodyReader: ReceivedBody {
  private(set) var trailers: HTTPFields = [:]
  private let buffer: WireBuffer
  private let stream: any ServerStream
  private var framing: Framing
  /// Whether the client awaits 100 Continue before it sends the body.
  private(set) var awaitsContinue: Bool

  private enum Framing: Equatable {
    /// The number of bytes that are left; 0 is the end.
    case length(Int64)
    /// The number of bytes that are left of a chunk.
    case chunk(Int64)
    /// The line with a chunk's size comes next.
    case chunkSize
  }

  init(for request: ReceivedRequest, from buffer: WireBuffer, stream: any ServerStream) throws(WireError) {
    self.buffer = buffer
    self.stream = stream
    framing = try Self.framing(of: request)
    awaitsContinue = request.expectsContinue && framing != .length(0)
  }

  /// Whether the body was read to its end.
  var isAtEnd: Bool { framing == .length(0) }

  /// Returns the next bytes; nil at the end.
  func next() throws(WireError) -> Data? {
    if awaitsContinue {
      awaitsContinue = false
      try stream.send(Data("HTTP/1.1 100 Continue\r\n\r\n".utf8))
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
    guard let data = try buffer.data(upTo: count) else { throw .peerGone }
    return data
  }

  private func readChunkSize() throws(WireError) {
    guard let line = try buffer.line(upTo: 4096) else { throw .peerGone }
    let digits = ASCII.trimmed(line.prefix { $0 != ";" })
    guard let size = Int64(digits, radix: 16), size >= 0, digits.first != "+" else {
      throw .refused(.badRequest, "invalid chunk size (RFC 9112 §7.1)")
    }
    guard size == 0 else { return framing = .chunk(size) }
    trailers = try RequestHeadReader.fields(from: buffer)
    framing = .length(0)
  }

  private func endChunk() throws(WireError) {
    guard let line = try buffer.line(upTo: 2) else { throw .peerGone }
    guard line.isEmpty else {
      throw .refused(.badRequest, "a chunk is longer than its size (RFC 9112 §7.1)")
    }
    framing = .chunkSize
  }

  private static func framing(of request: ReceivedRequest) throws(WireError) -> Framing {
    let lengths = request.fields[values: .contentLength]
    if let coding = request.fields[.transferEncoding] {
      guard ASCII.equalIgnoringCase(coding, "chunked") else {
        throw .refused(.notImplemented, "unsupported transfer coding: only 'chunked' is supported")
      }
      // Both together can smuggle requests (RFC 9112 §6.3, rule 3).
      guard lengths.isEmpty else {
        throw .refused(.badRequest, "Content-Length and Transfer-Encoding in one request (RFC 9112 §6.3)")
      }
      return .chunkSize
    }
    guard let text = lengths.first else { return .length(0) }
    guard Set(lengths).count == 1, text.utf8.allSatisfy({ (48...57).contains($0) }), let length = Int64(text) else {
      throw .refused(.badRequest, "invalid Content-Length (RFC 9112 §6.3)")
    }
    return .length(length)
  }
}

/// Reads the head of a request (RFC 9112 §2–5).
enum RequestHeadReader {
  /// The maximum size of a head in bytes. A larger one is answered with 431.
  static let limit = 256 << 10

  /// The first line of a connection of HTTP/2 (RFC 9113 §3.4).
  static let prefaceLine = "PRI * HTTP/2.0"

  /// Reads the next request's head; nil if the connection ended before it.
  static func read(from buffer: WireBuffer, for answering: Answering) throws(WireError) -> ReceivedRequest? {
    var start = try buffer.line(upTo: limit)
    // A client may send an empty line after a body by mistake (RFC 9112 §2.2).
    while start == "" { start = try buffer.line(upTo: limit) }
    guard let start else { return nil }
    if start == prefaceLine, answering.settings.allowsPreface { throw .preface }
    let parts = start.split(separator: " ", omittingEmptySubsequences: false)
    guard parts.count == 3, !parts[1].isEmpty, let method = HTTPMethod(rawValue: String(parts[0])) else {
      throw .refused(.badRequest, "the request line is not 'method target version'")
    }
    guard let version = HTTPVersion(rawValue: String(parts[2])), version <= .http1_1 else {
      throw .refused(.httpVersionNotSupported, "unsupported version: this server supports HTTP/1.0 and HTTP/1.1")
    }
    guard parts[1].utf8.allSatisfy({ (33...126).contains($0) && $0 != UInt8(ascii: "#") }) else {
      throw .refused(.badRequest, "the target has a fragment, or a character that must be encoded (RFC 9112 §3.2)")
    }
    let fields = try fields(from: buffer)
    guard version < .http1_1 || fields[values: .host].count == 1 else {
      throw .refused(.badRequest, "a request of HTTP/1.1 has one Host field (RFC 9112 §3.2)")
    }
    return ReceivedRequest(
      method: method, target: String(parts[1]), version: version, fields: fields,
      connection: answering.number, handshake: answering.handshake)
  }

  /// Reads field lines up to an empty line: a head's fields, or the trailers of a chunked body.
  static func fields(from buffer: WireBuffer) throws(WireError) -> HTTPFields {
    var fields: HTTPFields = [:]
    var rest = limit
    while true {
      guard let line = try buffer.line(upTo: rest) else { throw .peerGone }
      if line.isEmpty { return fields }
      rest -= line.utf8.count
      guard let colon = line.firstIndex(of: ":"), let name = try? FieldName(String(line[..<colon])) else {
        throw .refused(.badRequest, "a field line is not 'name: value' (RFC 9112 §5)")
      }
      guard !line.utf8.contains(where: { $0 == 0 || $0 == 13 }) else {
        throw .refused(.badRequest, "the field '\(line[..<colon])' has a NUL or a CR (RFC 9110 §5.5)")
      }
      let value = String(ASCII.trimmed(line[line.index(after: colon)...]))
      fields.appendReceived(name, name == .cookie ? value : decoded(value))
    }
  }
}

extension RequestHeadReader {
  /// Returns the text of a part of a line: as Latin-1 if the line is not UTF-8, since every byte is valid Latin-1 (RFC
  /// 9110 §5.5).
  static func decoded(_ text: String) -> String {
    guard FieldOctets.hasOctets(text) else { return text }
    return String(String.UnicodeScalarView(FieldOctets.bytes(text).map { Unicode.Scalar($0) }))
  }
}

/// Buffers the bytes that were received and not yet consumed, such as pipelined requests.
final class WireBuffer {
  private let stream: any ServerStream
  private var bytes: [UInt8] = []
  private var position = 0
  private var deadline: ContinuousClock.Instant?
  /// Whether bytes were received since the deadline was set.
  private var hasBegun = false
  /// Records the waits for the bytes of a body; nil if the connection need not give way during them.
  var waits: ConnectionWaits?
  private static let pieceSize = 64 << 10

  init(_ stream: any ServerStream) { self.stream = stream }

  /// Sets how long receiving everything from now on may take in total; nil for no limit.
  func setLimit(_ time: Duration?) {
    deadline = time.map { .now + $0 }
    hasBegun = position < bytes.count
  }

  /// Takes the bytes that were received and not consumed.
  func takeRest() -> Data {
    defer { position = bytes.count }
    return Data(bytes[position...])
  }

  private var isLate: Bool { deadline.map { !stream.waitForBytes(until: $0) } ?? false }

  private static let late = WireError.refused(.requestTimeout, "the request was not complete in time")

  /// Returns the next line without its line break; nil if the connection ended before it, or nothing arrived in time. A
  /// lone LF ends a line too (RFC 9112 §2.2). The bytes of a line that is not UTF-8 are kept (``FieldOctets``).
  func line(upTo limit: Int) throws(WireError) -> String? {
    var searched = position
    while true {
      if let end = bytes[searched...].firstIndex(of: 10) {
        guard end - position <= limit else { throw .refused(.requestHeaderFieldsTooLarge, "a line is too long") }
        let line = bytes[position..<(end > position && bytes[end - 1] == 13 ? end - 1 : end)]
        position = end + 1
        return FieldOctets.text(line)
      }
      guard bytes.count - position <= limit else { throw .refused(.requestHeaderFieldsTooLarge, "a line is too long") }
      let unfinished = bytes.count - position
      waits?.begin()
      if isLate {
        guard hasBegun else { return nil }
        throw Self.late
      }
      guard receive() else {
        if unfinished == 0 { return nil }
        throw .peerGone
      }
      try waits?.end()
      searched = position + unfinished
    }
  }

  /// Returns the next bytes, at most that many; nil at the connection's end.
  func data(upTo count: Int64) throws(WireError) -> Data? {
    if position < bytes.count {
      let end = position + Int(min(count, Int64(bytes.count - position)))
      defer { position = end }
      return Data(bytes[position..<end])
    }
    waits?.begin()
    if isLate { throw Self.late }
    var piece = Data(count: Int(min(count, Int64(Self.pieceSize * 4))))
    let received = piece.withUnsafeMutableBytes { stream.receive(into: $0) }
    guard received > 0 else { return nil }
    try waits?.end()
    return received == piece.count ? piece : piece.prefix(received)
  }

  /// Receives more bytes; false at the connection's end.
  private func receive() -> Bool {
    bytes.removeSubrange(..<position)
    position = 0
    hasBegun = true
    return withUnsafeTemporaryAllocation(byteCount: Self.pieceSize, alignment: 1) { scratch in
      let count = stream.receive(into: scratch)
      bytes.append(contentsOf: UnsafeRawBufferPointer(rebasing: scratch[..<count]))
      return count > 0
    }
  }
}
