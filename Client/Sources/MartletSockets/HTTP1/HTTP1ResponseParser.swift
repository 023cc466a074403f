import MartletEngine
@_spi(Toolkit) import MartletSemantics

/// Reads the response to one request from the bytes of a connection, however they are split (RFC 9112).
///
/// The parser does not copy the body: a piece of it is a range of the input. It keeps only incomplete lines, so a call
/// that returns nil has consumed all input. After ``Event/end(trailers:)`` it consumes nothing more: the rest does not
/// belong to the response.
///
/// Decisions where the RFC leaves a choice, besides those of `StatusLine`, `FieldLine` and `BodyFraming`:
/// - An empty line before the status line is refused. Only servers should ignore one (§2.2); on a reused connection it
///   would be a remainder of the last response.
/// - A response that does not begin with `HTTP/1.` is refused at its first wrong byte: a server of another protocol may
///   never send a line.
/// - One limit covers the lines of all heads and of the trailers. At most 100 heads are informational.
/// - The bytes after 101, or after a 2xx to CONNECT, are no longer HTTP; they stay in the input.
struct HTTP1ResponseParser: Sendable {
  /// A part of a response.
  enum Event: Equatable {
    /// The raw lines of a 1xx head other than 101, without the empty line.
    case informational([UInt8], status: Int)
    /// The raw lines of the final head, without the empty line.
    case head([UInt8], status: Int, BodyFraming)
    /// A piece of the body, as its range in the input of this call. Never empty.
    case body(Range<Int>)
    /// The end of the response, with the raw lines of its trailers.
    case end(trailers: [UInt8])
  }

  private enum Stage {
    /// Within a head, or before it.
    case head
    /// Within a body of known length, with this many bytes missing.
    case sized(Int64)
    /// Before or within the line with the size of a chunk.
    case chunkSize
    /// Within a chunk, with this many bytes missing.
    case chunk(Int64)
    /// Before the line break after a chunk, or after its CR.
    case chunkEnd(hasCR: Bool)
    case trailers
    case untilClose
    /// Everything was read; the end is still to be reported.
    case complete
    case ended
  }

  private let headLimit: Int
  private let isAnswerToConnect: Bool
  private var stage = Stage.head
  private var reader: ResponseHeadReader
  private var sizes = ChunkSizeReader()
  /// The beginning of a line whose end has not arrived yet.
  private var pending: [UInt8] = []
  private var informationalHeads = 0
  private var framing: BodyFraming?

  /// The number of bytes of the body so far.
  private(set) var bodyCount: Int64 = 0
  /// Whether any byte of a response has arrived.
  private(set) var hasBegun = false
  /// Whether the connection is no longer used for HTTP after this response: the server has switched to another protocol
  /// (RFC 9110 §7.8), or opened a tunnel (§9.3.6).
  private(set) var hasUpgraded = false
  /// Whether the connection may be used for another request after this response (RFC 9112 §9.3). Valid after the end.
  var keepsConnection: Bool { reader.keepsConnection && framing != .untilClose && !hasUpgraded }
  /// After how many idle seconds the server closes the connection; nil if it does not say. Valid after the end.
  var idleSeconds: Int? { reader.idleSeconds }
  /// Whether the final head has arrived.
  var hasHead: Bool { framing != nil }

  /// Makes a parser for the response to one request.
  ///
  /// - Parameters:
  ///   - method: the method of the request.
  ///   - allowsUpgrade: whether the request has an `Upgrade` field, so that a 101 is a valid response.
  ///   - headLimit: the maximum number of bytes of all heads and trailers, with their line breaks.
  init(answering method: HTTPMethod, allowsUpgrade: Bool, headLimit: Int) {
    self.headLimit = headLimit
    isAnswerToConnect = method == .connect
    reader = ResponseHeadReader(answering: method, allowsUpgrade: allowsUpgrade)
  }

  /// Returns the next part of the response; nil if more input is needed, or the end was reported.
  ///
  /// - Parameters:
  ///   - input: bytes of the connection.
  ///   - position: the offset of the first unconsumed byte. It is moved to the end of the consumed bytes.
  mutating func next(in input: RawSpan, from position: inout Int) throws(HTTP1Failure) -> Event? {
    try input.withUnsafeBytes { bytes throws(HTTP1Failure) in try next(in: bytes, from: &position) }
  }

  private mutating func next(
    in bytes: UnsafeRawBufferPointer, from position: inout Int
  ) throws(HTTP1Failure) -> Event? {
    if position < bytes.count, !hasBegun { hasBegun = true }
    while true {
      switch stage {
      case .head, .chunkSize, .trailers:
        switch try nextLine(in: bytes, from: &position) {
        case .incomplete: return nil
        case .taken: break
        case .event(let event): return event
        }
      case .sized(let missing):
        guard position < bytes.count else { return nil }
        let range = takeBody(min(Int64(bytes.count - position), missing), &position)
        stage = Int64(range.count) == missing ? .complete : .sized(missing - Int64(range.count))
        return .body(range)
      case .chunk(let missing):
        guard position < bytes.count else { return nil }
        let range = takeBody(min(Int64(bytes.count - position), missing), &position)
        stage = Int64(range.count) == missing ? .chunkEnd(hasCR: false) : .chunk(missing - Int64(range.count))
        return .body(range)
      case .chunkEnd(let hasCR):
        guard position < bytes.count else { return nil }
        try takeChunkEnd(bytes[position], hasCR: hasCR)
        position += 1
      case .untilClose:
        guard position < bytes.count else { return nil }
        return .body(takeBody(Int64(bytes.count - position), &position))
      case .complete:
        stage = .ended
        return .end(trailers: reader.trailers)
      case .ended: return nil
      }
    }
  }

  /// How many bytes of a body of known length are missing; nil in any other state.
  var missingBody: Int64? { if case .sized(let missing) = stage { missing } else { nil } }

  /// Counts bytes of such a body that were received elsewhere, no more than are missing.
  mutating func skipBody(_ count: Int) {
    guard case .sized(let missing) = stage else { return }
    bodyCount += Int64(count)
    stage = Int64(count) >= missing ? .complete : .sized(missing - Int64(count))
  }

  /// Ends the response after the peer has ended the connection, which may delimit the body. Returns the raw lines of
  /// the trailers.
  ///
  /// - Parameter isClean: false for TLS without `close_notify`: the end may then be an attacker's, and such a body is
  ///   not known to be complete (RFC 9112 §9.8).
  /// - Throws: an ``HTTP1Failure`` of kind `connectionLost` if the response is not complete.
  mutating func endOfInput(isClean: Bool = true) throws(HTTP1Failure) -> [UInt8] {
    switch stage {
    case .complete, .ended: break
    case .untilClose where isClean: break
    default: throw cutOff
    }
    stage = .ended
    return reader.trailers
  }

  /// The failure of a response that stays incomplete because the connection has ended or failed.
  var cutOff: HTTP1Failure {
    HTTP1Failure(.connectionLost, "the connection ended \(placeOfEnd)", phase: phase)
  }

  private var phase: HTTPError.Phase { hasHead ? .receiving : .waiting }
}

// MARK: - Lines

extension HTTP1ResponseParser {
  private enum LineResult {
    /// The line has no end yet; its beginning is kept.
    case incomplete
    case taken
    case event(Event)
  }

  /// Takes the next line with its line break.
  private mutating func nextLine(
    in bytes: UnsafeRawBufferPointer, from position: inout Int
  ) throws(HTTP1Failure) -> LineResult {
    if reader.isWithinHead, pending.isEmpty, let event = try takeFields(bytes, &position) { return .event(event) }
    try checkBeginning(bytes, position)
    let end = ByteScan.lineEnd(in: bytes, from: position)
    let piece = UnsafeRawBufferPointer(rebasing: bytes[position..<(end ?? bytes.count)])
    try checkLimit(piece.count)
    position += piece.count
    if end != nil, pending.isEmpty { return try take(piece) }
    pending.append(contentsOf: piece)
    guard end != nil else { return .incomplete }
    let line = pending
    pending = []
    return try line.span.bytes.withUnsafeBytes { line throws(HTTP1Failure) in try take(line) }
  }

  /// Checks the beginning of a status line before the line is complete.
  private func checkBeginning(_ bytes: UnsafeRawBufferPointer, _ position: Int) throws(HTTP1Failure) {
    guard case .head = stage, !reader.isWithinHead, pending.count < 7, position < bytes.count else { return }
    let piece = UnsafeRawBufferPointer(rebasing: bytes[position..<min(position + 7, bytes.count)])
    let begins =
      pending.isEmpty ? StatusLine.begins(piece) : (pending + piece).withUnsafeBytes { StatusLine.begins($0) }
    guard begins else {
      // The type and version of a TLS alert (RFC 8446 §5.1).
      guard (pending + piece).starts(with: [21, 3]) else { throw HTTP1Failure(.statusLine, phase: phase) }
      throw HTTP1Failure(
        .protocolViolation, "the server uses TLS on this port, which is one for https: use an https URL", phase: phase)
    }
  }

  /// Checks the length of the part of a line that has arrived.
  private func checkLimit(_ count: Int) throws(HTTP1Failure) {
    if case .chunkSize = stage {
      guard pending.count + count <= ChunkSizeReader.lineLimit else {
        throw HTTP1Failure(.chunkExtension, phase: phase)
      }
    } else if reader.byteCount + pending.count + count > headLimit {
      let message = "the response's heads are larger than \(headLimit) bytes"
      throw HTTP1Failure(.headTooLarge, message, phase: phase)
    }
  }

  /// Takes all complete field lines at once, which is faster than one by one.
  private mutating func takeFields(
    _ bytes: UnsafeRawBufferPointer, _ position: inout Int
  ) throws(HTTP1Failure) -> Event? {
    do throws(MessageFault) {
      return try take(reader.takeFields(in: bytes, from: &position, limit: headLimit))
    } catch {
      throw HTTP1Failure(error, phase: phase)
    }
  }

  private mutating func take(_ line: UnsafeRawBufferPointer) throws(HTTP1Failure) -> LineResult {
    let event: Event?
    do throws(MessageFault) { event = try takeLine(line) } catch { throw HTTP1Failure(error, phase: phase) }
    return event.map { .event($0) } ?? .taken
  }

  private mutating func takeLine(_ line: UnsafeRawBufferPointer) throws(MessageFault) -> Event? {
    if case .chunkSize = stage {
      let size = try sizes.take(line)
      stage = size == 0 ? .trailers : .chunk(size)
      return nil
    }
    let event = try take(reader.take(line))
    if case .trailers = stage, line[0] == 10 || line[0] == 13 { stage = .complete }
    return event
  }

  private mutating func take(_ event: ResponseHeadReader.Event) throws(MessageFault) -> Event? {
    switch event {
    case .none: return nil
    case .informational(let lines, let status):
      informationalHeads += 1
      guard informationalHeads <= ResponseHeadReader.informationalLimit else { throw .informationalHeads }
      return .informational(lines, status: status)
    case .final(let lines, let status, let framing):
      begin(framing, hasUpgraded: status == 101 || isAnswerToConnect && status < 300)
      return .head(lines, status: status, framing)
    }
  }
}

// MARK: - The body

extension HTTP1ResponseParser {
  private mutating func begin(_ framing: BodyFraming, hasUpgraded: Bool) {
    self.framing = framing
    self.hasUpgraded = hasUpgraded
    stage =
      switch framing {
      case .none, .length(0): .complete
      case .length(let count): .sized(count)
      case .chunked: .chunkSize
      case .untilClose: .untilClose
      }
  }

  private mutating func takeBody(_ count: Int64, _ position: inout Int) -> Range<Int> {
    let start = position
    position += Int(count)
    bodyCount += count
    return start..<position
  }

  private mutating func takeChunkEnd(_ byte: UInt8, hasCR: Bool) throws(HTTP1Failure) {
    switch byte {
    case 10: stage = .chunkSize
    case 13 where !hasCR: stage = .chunkEnd(hasCR: true)
    default: throw HTTP1Failure(.chunkEnd, phase: phase)
    }
  }

  /// Where the response was cut off.
  private var placeOfEnd: String {
    switch stage {
    case .head where !hasBegun: "before any byte of a response"
    case .head where informationalHeads > 0 && !reader.isWithinHead && pending.isEmpty:
      "after an informational response and before the final one"
    case .head: "within the response's head"
    case .sized(let missing): "after \(bodyCount) of \(bodyCount + missing) bytes of the response's body"
    case .chunkSize, .chunk, .chunkEnd: "after \(bodyCount) bytes of the response's body, before its last chunk"
    case .trailers: "within the response's trailers"
    case .untilClose: "after \(bodyCount) bytes of a body without a length, and not by a TLS close_notify"
    case .complete, .ended: "after the response"
    }
  }
}
