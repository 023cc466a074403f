import MartletSemantics
import Testing

/// A row of the table of raw responses (`Client/Tests/MartletTransportTests/Messages`), in the form for a parser.
struct RawMessage: Decodable, Sendable, CustomTestStringConvertible {
  let name: String
  let method: String?
  /// The writes of the server.
  let sends: [Octets]
  /// The bytes that it sends when the connection is idle.
  let idle: [Octets]?
  /// Its subsequent action: `open`, `close` or `reset`; `open` if nil.
  let then: String?
  let expect: Expectation

  struct Expectation: Decodable, Sendable {
    let refused: String?
    let status: Int?
    let interim: [Int]?
    let fields: [String: [Octets]]?
    let body: Octets?
    let trailers: [String: [Octets]]?
    let reused: Bool?
  }

  var testDescription: String { name }
  var bytes: [UInt8] { sends.flatMap(\.bytes) }

  /// The table; empty if it cannot be read, which a test checks.
  static let table: [RawMessage] = {
    struct Table: Decodable { let messages: [RawMessage] }
    let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    do {
      let file = folder.appending(path: "MartletTransportTests/Messages/messages.json")
      return try JSONDecoder().decode(Table.self, from: Data(contentsOf: file)).messages
    } catch {
      Issue.record(error, "messages.json cannot be read")
      return []
    }
  }()
}

/// Bytes in the form of the table: a string in which each character is a byte, base64, a repetition, or a list of
/// these.
struct Octets: Decodable, Sendable {
  let bytes: [UInt8]
  /// The bytes as text, for the values of fields; empty for base64.
  let text: String

  private enum Key: CodingKey {
    case base64, `repeat`, times
  }

  init(from decoder: any Decoder) throws {
    if let text = try? decoder.singleValueContainer().decode(String.self) {
      self.text = text
      bytes = text.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) }
    } else if let parts = try? decoder.singleValueContainer().decode([Octets].self) {
      text = parts.map(\.text).joined()
      bytes = parts.flatMap(\.bytes)
    } else {
      let container = try decoder.container(keyedBy: Key.self)
      if let data = try container.decodeIfPresent(Data.self, forKey: .base64) {
        bytes = Array(data)
        text = ""
      } else {
        let unit = try container.decode(String.self, forKey: .repeat)
        text = String(repeating: unit, count: try container.decode(Int.self, forKey: .times))
        bytes = Array(text.utf8)
      }
    }
  }
}
