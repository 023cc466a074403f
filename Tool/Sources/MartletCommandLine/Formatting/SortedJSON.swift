@_spi(Toolkit) import MartletSemantics

/// Sorts the members of all objects in a JSON text by their names, and keeps the notation of names and values.
enum SortedJSON {
  /// The deepest level whose members are sorted.
  private static let depthLimit = 100

  /// Returns the sorted text; the text itself if it is not JSON.
  static func text(_ text: String) -> String {
    JSONSyntax.fault(in: text.utf8) == nil ? sorted(text, depth: 0) : text
  }

  private static func sorted(_ text: String, depth: Int) -> String {
    guard depth < depthLimit, let first = text.utf8.first(where: { ![9, 10, 13, 32].contains($0) }) else { return text }
    switch first {
    case UInt8(ascii: "{"):
      let members = JSONParts.of(text).map {
        (key: $0.decodedName, text: "\($0.name):\(sorted($0.value, depth: depth + 1))")
      }
      return "{" + members.sorted { $0.key < $1.key }.map(\.text).joined(separator: ",") + "}"
    case UInt8(ascii: "["):
      return "[" + JSONParts.of(text).map { sorted($0.value, depth: depth + 1) }.joined(separator: ",") + "]"
    default: return text
    }
  }
}
