/// Validates the lines of response heads and trailers as RFC 9112 defines them, and refuses an invalid message before
/// any part of it is used. It keeps the raw bytes, from which a ``ResponseHead`` is parsed when it is needed.
///
/// A final head is followed by trailers, an informational head by the next head. Only the first line of a head is a
/// status line, even if another line looks like one.
package struct ResponseHeadReader: Sendable {
  /// What a line completed.
  package enum Event: Sendable, Equatable {
    case none
    /// A complete 1xx head other than 101; another head follows.
    case informational([UInt8])
    /// The complete final head: its raw lines without the empty line.
    case final([UInt8], status: Int, BodyFraming)
  }

  private enum Stage: Sendable {
    case statusLine
    case fields(StatusLine)
    case trailers
  }

  private let isAnswerToHead: Bool
  private let allowsUpgrade: Bool
  private var stage = Stage.statusLine
  private var block: [UInt8] = []
  /// The values of the fields that frame the message.
  private var lengths: [String] = []
  private var codings: [String] = []
  /// The kind of the last field line; nil if there was none.
  private var last: FieldLine.Kind?
  /// The raw lines of the trailers.
  package private(set) var trailers: [UInt8] = []
  /// The number of bytes of all lines so far.
  package private(set) var byteCount = 0

  /// Creates a reader for the response to one request.
  ///
  /// - Parameters:
  ///   - method: The method of the request.
  ///   - allowsUpgrade: Whether the request has an `Upgrade` field, so that a 101 is a valid response.
  package init(answering method: HTTPMethod, allowsUpgrade: Bool = false) {
    isAnswerToHead = method == .head
    self.allowsUpgrade = allowsUpgrade
  }

  /// Whether a head has begun and is not complete.
  package var isWithinHead: Bool { if case .fields = stage { true } else { false } }

  /// Prepares for another response, because the request is sent again.
  package mutating func restart() {
    stage = .statusLine
    trailers = []
  }

  /// Processes the next line, which includes its line break.
  ///
  /// - Parameter isHTTP2: Whether the line comes from an HTTP/2 message, which is not framed by fields.
  package mutating func take(_ line: UnsafeRawBufferPointer, isHTTP2: Bool = false) throws(MessageFault) -> Event {
    byteCount += line.count
    switch stage {
    case .statusLine:
      let statusLine = isHTTP2 ? try StatusLine(synthesised: line) : try StatusLine(line)
      begin(statusLine, line)
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

  private mutating func begin(_ statusLine: StatusLine, _ line: UnsafeRawBufferPointer) {
    block = Array(line)
    block.reserveCapacity(1024)
    lengths = []
    codings = []
    last = nil
    stage = .fields(statusLine)
  }

  /// Validates a field line. Returns whether it is the empty line at the end.
  private mutating func takeField(_ line: UnsafeRawBufferPointer) throws(MessageFault) -> Bool {
    switch try FieldLine(line) {
    case .end: return true
    case .continuation:
      switch last {
      case nil: throw .leadingWhitespace
      case .other: break
      case .contentLength, .transferEncoding: throw .foldedFraming
      }
    case .field(let kind):
      last = kind
      switch kind {
      case .contentLength: lengths.append(Self.value(of: line))
      case .transferEncoding: codings.append(Self.value(of: line))
      case .other: break
      }
    }
    return false
  }

  private mutating func end(_ statusLine: StatusLine) throws(MessageFault) -> Event {
    let status = statusLine.status
    guard status != 101 || allowsUpgrade else { throw .unaskedUpgrade }
    let framing: BodyFraming =
      statusLine.version >= .http2
      ? .untilClose
      : try BodyFraming(
        status: status, isAnswerToHead: isAnswerToHead, lengths: lengths, codings: codings)
    last = nil
    if status < 200, status != 101 {
      stage = .statusLine
      return .informational(block)
    }
    stage = .trailers
    return .final(block, status: status, framing)
  }

  private static func value(of line: UnsafeRawBufferPointer) -> String {
    let start = line.firstIndex(of: UInt8(ascii: ":")).map { $0 + 1 } ?? line.endIndex
    let end = line.lastIndex { $0 != 13 && $0 != 10 }.map { $0 + 1 } ?? start
    return start < end ? String(decoding: line[start..<end], as: UTF8.self) : ""
  }
}

/// How the length of a response body is determined (RFC 9112 §6.3).
package enum BodyFraming: Sendable, Hashable {
  /// There is no body: the response to a HEAD request, and every 1xx, 204 and 304 (rule 1).
  case none
  /// The number of bytes is known (rule 6).
  case length(Int64)
  /// The chunked transfer coding (rule 4).
  case chunked
  /// The body ends with the connection (rule 8).
  case untilClose

  /// Determines the framing from the values of the fields that frame a message.
  ///
  /// - The length of a message that has no body by its status or method is not validated (rule 1).
  /// - `Transfer-Encoding` must be `chunked`, because nothing else was offered. It is also read in a message of
  ///   HTTP/1.0, whose connection must then be closed (§6.1).
  /// - Chunks take precedence over a `Content-Length` (rule 3), which must nevertheless be valid.
  /// - A `Content-Length` that repeats the same number, in one line or several, is that number (rule 5).
  package init(
    status: Int, isAnswerToHead: Bool, lengths: [String], codings: [String]
  ) throws(MessageFault) {
    if isAnswerToHead || status < 200 || status == 204 || status == 304 {
      self = .none
      return
    }
    let length = try Self.length(lengths)
    guard codings.isEmpty else {
      let names = codings.flatMap { FieldList.elements(of: $0[...]) }
      guard names.count == 1, ASCII.equalIgnoringCase(names[0], "chunked") else { throw .transferEncoding }
      self = .chunked
      return
    }
    self = length.map { .length($0) } ?? .untilClose
  }

  private static func length(_ values: [String]) throws(MessageFault) -> Int64? {
    var length: Int64?
    for value in values {
      for element in value.split(separator: ",", omittingEmptySubsequences: false) {
        let digits = ASCII.trimmed(element)
        guard !digits.isEmpty, digits.utf8.allSatisfy(ASCII.isDigit), let number = Int64(digits) else {
          throw .contentLength
        }
        guard length == nil || length == number else { throw .contentLengths }
        length = number
      }
    }
    return length
  }
}
