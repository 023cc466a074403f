#if os(Linux)
import MartletEngine
import MartletSemantics
import MartletTesting
import Testing

/// One response of the table: a server's bytes, and the outcome that a client should have.
struct Message: Decodable, Sendable, CustomTestStringConvertible {
  /// A unique sentence.
  let name: String
  /// The section of the RFC.
  let section: String
  /// If the RFC allows several outcomes: the chosen one, and the reason.
  let decision: String?
  /// The method of the request; `GET` if nil.
  let method: String?
  /// The method of the next request, over the same connection if that is reusable; `GET` if nil.
  let next: String?
  /// The writes of the server.
  let sends: [Octets]
  /// Whether the rest of the message is sent after the response was read and the connection is idle.
  let idle: [Octets]?
  /// The expected outcome.
  let expect: Expectation
  /// The outcomes of other clients, by name.
  let observed: [String: Observation]

  var testDescription: String { name }
  var bytes: [UInt8] { sends.flatMap(\.data) }

  /// The outcome of another client; `observe.py` documents the members.
  struct Observation: Decodable, Sendable {
    let status: Int?
    let refused: String?
    let silent: Bool?
  }

  /// The whole file.
  struct Table: Decodable, Sendable {
    /// The versions of the other clients.
    let clients: [String: String]
    let messages: [Message]
  }

  /// The table; empty if it cannot be read, which a test checks.
  static let table: Table = {
    do {
      return try JSONDecoder().decode(Table.self, from: Data(contentsOf: folder.appending(path: "messages.json")))
    } catch {
      Issue.record(error, "messages.json cannot be read")
      return Table(clients: [:], messages: [])
    }
  }()

  /// The folder of the table and its server.
  static let folder = URL(filePath: #filePath).deletingLastPathComponent()
}

/// The outcome of a message: a response, or an error of a certain kind.
struct Expectation: Decodable, Sendable {
  /// The kind of error; then all other members are nil.
  let refused: String?
  let status: Int?
  /// The statuses of the informational responses before it; none if nil.
  let interim: [Int]?
  /// Fields of the head with all their values, in order; an empty list for a field that must be missing. Other fields
  /// are ignored.
  let fields: [String: [Octets]]?
  let body: Octets?
  let trailers: [String: [Octets]]?
  /// Whether the connection is used for the next request; nil if both are right.
  let reused: Bool?

  /// Whether the next request is sent over the same connection. After an error it never is, except for errors of a
  /// content coding, which do not concern the connection.
  var isReused: Bool? { refused == nil ? reused : refused == "undecodableBody" ? nil : false }
}

/// Bytes in the form of the table.
///
/// A string in which each character is one byte; `{"base64": …}`; `{"repeat": …, "times": …}`; or a list of these.
struct Octets: Decodable, Sendable {
  let data: Data
  /// The bytes as text, for the values of fields; empty for base64.
  let text: String

  private enum Key: CodingKey {
    case base64, `repeat`, times
  }

  init(from decoder: any Decoder) throws {
    if let text = try? decoder.singleValueContainer().decode(String.self) {
      self.text = text
      data = Data(text.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) })
    } else if let parts = try? decoder.singleValueContainer().decode([Octets].self) {
      text = parts.map(\.text).joined()
      data = parts.reduce(Data()) { $0 + $1.data }
    } else {
      let container = try decoder.container(keyedBy: Key.self)
      if let data = try container.decodeIfPresent(Data.self, forKey: .base64) {
        self.data = data
        text = ""
      } else {
        let unit = try container.decode(String.self, forKey: .repeat)
        text = String(repeating: unit, count: try container.decode(Int.self, forKey: .times))
        data = Data(text.utf8)
      }
    }
  }
}
#endif
