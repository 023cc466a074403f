/// The error of an unusable command line: the problem, and the remedy.
struct UsageError: Error, Sendable, Hashable, CustomStringConvertible {
  let description: String
  /// Lines that mark the place; none if the description is enough.
  let excerpt: [String]

  init(_ description: String) { (self.description, excerpt) = (description, []) }

  /// Marks the place with carets on a line below the text. The range counts characters, and may be after the last one.
  init(_ description: String, in text: String, at range: Range<Int>) {
    self.description = description
    let mark = String(repeating: " ", count: range.lowerBound) + String(repeating: "^", count: max(1, range.count))
    excerpt = [text, mark]
  }
}
