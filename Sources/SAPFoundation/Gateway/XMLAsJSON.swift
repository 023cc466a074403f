import Foundation
import MartletSemantics
#if canImport(FoundationXML)
import FoundationXML
#endif

/// Reads XML as if it were JSON: an element with elements in it is an object, one with text a text, repeated ones an array.
/// So that one reader understands both. Of attributes the language is kept, and the `id` of an element that is empty otherwise.
final class XMLAsJSON: NSObject, XMLParserDelegate {
  fileprivate struct Element {
    var members: [String: JSONValue] = [:]
    var text = ""
    var language: String?
    var id: String?
  }

  private var open: [Element] = [Element()]
  /// Deeper than any error is a trick.
  private static let deepest = 64

  /// The document as an object with the root element as its member; nil if it is no XML.
  static func read(_ data: Data) -> JSONValue? {
    let reader = XMLAsJSON()
    let parser = XMLParser(data: data)
    parser.delegate = reader
    parser.shouldResolveExternalEntities = false
    guard parser.parse(), let root = reader.open.first, reader.open.count == 1, !root.members.isEmpty else {
      return nil
    }
    return .object(root.members)
  }

  func parser(
    _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?,
    attributes: [String: String]
  ) {
    guard open.count < Self.deepest else { return parser.abortParsing() }
    open.append(Element(language: attributes["xml:lang"] ?? attributes["lang"], id: attributes["id"]))
  }

  func parser(_ parser: XMLParser, foundCharacters text: String) { open[open.count - 1].text += text }

  func parser(_ parser: XMLParser, foundCDATA data: Data) {
    open[open.count - 1].text += String(decoding: data, as: UTF8.self)
  }

  func parser(_ parser: XMLParser, didEndElement name: String, namespaceURI: String?, qualifiedName: String?) {
    guard open.count > 1, let element = open.popLast() else { return }
    let name = name.split(separator: ":").last.map(String.init) ?? name
    let value = element.value
    switch open[open.count - 1].members.removeValue(forKey: name) {
    case nil: open[open.count - 1].members[name] = value
    case .array(var elements):  // the only reference, so that nothing is copied
      elements.append(value)
      open[open.count - 1].members[name] = .array(elements)
    case let earlier?: open[open.count - 1].members[name] = .array([earlier, value])
    }
  }
}

extension XMLAsJSON.Element {
  fileprivate var value: JSONValue {
    let trimmed = text.trimmingCharacters(in: .whitespacesAndNewlines)
    let text = JSONValue.string(trimmed)
    if let id, members.isEmpty, trimmed.isEmpty { return .object(["id": .string(id)]) }
    guard members.isEmpty else {
      return .object(language.map { members.merging(["lang": .string($0)]) { $1 } } ?? members)
    }
    return language.map { .object(["lang": .string($0), "value": text]) } ?? text
  }
}
