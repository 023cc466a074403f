/// Reads the lines of responses' heads and trailers as RFC 9112 defines them, and refuses every message that is invalid before
/// anybody uses a part of it. Bytes only; ``ResponseHead`` is made of them by whoever needs it.
///
/// After a final head come trailers; after an informational one the next head. Only the first line of a head is a status line,
/// whatever other lines begin with.
package struct ResponseHeadReader: Sendable {
  /// What a line completed.
  package enum Event: Sendable, Equatable {
    case none
    /// A 1xx other than 101 is whole; another head follows.
    case informational([UInt8])
    /// The head is whole: its raw lines without the empty one.
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
  /// What the last line was; nil where none came.
  private var last: FieldLine.Kind?
  /// The raw lines of the trailers.
  package private(set) var trailers: [UInt8] = []
  /// The bytes of all lines so far.
  package private(set) var byteCount = 0

  /// - Parameters:
  ///   - method: what the response answers.
  ///   - allowsUpgrade: whether the request has an `Upgrade` field, so that a 101 may answer it.
  package init(answering method: HTTPMethod, allowsUpgrade: Bool = false) {
    isAnswerToHead = method == .head
    self.allowsUpgrade = allowsUpgrade
  }

  /// Whether lines of a head have come, and not all.
  package var isWithinHead: Bool { if case .fields = stage { true } else { false } }

  /// Another response follows: the request goes out again.
  package mutating func restart() {
    stage = .statusLine
    trailers = []
  }

  /// Takes the next line, its end included.
  ///
  /// - Parameter isHTTP2: whether the line was made of an HTTP/2 message, whose framing is not in its fields.
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

  /// Checks a field's line. Returns whether it is the empty one at the end.
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
