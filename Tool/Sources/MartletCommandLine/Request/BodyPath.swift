/// The position of a value in a JSON body, given by the name of an item: `item`, `user[name]`, `rows[0][id]`, `list[]`,
/// `[]`. The syntax is HTTPie's: a backslash makes a bracket or a number part of a name.
struct BodyPath: Sendable, Hashable {
  /// A step from a value to one inside it.
  enum Step: Sendable, Hashable {
    /// The member of an object with a name.
    case member(String)
    /// The element of an array, counted from 0.
    case element(Int)
    /// A new element after the last one of an array.
    case append
  }

  /// A step with its position in the name of the item.
  struct Part: Sendable, Hashable {
    let step: Step
    /// The characters of the name that express it, including their brackets.
    let range: Range<Int>
  }

  /// The name as it was written.
  let text: String
  /// There is at least one.
  let parts: [Part]

  /// The maximum index of an element: missing elements before it are sent as null.
  static let elementLimit = 9999
  /// The maximum number of parts of a path.
  static let partLimit = 200

  init(_ text: String) throws(UsageError) {
    var parser = Parser(text)
    self.text = text
    parts = try parser.parts()
    guard parts.count <= Self.partLimit else {
      throw UsageError("the name '\(text.prefix(9))…' leads \(parts.count) levels deep: \(Self.partLimit) are allowed")
    }
  }

  /// The beginning of the name, up to the part with this index; for the first one, the container of all parts.
  func container(of index: Int) -> String {
    index == 0 ? "the body" : "'\(String(text.prefix(parts[index].range.lowerBound)))'"
  }

  /// An error that marks a part.
  func fault(_ description: String, at index: Int) -> UsageError {
    UsageError(description, in: text, at: parts[index].range)
  }
}

extension BodyPath.Step: CustomStringConvertible {
  var description: String {
    switch self {
    case .member(let name): "[\(name)]"
    case .element(let number): "[\(number)]"
    case .append: "[]"
    }
  }
}

extension BodyPath {
  /// Reads a path from its beginning to its end.
  private struct Parser {
    private let text: String
    private let characters: [Character]
    private var index = 0

    init(_ text: String) { (self.text, characters) = (text, Array(text)) }

    /// A name or a number between brackets.
    private struct Word {
      let text: String
      let range: Range<Int>
      /// Whether a backslash has escaped a bracket or a backslash.
      let isEscaped: Bool
    }

    mutating func parts() throws(UsageError) -> [Part] {
      let first = readWord()
      var parts: [Part] = []
      if first.range.isEmpty {
        let part = try readBrackets()
        if case .member = part.step {
          throw fault("a path without a name begins with a number or '[]'", at: part.range)
        }
        parts.append(part)
      } else {
        parts.append(
          Part(
            step: .member(Self.isEscapedNumber(first) ? String(first.text.dropFirst()) : first.text), range: first.range
          ))
      }
      while index < characters.count { parts.append(try readBrackets()) }
      return parts
    }

    private mutating func readBrackets() throws(UsageError) -> Part {
      let start = index
      guard take("[") else { throw expected("'['") }
      let word = readWord()
      guard take("]") else { throw expected(word.range.isEmpty ? "a name, a number or ']'" : "']'") }
      return Part(step: try step(word), range: start..<index)
    }

    private func step(_ word: Word) throws(UsageError) -> Step {
      guard !word.range.isEmpty else { return .append }
      if Self.isEscapedNumber(word) { return .member(String(word.text.dropFirst())) }
      guard !word.isEscaped, Self.isNumber(word.text[...]) else { return .member(word.text) }
      guard let number = Int(word.text), (0...BodyPath.elementLimit).contains(number) else {
        let name = #"'[\"# + word.text + "]'"
        throw fault(
          "an element's number is from 0 to \(BodyPath.elementLimit): \(name) is a member of that name", at: word.range)
      }
      return .element(number)
    }

    private static func isNumber(_ text: Substring) -> Bool {
      let digits = text.hasPrefix("-") ? text.dropFirst() : text
      return !digits.isEmpty && digits.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    }

    private static func isEscapedNumber(_ word: Word) -> Bool {
      !word.isEscaped && word.text.hasPrefix(#"\"#) && isNumber(word.text.dropFirst())
    }

    /// Reads up to a bracket or the end. A backslash before a bracket or a backslash is omitted.
    private mutating func readWord() -> Word {
      let start = index
      var word = ""
      var isEscaped = false
      while index < characters.count, !"[]".contains(characters[index]) {
        if characters[index] == #"\"#, index + 1 < characters.count, #"[]\"#.contains(characters[index + 1]) {
          isEscaped = true
          index += 1
        }
        word.append(characters[index])
        index += 1
      }
      return Word(text: word, range: start..<index, isEscaped: isEscaped)
    }

    private mutating func take(_ character: Character) -> Bool {
      guard index < characters.count, characters[index] == character else { return false }
      index += 1
      return true
    }

    /// Returns an error that marks the next bracket or word, or the end.
    private func expected(_ what: String) -> UsageError {
      var rest = self
      let word = rest.readWord().range
      let range = word.isEmpty ? index..<(index + 1) : word
      let found = index < characters.count ? ", not '\(String(characters[range]))'" : ""
      return fault(#"\#(what) is expected here\#(found); '\[' is a plain bracket"#, at: range)
    }

    private func fault(_ description: String, at range: Range<Int>) -> UsageError {
      UsageError("the name '\(text)': \(description)", in: text, at: range)
    }
  }
}
