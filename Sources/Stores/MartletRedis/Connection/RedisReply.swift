import CHiredis
import MartletSemantics

/// An answer of the server (RESP2).
enum RedisReply: Sendable, Hashable {
  case null
  case integer(Int64)
  case bytes(Data)
  case status(String)
  case error(String)
  case array([RedisReply])

  /// Copies what the library has parsed.
  init(_ reply: redisReply) {
    switch reply.type {
    case REDIS_REPLY_INTEGER: self = .integer(reply.integer)
    case REDIS_REPLY_STRING: self = .bytes(Self.data(reply))
    case REDIS_REPLY_STATUS: self = .status(String(decoding: Self.data(reply), as: UTF8.self))
    case REDIS_REPLY_ERROR: self = .error(String(decoding: Self.data(reply), as: UTF8.self))
    case REDIS_REPLY_ARRAY:
      let elements = UnsafeBufferPointer(start: reply.element, count: reply.elements)
      self = .array(elements.map { $0.map { RedisReply($0.pointee) } ?? .null })
    default: self = .null
    }
  }

  private static func data(_ reply: redisReply) -> Data {
    guard let start = reply.str, reply.len > 0 else { return Data() }
    return Data(bytes: start, count: reply.len)
  }

  /// The bytes; nil for any other answer, such as that of a missing key.
  var bytes: Data? { if case .bytes(let bytes) = self { bytes } else { nil } }

  var integer: Int64? { if case .integer(let integer) = self { integer } else { nil } }

  /// The elements; none for any other answer.
  var elements: [RedisReply] { if case .array(let elements) = self { elements } else { [] } }

  /// Returns the answer unless it is an error.
  func checked() throws(RedisError) -> RedisReply {
    guard case .error(let message) = self else { return self }
    throw RedisError(.refused, "the Redis server answered: \(message)")
  }
}

/// A command and its arguments, as they are sent.
struct RedisCommand: Sendable, Hashable {
  private(set) var arguments: [Data]

  init(_ name: String, _ arguments: [Data] = []) { self.arguments = [Data(name.utf8)] + arguments }

  init(_ name: String, _ arguments: String...) { self.init(name, arguments.map { Data($0.utf8) }) }

  /// Appends the form of the wire: an array of bulk strings.
  func write(to buffer: inout [UInt8]) {
    buffer += "*\(arguments.count)\r\n".utf8
    for argument in arguments {
      buffer += "$\(argument.count)\r\n".utf8
      buffer += argument
      buffer += "\r\n".utf8
    }
  }
}
