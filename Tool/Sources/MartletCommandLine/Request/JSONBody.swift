@_spi(Toolkit) import MartletSemantics

/// A JSON body that is built item by item. Members stay in the order of their first items, and values keep their
/// notation: numbers keep their digits.
struct JSONBody: Sendable {
  private var root = JSONItem.text("null")

  /// Sets the value at a path, creating the objects and arrays on the way. A later value replaces an earlier one.
  ///
  /// - Parameter value: valid JSON, with white space around it or without.
  mutating func set(_ value: String, at path: BodyPath) throws(UsageError) {
    try root.set(Self.trimmed(value), at: path, from: 0)
  }

  /// The text without the white space around it that JSON allows (RFC 8259 §2).
  private static func trimmed(_ text: String) -> String {
    let isSpace: (UInt8) -> Bool = { [9, 10, 13, 32].contains($0) }
    guard let first = text.utf8.firstIndex(where: { !isSpace($0) }),
      let last = text.utf8.lastIndex(where: { !isSpace($0) })
    else { return "" }
    return String(text[first..<text.utf8.index(after: last)])
  }

  /// The body; an empty object if nothing was set.
  var text: String { root.isNull ? "{}" : root.text }
}

/// A value of JSON. Unchanged parts stay text.
private indirect enum JSONItem: Sendable {
  case text(String)
  case object([Member])
  case array([JSONItem])

  struct Member: Sendable {
    let name: String
    /// The name as a string of JSON.
    let quotedName: String
    var value: JSONItem
  }

  static let null = JSONItem.text("null")

  var isNull: Bool { if case .text("null") = self { true } else { false } }

  var text: String {
    switch self {
    case .text(let text): text
    case .object(let members): "{" + members.map { "\($0.quotedName):\($0.value.text)" }.joined(separator: ",") + "}"
    case .array(let elements): "[" + elements.map(\.text).joined(separator: ",") + "]"
    }
  }

  /// The kind of value, with an article.
  private var kind: String {
    switch self {
    case .object: "an object"
    case .array: "an array"
    case .text(let text):
      switch text.utf8.first {
      case UInt8(ascii: "\""): "a string"
      case UInt8(ascii: "t"), UInt8(ascii: "f"): "a Boolean"
      default: "a number"
      }
    }
  }

  mutating func set(_ value: String, at path: BodyPath, from index: Int) throws(UsageError) {
    guard index < path.parts.count else {
      self = .text(value)
      return
    }
    let step = path.parts[index].step
    open(for: step)
    switch (self, step) {
    case (.object(var members), .member(let name)):
      self = .null  // so that the changed value has only one reference
      let place = members.lastIndex { $0.name == name } ?? members.endIndex
      if place == members.endIndex {
        members.append(Member(name: name, quotedName: JSONSyntax.quoted(name), value: .null))
      }
      try members[place].value.set(value, at: path, from: index + 1)
      self = .object(members)
    case (.array(var elements), .element), (.array(var elements), .append):
      self = .null
      var place = elements.endIndex
      if case .element(let number) = step { place = number }
      if place >= elements.count { elements += repeatElement(.null, count: place + 1 - elements.count) }
      try elements[place].set(value, at: path, from: index + 1)
      self = .array(elements)
    default: throw mismatch(path, index)
    }
  }

  /// Makes an object or array from null, or parses one from its text.
  private mutating func open(for step: BodyPath.Step) {
    guard case .text(let text) = self else { return }
    switch text.utf8.first {
    case UInt8(ascii: "n"): if case .member = step { self = .object([]) } else { self = .array([]) }
    case UInt8(ascii: "{"):
      self = .object(
        JSONParts.of(text).map { Member(name: $0.decodedName, quotedName: $0.name, value: .text($0.value)) })
    case UInt8(ascii: "["): self = .array(JSONParts.of(text).map { .text($0.value) })
    default: break
    }
  }

  private func mismatch(_ path: BodyPath, _ index: Int) -> UsageError {
    let step = path.parts[index].step
    let part = index == 0 ? "'\(path.text.prefix(path.parts[0].range.upperBound))'" : "'\(step)'"
    var text = "the name '\(path.text)': \(part) needs "
    if case .member = step { text += "an object" } else { text += "an array" }
    text += ", but \(path.container(of: index)) is already \(kind)"
    if case .element(let number) = step, case .object = self { text += #"; '[\\#(number)]' is a member of that name"# }
    return path.fault(text, at: index)
  }
}

/// The members of an object or the elements of an array, in their original notation.
enum JSONParts {
  struct Part {
    /// A string of JSON; empty in an array.
    var name = ""
    var value = ""

    var decodedName: String { (try? JSONDecoder().decode(String.self, from: Data(name.utf8))) ?? name }
  }

  /// Reads one level of a text that is valid JSON.
  static func of(_ text: String) -> [Part] {
    let bytes = Array(text.utf8)
    var parts: [Part] = []
    var part = Part()
    var depth = 0
    for (kind, range) in JSONTokens(bytes) {
      if kind == .closing { depth -= 1 }
      switch (kind, depth) {
      case (.opening, 0), (.whiteSpace, 1): break
      case (.colon, 1): (part.name, part.value) = (part.value, "")
      case (.comma, 1), (.closing, 0):
        if !part.value.isEmpty { parts.append(part) }
        part = Part()
      default: part.value += String(decoding: bytes[range], as: UTF8.self)
      }
      if kind == .opening { depth += 1 }
    }
    return parts
  }
}
