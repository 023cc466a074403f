/// Replaces the content of XML and HTML elements with secret names, the values of attributes with such names, and the
/// secrets of URLs in both. Copies all other bytes.
///
/// A secret may also be named beside its value: `<input name="password" value="…">`, `<entry key="token">…</entry>`,
/// and the pairs of property lists and XML-RPC, `<key>password</key><string>…</string>`. The text is only scanned, not
/// parsed, so that truncated texts and pages that are not well-formed can be redacted too.
struct MarkupRedactor {
  private let redaction: Redaction
  private let bytes: [UInt8]
  private var output: [UInt8] = []
  private var position = 0
  /// Whether the element before this position named the next one as a secret.
  private var isNextSecret = false

  init(_ redaction: Redaction, _ text: Data) {
    self.redaction = redaction
    bytes = Array(text)
    output.reserveCapacity(bytes.count)
  }

  /// Returns the text without secrets.
  mutating func redacted() -> Data {
    while position < bytes.count {
      if bytes[position] == UInt8(ascii: "<") { copyMarkup() } else { copyText() }
    }
    return Data(output)
  }

  private mutating func copyText() {
    let end = bytes[position...].firstIndex(of: UInt8(ascii: "<")) ?? bytes.count
    output += withoutSecretsOfURLs(bytes[position..<end])
    position = end
  }

  private mutating func copyMarkup() {
    let rest = bytes[position...]
    if rest.starts(with: "<!--".utf8) { return copy(through: "-->") }
    if rest.starts(with: "<![CDATA[".utf8) { return copy(through: "]]>") }
    let next = position + 1 < bytes.count ? bytes[position + 1] : 0
    if next == UInt8(ascii: "/") || next == UInt8(ascii: "!") || next == UInt8(ascii: "?") { return copy(through: ">") }
    guard ASCII.isLetter(next) || next == UInt8(ascii: "_") || next >= 128 else {
      output.append(bytes[position])
      position += 1
      return
    }
    copyElement(MarkupTag(bytes, at: position))
  }

  /// Copies up to the end of a mark, or of the text.
  private mutating func copy(through mark: String) {
    let end = end(of: Array(mark.utf8), from: position + 1)
    output += bytes[position..<end]
    position = end
  }

  /// The index after a mark; the end of the text if it is missing.
  private func end(of mark: [UInt8], from start: Int) -> Int {
    var index = start
    while index + mark.count <= bytes.count {
      guard let first = bytes[index...].firstIndex(of: mark[0]) else { break }
      if bytes[first...].starts(with: mark) { return first + mark.count }
      index = first + 1
    }
    return bytes.count
  }

  /// Copies a start tag, and the element's content if that is a secret or a script.
  private mutating func copyElement(_ tag: MarkupTag) {
    let naming = tag.attributes.first { Self.naming.contains(ASCII.lowercased($0.localName)) }
    let isNamedSecret = naming.map { redaction.hides(name: MarkupTag.text(bytes[$0.value])) } ?? false
    copyStart(tag, isNamedSecret)
    let follows = isNextSecret
    isNextSecret = false
    let name = ASCII.lowercased(tag.localName)
    guard !tag.isEmpty, !Self.empty.contains(name) else { return }
    let text = MarkupTag.text(bytes[position...].prefix { $0 != UInt8(ascii: "<") })
    let isSecret = follows || isNamedSecret || hides(tag.localName, text)
    if isSecret || name == "script" || name == "style" {
      let content = bytes[position..<endOfContent(of: tag)]
      let isHidden = isSecret && !content.allSatisfy(MarkupTag.isSpace)
      output += isHidden ? Array(redaction.placeholder.utf8)[...] : content
      position = content.endIndex
    } else if name == "name" || name == "key" {
      isNextSecret = redaction.hides(name: text)
    }
  }

  /// Copies a start tag without the values of secret attributes.
  private mutating func copyStart(_ tag: MarkupTag, _ isNamedSecret: Bool) {
    position = tag.range.lowerBound
    for attribute in tag.attributes {
      output += bytes[position..<attribute.value.lowerBound]
      let isValue = isNamedSecret && Self.values.contains(ASCII.lowercased(attribute.localName))
      let value = bytes[attribute.value]
      output +=
        !value.isEmpty && (isValue || hides(attribute.localName, MarkupTag.text(value)))
        ? Array(redaction.placeholder.utf8)[...] : withoutSecretsOfURLs(value)
      position = attribute.value.upperBound
    }
    output += bytes[position..<tag.range.upperBound]
    position = tag.range.upperBound
  }

  /// The index of the end tag that belongs to a start tag; the end of the text if it is missing.
  private func endOfContent(of tag: MarkupTag) -> Int {
    let (opening, closing) = (Array("<\(tag.name)".utf8), Array("</\(tag.name)".utf8))
    var (index, depth) = (tag.range.upperBound, 1)
    while let next = bytes[index...].firstIndex(of: UInt8(ascii: "<")) {
      let rest = bytes[next...]
      if rest.starts(with: "<![CDATA[".utf8) {
        index = end(of: Array("]]>".utf8), from: next)
        continue
      }
      if rest.starts(with: closing), Self.endsName(rest.dropFirst(closing.count).first) { depth -= 1 }
      if depth == 0 { return next }
      index = next + 1
      guard rest.starts(with: opening), Self.endsName(rest.dropFirst(opening.count).first) else { continue }
      let inner = MarkupTag(bytes, at: next)
      if !inner.isEmpty { depth += 1 }
      index = inner.range.upperBound  // Each byte is scanned once, however many tags have no end.
    }
    return bytes.count
  }

  private static func endsName(_ byte: UInt8?) -> Bool {
    byte.map { MarkupTag.isSpace($0) || $0 == UInt8(ascii: ">") || $0 == UInt8(ascii: "/") } ?? true
  }

  /// Whether an element or attribute with this name is secret. As names of elements, `code` and `key` are too common:
  /// errors, objects in a bucket, property lists and HTML use them.
  private func hides(_ name: String, _ value: String) -> Bool {
    guard redaction.hides(name: name, value: value) else { return false }
    return !["code", "key"].contains(ASCII.lowercased(name)) || redaction.hidesExplicitly(name)
  }

  /// Redacts a value or text that is a URL.
  private func withoutSecretsOfURLs(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    guard bytes.starts(with: "http".utf8) else { return bytes }
    let text = String(decoding: bytes, as: UTF8.self)
    guard text.hasPrefix("http://") || text.hasPrefix("https://") else { return bytes }
    let plain = text.replacing("&amp;", with: "&")
    let redacted = redaction.redacted(reference: plain)
    return redacted == plain ? bytes : Array(redacted.replacing("&", with: "&amp;").utf8)[...]
  }

  /// Attributes that name an element's value.
  private static let naming: Set<String> = ["name", "key", "id"]
  /// Attributes that contain the value of an element that another one names.
  private static let values: Set<String> = ["value", "content"]
  /// Elements of HTML that have no content and no end tag.
  private static let empty: Set<String> = ["input", "meta", "link", "img", "br", "hr", "param", "source", "base"]
}

/// A start tag: its name, its attributes and where it ends, as far as the text has it.
private struct MarkupTag {
  struct Attribute {
    let localName: String
    /// The value without its quotes; empty without a value.
    let value: Range<Int>
  }

  let name: String
  private(set) var range: Range<Int>
  private(set) var attributes: [Attribute] = []
  /// Whether it ends with `/>`: the element has no content.
  private(set) var isEmpty = false

  /// Scans the tag that begins at an index.
  init(_ bytes: [UInt8], at start: Int) {
    var index = start + 1
    name = Self.name(bytes, &index)
    range = start..<bytes.count
    while index < bytes.count {
      switch bytes[index] {
      case UInt8(ascii: ">"):
        isEmpty = bytes[index - 1] == UInt8(ascii: "/")
        range = start..<index + 1
        return
      case let byte where Self.isSpace(byte) || byte == UInt8(ascii: "/") || byte == UInt8(ascii: "="): index += 1
      default: addAttribute(bytes, &index)
      }
    }
  }

  /// The name without its prefix: `Password` of `wsse:Password`.
  var localName: String { Self.localName(name) }

  /// The beginning of a value or content, without white space around it: it is compared with names and card numbers.
  static func text(_ value: ArraySlice<UInt8>) -> String {
    let start = value.prefix(200).drop(while: isSpace)
    return String(
      decoding: start.prefix(start.lastIndex { !isSpace($0) }.map { $0 - start.startIndex + 1 } ?? 0), as: UTF8.self)
  }

  static func isSpace(_ byte: UInt8) -> Bool { byte == 32 || (9...13).contains(byte) }

  private mutating func addAttribute(_ bytes: [UInt8], _ index: inout Int) {
    let name = Self.name(bytes, &index)
    var next = index
    while next < bytes.count, Self.isSpace(bytes[next]) { next += 1 }
    guard next < bytes.count, bytes[next] == UInt8(ascii: "=") else {
      if name.isEmpty { index += 1 }  // A quote, for example, where a name is expected.
      return
    }
    next += 1
    while next < bytes.count, Self.isSpace(bytes[next]) { next += 1 }
    let quote = next < bytes.count ? bytes[next] : 0
    let isQuoted = quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'")
    let first = isQuoted ? next + 1 : next
    let end =
      bytes[first...].firstIndex { isQuoted ? $0 == quote : Self.isSpace($0) || $0 == UInt8(ascii: ">") }
      ?? bytes.count
    attributes.append(Attribute(localName: Self.localName(name), value: first..<end))
    index = min(bytes.count, isQuoted ? end + 1 : end)
  }

  private static func name(_ bytes: [UInt8], _ index: inout Int) -> String {
    let start = index
    let ends: Set<UInt8> = [9, 10, 13, 32, 34, 39, 47, 60, 61, 62]
    while index < bytes.count, !ends.contains(bytes[index]) { index += 1 }
    return String(decoding: bytes[start..<index], as: UTF8.self)
  }

  private static func localName(_ name: String) -> String {
    name.utf8.lastIndex(of: UInt8(ascii: ":")).map { String(name[name.utf8.index(after: $0)...]) } ?? name
  }
}
