import MartletEngine
public import MartletSemantics

extension HAR {
  /// A message of a WebSocket, in the form in which browsers export it.
  public struct WebSocketMessage: Sendable, Hashable, Codable {
    /// The direction: `send` or `receive`.
    public var type: String
    /// The time at which it was sent or had arrived, in seconds since 1970.
    public var time: Double
    /// What it is (RFC 6455 §5.2): 1 is text, 2 is bytes, 8 closes the WebSocket.
    public var opcode: Int64
    /// The content: text unchanged, bytes in base64. For a message that closes the WebSocket, the code and the reason,
    /// separated by a space.
    public var data: String
    /// A remark; the recorder notes that the message was cut off.
    public var comment: String?

    /// Makes a message.
    public init(type: String, time: Double, opcode: Int64, data: String, comment: String? = nil) {
      self.type = type
      self.time = time
      self.opcode = opcode
      self.data = data
      self.comment = comment
    }

    public init(from decoder: any Decoder) throws {
      let values = try decoder.container(keyedBy: CodingKeys.self)
      self.init(
        type: values.text(.type) ?? "receive", time: values.number(.time) ?? 0,
        opcode: values.integer(.opcode) ?? 1, data: values.text(.data) ?? "", comment: values.text(.comment))
    }
  }
}

extension HAR.WebSocketMessage {
  /// Makes a message from an event, without secrets.
  init(_ message: Event.Message, at date: Date, _ redaction: Redaction) {
    let text = String(decoding: message.payload, as: UTF8.self)
    let (opcode, data): (Int64, String) =
      switch message.kind {
      case .data: (2, message.payload.base64EncodedString())
      case .close(let code): (8, [code.map { "\($0)" } ?? "", text].joined(separator: " "))
      default: (1, text)
      }
    self.init(
      type: message.direction == .sent ? "send" : "receive", time: date.timeIntervalSince1970, opcode: opcode,
      data: data, comment: message.isCutOff ? "cut off after \(message.payload.count) of \(message.count) bytes" : nil)
    self = redacted(redaction)
  }

  /// The bytes of a message of bytes; nil if they are not valid base64.
  @_spi(Toolkit) public var bytes: Data? { HAR.bytes(of: data, encoding: "base64") }
}

extension Event.Message {
  /// Whether the event has only the beginning of the message.
  fileprivate var isCutOff: Bool { payload.count < count }
}

/// The messages of a WebSocket that is being recorded.
struct RecordedMessages: Sendable {
  private var messages: [(message: Event.Message, date: Date)] = []
  private var size = 0
  private var leftOut = 0
  private let limit: Int

  /// - Parameter limit: the maximum number of bytes of all messages together. Each counts as a few more bytes.
  init(limit: Int) { self.limit = limit }

  mutating func append(_ message: Event.Message, at date: Date) {
    guard size < limit else {
      leftOut += 1
      return
    }
    var message = message
    message.payload = message.payload.prefix(limit - size)
    size += message.payload.count + 64
    messages.append((message, date))
  }

  func messages(_ redaction: Redaction) -> [HAR.WebSocketMessage] {
    messages.map { HAR.WebSocketMessage($0.message, at: $0.date, redaction) }
  }

  /// The number of later messages that were left out; nil if there are none.
  var omitted: Int64? { leftOut > 0 ? Int64(leftOut) : nil }
}
