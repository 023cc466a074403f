/// Validates the lines of response heads and trailers by RFC 9112, and refuses an invalid message before any part of it
/// is used. It keeps the raw bytes, from which a ``ResponseHead`` is parsed on demand.
///
/// A final head is followed by trailers, an informational head by the next head. Only the first line of a head is a
/// status line, even if another line looks like one.
package struct ResponseHeadReader: Sendable {
  /// The result of a line.
  package enum Event: Sendable, Equatable {
    case none
    /// A complete 1xx head other than 101; another head follows.
    case informational([UInt8], status: Int)
    /// The complete final head: its raw lines without the empty line.
    case final([UInt8], status: Int, BodyFraming)
  }

  private enum Stage: Sendable {
    case statusLine
    case fields(StatusLine)
    case trailers
  }

  /// The maximum number of informational heads before the final one.
  package static let informationalLimit = 100

  private let method: HTTPMethod
  private let allowsUpgrade: Bool
  private var stage = Stage.statusLine
  private var block: [UInt8] = []
  private var framing = FramingFields()
  /// The kind of the last field line; nil if there was none.
  private var last: FieldLine.Kind?
  /// The raw lines of the trailers.
  package private(set) var trailers: [UInt8] = []
  /// The number of bytes of all lines so far.
  package private(set) var byteCount = 0
  /// Whether the last head allows its connection to be used again (RFC 9112 §9.3). A body that ends with the connection
  /// does not count here.
  package private(set) var keepsConnection = false
  /// After how many idle seconds the server closes the connection, if the last head says so (`Keep-Alive`).
  package private(set) var idleSeconds: Int?

  /// Makes a reader for the response to one request.
  ///
  /// - Parameters:
  ///   - method: the method of the request.
  ///   - allowsUpgrade: whether the request has an `Upgrade` field, so that a 101 is a valid response.
  package init(answering method: HTTPMethod, allowsUpgrade: Bool = false) {
    self.method = method
    self.allowsUpgrade = allowsUpgrade
  }

  /// Whether a head has begun and is not complete.
  package var isWithinHead: Bool { if case .fields = stage { true } else { false } }

  /// Processes the next line, which includes its line break.
  package mutating func take(_ line: UnsafeRawBufferPointer) throws(MessageFault) -> Event {
    byteCount += line.count
    switch stage {
    case .statusLine:
      begin(try StatusLine(line), line)
      return .none
    case .fields(let statusLine):
      if try takeField(line) { return try end(statusLine) }
      block.append(contentsOf: line)
      return .none
    case .trailers:
      if try !takeField(line) { trailers.append(contentsOf: line) }
      return .none
    }
  }

  /// Takes all whole field lines at a position as ``take(_:)`` does, up to the end of the head, and moves the position
  /// behind them. It stops before a line that would make the total exceed the limit.
  package mutating func takeFields(
    in bytes: UnsafeRawBufferPointer, from position: inout Int, limit: Int
  ) throws(MessageFault) -> Event {
    guard case .fields(let statusLine) = stage else { return .none }
    let start = position
    var isComplete = false
    while !isComplete, let (content, end) = Self.plainLine(in: bytes, from: position), byteCount + end - start <= limit
    {
      isComplete = try takeField(
        FieldLine(content: UnsafeRawBufferPointer(rebasing: bytes[position..<content])), bytes, position)
      if isComplete { block.append(contentsOf: UnsafeRawBufferPointer(rebasing: bytes[start..<position])) }
      position = end
    }
    byteCount += position - start
    if isComplete { return try self.end(statusLine) }
    block.append(contentsOf: UnsafeRawBufferPointer(rebasing: bytes[start..<position]))
    return .none
  }

  /// Returns the ends of a line's content and of the line; nil if it has no end yet, or is not valid.
  private static func plainLine(in bytes: UnsafeRawBufferPointer, from start: Int) -> (content: Int, end: Int)? {
    let content = ByteScan.breakOffset(in: bytes, from: start)
    guard content < bytes.count else { return nil }
    if bytes[content] == 10 { return (content, content + 1) }
    guard bytes[content] == 13, content + 1 < bytes.count, bytes[content + 1] == 10 else { return nil }
    return (content, content + 2)
  }

  private mutating func begin(_ statusLine: StatusLine, _ line: UnsafeRawBufferPointer) {
    block = []
    block.reserveCapacity(1024)
    block.append(contentsOf: line)
    framing = FramingFields()
    last = nil
    stage = .fields(statusLine)
  }

  /// Validates a field line. Returns whether it is the empty line at the end.
  private mutating func takeField(_ line: UnsafeRawBufferPointer) throws(MessageFault) -> Bool {
    try takeField(FieldLine(line), line, 0)
  }

  /// - Parameter start: the position of the line in the bytes.
  private mutating func takeField(
    _ line: FieldLine, _ bytes: UnsafeRawBufferPointer, _ start: Int
  ) throws(MessageFault) -> Bool {
    switch line {
    case .end: return true
    case .continuation:
      switch last {
      case nil: throw .leadingWhitespace
      case .keepAlive, .other: break
      case .connection: framing.takeFoldedConnection()
      case .contentLength, .transferEncoding: throw .foldedFraming
      }
    case .field(let kind, let value):
      last = kind
      guard kind != .other else { break }
      let range = (start + value.lowerBound)..<(start + value.upperBound)
      framing.take(UnsafeRawBufferPointer(rebasing: bytes[range]), of: kind)
    }
    return false
  }

  private mutating func end(_ statusLine: StatusLine) throws(MessageFault) -> Event {
    let status = statusLine.status
    guard status != 101 || allowsUpgrade else { throw .unaskedUpgrade }
    keepsConnection = framing.keepsConnection(in: statusLine.version)
    idleSeconds = framing.idleSeconds
    last = nil
    if status < 200, status != 101 {
      stage = .statusLine
      return .informational(block, status: status)
    }
    let body = try BodyFraming(status: status, answering: method, fields: framing)
    stage = .trailers
    return .final(block, status: status, body)
  }
}
