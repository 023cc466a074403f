import Foundation

/// What a person can read of a body that is no structure.
enum ReadableText {
  /// More is no message but a page.
  private static let longest = 500

  /// Plain text as it is; of an HTML page its title and first heading.
  static func of(_ body: Data) -> String {
    let text = String(data: body, encoding: .utf8) ?? String(data: body, encoding: .isoLatin1) ?? ""
    let readable = isMarkup(body) ? headline(of: text) : text
    let line = readable.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    return line.count > longest ? line.prefix(longest) + "…" : line
  }

  static func isMarkup(_ body: Data) -> Bool {
    body.first { $0 > 0x20 && ![0xEF, 0xBB, 0xBF].contains($0) } == UInt8(ascii: "<")
  }

  private static func headline(of page: String) -> String {
    var lines: [String] = []
    for element in ["title", "h1", "h2"] {
      guard let line = content(of: element, in: page), !line.isEmpty, !lines.contains(line) else { continue }
      lines.append(line)
      if lines.count == 2 { break }
    }
    return lines.joined(separator: ": ")
  }

  private static func content(of element: String, in page: String) -> String? {
    guard let start = page.range(of: "<\(element)", options: .caseInsensitive),
      let open = page.range(of: ">", range: start.upperBound..<page.endIndex),
      let end = page.range(of: "</\(element)", options: .caseInsensitive, range: open.upperBound..<page.endIndex)
    else { return nil }
    return unescaped(withoutTags(page[open.upperBound..<end.lowerBound]))
      .trimmingCharacters(in: .whitespacesAndNewlines)
  }

  private static func withoutTags(_ text: Substring) -> String {
    var isInTag = false
    return String(
      text.filter { character in
        if character == "<" { isInTag = true }
        defer { if character == ">" { isInTag = false } }
        return !isInTag
      })
  }

  private static func unescaped(_ text: String) -> String {
    [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&nbsp;", " "), ("&amp;", "&")]
      .reduce(text) { $0.replacingOccurrences(of: $1.0, with: $1.1) }
  }
}
