import MartletSemantics

/// An answer of the server (RESP2).
enum RedisReply: Sendable, Hashable {
  case null
  case integer(Int64)
  case bytes(Data)
  case status(String)
  /// An error text that may be shown.
  case error(String)
  case array([RedisReply])

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
  /// The maximum number of bytes of its answer: a server that sends more loses the connection.
  private(set) var answerLimit = ReplyReader.answerLimit

  init(_ name: String, _ arguments: [Data] = []) { self.arguments = [Data(name.utf8)] + arguments }

  init(_ name: String, _ arguments: String...) { self.init(name, arguments.map { Data($0.utf8) }) }

  /// The command with another limit for its answer; an error always fits.
  func answered(upTo limit: Int) -> RedisCommand {
    var command = self
    command.answerLimit = max(limit, ReplyReader.shortAnswer)
    return command
  }

  /// The command, with the limit for a number, a word, nothing or an error as its answer.
  var answeredBriefly: RedisCommand { answered(upTo: ReplyReader.shortAnswer) }

  /// Appends the command's wire form: an array of bulk strings.
  func write(to buffer: inout [UInt8]) {
    buffer += "*\(arguments.count)\r\n".utf8
    for argument in arguments {
      buffer += "$\(argument.count)\r\n".utf8
      buffer += argument
      buffer += "\r\n".utf8
    }
  }
}
