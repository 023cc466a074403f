#if os(Linux)
import MartletEngine
import MartletSemantics
import MartletSockets
import MartletTesting
import Testing

/// One text of the table, and the URL to which a request for it should be sent.
struct URLRow: Decodable, Sendable, CustomTestStringConvertible {
  let group: String
  /// The text as a person or a program wrote it.
  let url: String
  /// Scheme, authority and target of the request; nil if the text must be refused.
  let expect: String?
  /// The reason for an outcome that differs from the URL Standard's.
  let why: String?
  /// The outcomes of the URL Standard and of other clients, by name; null if they refuse the text.
  let observed: [String: String?]

  var testDescription: String { url.debugDescription }

  /// The whole file.
  struct Table: Decodable, Sendable {
    /// The versions of the other clients.
    let clients: [String: String]
    let urls: [URLRow]
  }

  /// The table; empty if it cannot be read, which a test checks.
  static let table: Table = {
    let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "urls.json")
    do { return try JSONDecoder().decode(Table.self, from: Data(contentsOf: file)) } catch {
      Issue.record(error, "urls.json cannot be read")
      return Table(clients: [:], urls: [])
    }
  }()
}
#endif
