package import FoundationEssentials

/// A page of the documentation with tables of the symbols of another library: the symbol, what it is here, a note.
package struct SymbolPage {
  /// What a symbol is here.
  package enum Status: String {
    case works
    case worksDifferently = "works differently"
    case notThere = "not there"
  }

  /// A row of a table.
  package struct Row {
    /// The title of the part of the page.
    package let part: String
    /// The symbol with its type, such as `SAPURLSession.isValid`.
    package let name: String
    package let status: Status
  }

  package private(set) var rows: [Row] = []
  /// Lines that look like rows and are none.
  package private(set) var unreadableLines: [String] = []

  /// Reads the page at a path in the project.
  package init(_ path: String) throws {
    let text = try String(contentsOf: projectFolder.appending(path: path), encoding: .utf8)
    var (part, type) = ("", "")
    for line in text.split(separator: "\n") {
      if line.hasPrefix("## ") { (part, type) = (String(line.dropFirst(3)), "") }
      if line.hasPrefix("### ") { type = line.firstMatch(of: /### `(.*)`/).map { $0.1 + "." } ?? "" }
      guard line.hasPrefix("| `") else { continue }
      guard let match = line.wholeMatch(of: /\| `([^`]+)` \| ([a-z ]+) \| .*\|/),
        let status = Status(rawValue: String(match.2))
      else {
        unreadableLines.append(String(line))
        continue
      }
      rows.append(Row(part: part, name: type + match.1, status: status))
    }
  }
}

/// The symbols that a test compiles.
package struct SymbolList {
  package private(set) var names: Set<String> = []

  package init() {}

  /// Adds a symbol. The code that uses it compiles, and is not run.
  package mutating func add<each Value>(_ name: String, _ code: (repeat each Value) throws -> Void) {
    names.insert(name)
  }
}

/// The folder of the project.
package let projectFolder = URL(filePath: #filePath)
  .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
