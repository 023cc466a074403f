#if os(Linux)
import MartletEngine
import MartletSemantics
import MartletTesting
import Testing

/// One response of the table: the bytes that a server sends, and what a client is to make of them.
struct Message: Decodable, Sendable, CustomTestStringConvertible {
  /// A sentence; no two messages have the same.
  let name: String
  /// The section of an RFC that decides.
  let section: String
  /// Where the RFC leaves a choice: which one was made, and why.
  let decision: String?
  /// The method of the request that is answered with the message; `GET` if it is not there.
  let method: String?
  /// The method of the request that follows, over the same connection if that is still good; `GET` if it is not there.
  let next: String?
  /// Whether the rest of the message comes when its response has been read and the connection is idle.
  let idle: [Octets]?
  /// What is to come of it.
  let expect: Expectation
  /// Why libcurl cannot be made to do that. Such a row is a known issue.
  let libcurl: String?
  /// What other clients made of it, by their names.
  let observed: [String: Observation]

  var testDescription: String { name }

  /// What another client made of a message; see `observe.py` for what its members mean.
  struct Observation: Decodable, Sendable {
    let status: Int?
    let refused: String?
    let silent: Bool?
  }

  /// The whole file.
  struct Table: Decodable, Sendable {
    /// The versions of the clients whose outcomes are in the table.
    let clients: [String: String]
    let messages: [Message]
  }

  /// The table; empty, which a test notices, if it cannot be read.
  static let table: Table = {
    do {
      return try JSONDecoder().decode(Table.self, from: Data(contentsOf: folder.appending(path: "messages.json")))
    } catch {
      Issue.record(error, "messages.json cannot be read")
      return Table(clients: [:], messages: [])
    }
  }()

  /// Where the table and its server are.
  static let folder = URL(filePath: #filePath).deletingLastPathComponent()
}

/// What is to come of a message: a response, or an error of a certain kind.
struct Expectation: Decodable, Sendable {
  /// The kind of error; all other members but this are nil where it is there.
  let refused: String?
  let status: Int?
  /// The statuses of the informational responses before it; none if it is not there.
  let interim: [Int]?
  /// Fields of the head with all their values, in order; an empty list for one that must not be there. Others may be there.
  let fields: [String: [Octets]]?
  let body: Octets?
  let trailers: [String: [Octets]]?
  /// Whether the connection serves the next request; nil where both are right.
  let reused: Bool?

  /// Whether the next request goes over the same connection. After an error it never does; only that of a content coding says
  /// nothing about the connection.
  var isReused: Bool? { refused == nil ? reused : refused == "undecodableBody" ? nil : false }
}

/// Bytes as the table writes them.
///
/// A string, of which each character is one byte; `{"base64": …}`; `{"repeat": …, "times": …}`; or a list of these.
struct Octets: Decodable, Sendable {
  let data: Data
  /// The same as text, for the values of fields; empty for what is written in base64.
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
