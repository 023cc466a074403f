/// The list of RFC 9110 §5.6.1 (`#rule`): elements between commas, and likewise parameters between semicolons.
package enum FieldList {
  /// The elements, without the white space around them. Separators in quoted strings separate nothing, and empty
  /// elements are ignored (§5.6.1.2). A quoted string that does not end reaches to the end of the value.
  package static func elements(of value: Substring, separator: UInt8 = UInt8(ascii: ",")) -> [Substring] {
    var elements: [Substring] = []
    var start = value.startIndex
    var isQuoted = false
    var isEscaped = false

    func add(upTo end: Substring.Index) {
      let element = ASCII.trimmed(value[start..<end])
      if !element.isEmpty { elements.append(element) }
    }

    for index in value.utf8.indices {
      let byte = value.utf8[index]
      if isEscaped {
        isEscaped = false
      } else if isQuoted, byte == UInt8(ascii: "\\") {
        isEscaped = true
      } else if byte == UInt8(ascii: "\"") {
        isQuoted.toggle()
      } else if byte == separator, !isQuoted {
        add(upTo: index)
        start = value.utf8.index(after: index)
      }
    }
    add(upTo: value.endIndex)
    return elements
  }
}
