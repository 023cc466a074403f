/// A line of text that is being edited: the text on both sides of the cursor.
package struct LineEditor: Sendable, Hashable {
  package private(set) var before: String
  package private(set) var after = ""

  /// Begins to edit a text, with the cursor at its end.
  package init(_ text: String) { before = text }

  package var text: String { before + after }

  /// Edits the line. Keys without a meaning here change nothing.
  package mutating func press(_ key: Key) {
    switch key {
    case .character(let character): before.append(character)
    case .backspace: _ = before.popLast()
    case .delete: if !after.isEmpty { after.removeFirst() }
    case .eraseLine: before = ""
    case .left: if let character = before.popLast() { after.insert(character, at: after.startIndex) }
    case .right: if !after.isEmpty { before.append(after.removeFirst()) }
    case .home: (before, after) = ("", text)
    case .end: (before, after) = (text, "")
    default: break
    }
  }
}
