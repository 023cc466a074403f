@_spi(Toolkit) import MartletSemantics

/// Reads the answers of a server, which arrive in pieces of any size: RESP version 2
/// (https://redis.io/docs/latest/develop/reference/protocol-spec/).
///
/// No memory is allocated for data that a server only announces: an answer is refused as soon as it cannot stay within
/// its limits.
struct ReplyReader {
  /// The maximum number of bytes of an answer whose command sets no lower limit: a stored value, or the names of half a
  /// million keys.
  static let answerLimit = 64 << 20
  /// The maximum number of bytes of an answer that is a number, a word or an error.
  static let shortAnswer = 64 << 10
  /// The maximum number of bytes of a line of text. Redis truncates its own errors much earlier.
  static let lineLimit = 16 << 10
  /// The maximum number of bytes of a line with a number, which has 19 digits at most.
  private static let numberLimit = 24
  /// How deep arrays may be nested; the answer to SCAN has two levels.
  static let depthLimit = 4
  /// The memory of an array element in bytes, besides that of its value.
  static let elementCost = 128

  /// The beginning of a line whose end has not arrived yet.
  private var line: [UInt8] = []
  /// The value that is being received, and how many bytes of it and of its line end are missing.
  private var value: (bytes: Data, missing: Int)?
  /// The incomplete arrays, the outermost first.
  private var arrays: [(elements: [RedisReply], count: Int)] = []
  /// The rest of the answer's limit; nil between answers.
  private var budget: Int?

  /// Returns the next answer, and removes its bytes; nil if more bytes are needed, after removing all.
  ///
  /// - Parameter limit: the maximum number of bytes that the answer may have. It is applied when the answer begins.
  mutating func read(
    _ bytes: inout UnsafeRawBufferPointer, upTo limit: Int
  ) throws(ReplyFault) -> RedisReply? {
    if budget == nil { budget = limit }
    while !bytes.isEmpty {
      guard let part = try part(&bytes), let answer = completed(by: part) else { continue }
      budget = nil
      return answer
    }
    return nil
  }

  /// Returns the next reply that is not an array with elements; nil if an array or a value has begun, or more bytes are
  /// needed.
  private mutating func part(_ bytes: inout UnsafeRawBufferPointer) throws(ReplyFault) -> RedisReply? {
    if value != nil { return try takeValue(&bytes) }
    guard try takeLine(&bytes) else { return nil }
    defer { line.removeAll(keepingCapacity: true) }
    let text = line[1..<(line.count - 2)]
    switch line[0] {
    case UInt8(ascii: "+"):
      try spend(text.count)
      return .status(String(decoding: text, as: UTF8.self))
    case UInt8(ascii: "-"):
      try spend(text.count)
      return .error(Self.shown(text))
    case UInt8(ascii: ":"): return .integer(try Self.number(text))
    case UInt8(ascii: "$"): return try beginValue(Self.number(text))
    default: return try beginArray(Self.number(text))
    }
  }

  /// Adds an element to the array that is being received.
  ///
  /// - Returns: the answer, if it is complete.
  private mutating func completed(by part: RedisReply) -> RedisReply? {
    var part = part
    while !arrays.isEmpty {
      let last = arrays.count - 1
      arrays[last].elements.append(part)
      guard arrays[last].elements.count == arrays[last].count else { return nil }
      part = .array(arrays.removeLast().elements)
    }
    return part
  }

  private mutating func beginArray(_ count: Int64) throws(ReplyFault) -> RedisReply? {
    guard count > 0 else { return try Self.empty(count, .array([])) }
    guard arrays.count < Self.depthLimit else { throw .depth }
    try spend(count, each: Self.elementCost)
    arrays.append(([], Int(count)))
    return nil
  }

  private mutating func beginValue(_ count: Int64) throws(ReplyFault) -> RedisReply? {
    guard count >= 0 else { return try Self.empty(count, .null) }
    try spend(count)
    value = (Data(capacity: min(Int(count), 1 << 20)), Int(count) + 2)
    return nil
  }

  /// Both kinds of null have the length -1.
  private static func empty(_ count: Int64, _ reply: RedisReply) throws(ReplyFault) -> RedisReply {
    guard count >= -1 else { throw .number }
    return count == -1 ? .null : reply
  }

  /// Takes bytes of the value and of the line end after it.
  private mutating func takeValue(_ bytes: inout UnsafeRawBufferPointer) throws(ReplyFault) -> RedisReply? {
    guard var (content, missing) = value.take() else { return nil }
    if missing > 2, let start = bytes.baseAddress {
      let count = min(bytes.count, missing - 2)
      content.append(start.assumingMemoryBound(to: UInt8.self), count: count)
      bytes = UnsafeRawBufferPointer(rebasing: bytes.dropFirst(count))
      missing -= count
    }
    while (1...2).contains(missing), let byte = bytes.first {
      guard byte == (missing == 2 ? UInt8(ascii: "\r") : UInt8(ascii: "\n")) else { throw .lineEnd }
      bytes = UnsafeRawBufferPointer(rebasing: bytes.dropFirst())
      missing -= 1
    }
    guard missing > 0 else { return .bytes(content) }
    value = (content, missing)
    return nil
  }

  /// Takes bytes of the next line.
  ///
  /// - Returns: whether it is complete, with its end.
  private mutating func takeLine(_ bytes: inout UnsafeRawBufferPointer) throws(ReplyFault) -> Bool {
    let limit = try Self.limit(ofLine: line.first ?? bytes[0])
    let found = bytes.prefix(limit - line.count)
    let end = found.firstIndex(of: UInt8(ascii: "\n"))
    let part = found.prefix(end.map { $0 + 1 } ?? found.count)
    line += part
    bytes = UnsafeRawBufferPointer(rebasing: bytes.dropFirst(part.count))
    guard end != nil else {
      guard line.count < limit else { throw .longLine }
      return false
    }
    guard line.count >= 3, line[line.count - 2] == UInt8(ascii: "\r") else { throw .lineEnd }
    return true
  }

  private static func limit(ofLine type: UInt8) throws(ReplyFault) -> Int {
    switch type {
    case UInt8(ascii: "+"), UInt8(ascii: "-"): lineLimit
    case UInt8(ascii: ":"), UInt8(ascii: "$"), UInt8(ascii: "*"): numberLimit
    default: throw .type(type)
    }
  }

  private static func number(_ text: ArraySlice<UInt8>) throws(ReplyFault) -> Int64 {
    guard let number = Int64(String(decoding: text, as: UTF8.self)) else { throw .number }
    return number
  }

  private mutating func spend(_ count: some BinaryInteger, each cost: Int = 1) throws(ReplyFault) {
    let rest = budget ?? 0
    guard count <= rest / cost else { throw .size }
    budget = rest - Int(count) * cost
  }

  /// Returns an error text in a form that may be shown: in one line, cut off after 300 characters. It omits the
  /// arguments that a server repeats from an unknown command, because they may be secret.
  private static func shown(_ bytes: ArraySlice<UInt8>) -> String {
    let text = String(decoding: bytes, as: UTF8.self)
    let end = text.firstRange(of: ", with args beginning with")?.lowerBound ?? text.endIndex
    return String(String(text[..<end]).printable.prefix(300))
  }
}

/// The reason why received bytes are not an answer. The connection becomes unusable, because the beginning of the next
/// answer is unknown.
enum ReplyFault: Error, Hashable {
  /// The first byte is not a type of RESP 2.
  case type(UInt8)
  case longLine
  /// A line or a value does not end with CR and LF.
  case lineEnd
  /// There is something other than a number, or a number that cannot be a length.
  case number
  /// The answer is larger than its command allows.
  case size
  /// Arrays are nested too deeply.
  case depth
  /// No command waits for an answer.
  case unasked
  /// The answer has another form than its command's.
  case other

  /// The end of a sentence that begins with the server.
  var description: String {
    switch self {
    case .type(let byte): "has sent the byte \(byte), where RESP 2 has a type"
    case .longLine: "has sent a line that is too long"
    case .lineEnd: "has sent a line or a value without its end"
    case .number: "has sent something else where a number belongs"
    case .size: "has sent a larger answer than the command can have"
    case .depth: "has sent arrays that are nested too deeply"
    case .unasked: "has sent an answer that no command asked for"
    case .other: "has sent an answer that the command cannot have"
    }
  }
}

extension RedisError {
  /// The error of calls that wait for a server that has sent something wrong.
  init(_ fault: ReplyFault, of configuration: RedisConfiguration) {
    self.init(
      .unexpectedForm,
      "\(configuration) \(fault.description); the connection was closed: make sure that a Redis server answers there")
  }
}
