/// A link in a `Link` field (RFC 8288): from the resource that a response represents to another one.
///
/// ```swift
/// let next = response.fields.links.first { $0.relations.contains("next") }
/// let page = next?.url(relativeTo: response.url)
/// ```
public struct WebLink: Sendable, Hashable {
  /// The target as it was sent: a URL, or a reference relative to the response's URL.
  public let target: String
  /// The parameters, such as `rel` and `type`.
  public let parameters: FieldParameters

  /// Makes a link.
  public init(target: String, parameters: FieldParameters = [:]) {
    self.target = target
    self.parameters = parameters
  }

  /// The relation types of the first `rel` (§3.3) in lower case, such as `next` and `last`. Empty if there is none.
  public var relations: [String] {
    (parameters["rel"] ?? "").split(whereSeparator: \.isWhitespace).map { ASCII.lowercased($0) }
  }

  /// The title: that of `title*` (RFC 8187), or else of `title`; nil if there is neither (§3.4.1).
  public var title: String? { parameters["title*"].flatMap(Self.extendedValue) ?? parameters["title"] }

  /// The resource that the link starts from if it is not the response's (`anchor`, §3.2); nil if it is. Ignore links of
  /// other resources unless the server is known to be right about them.
  public var anchor: String? { parameters["anchor"] }

  /// Returns the URL of the target; nil if it is not a URL.
  ///
  /// - Parameter base: the URL of the response.
  public func url(relativeTo base: URL) -> URL? {
    if target.isEmpty { return base.absoluteURL }
    return URL(reference: target, relativeTo: base)
  }

  /// Decodes `UTF-8'en'%E2%82%AC`; nil for any other form (RFC 8187 §3.2).
  private static func extendedValue(_ text: String) -> String? {
    let parts = text.split(separator: "'", maxSplits: 2, omittingEmptySubsequences: false)
    guard parts.count == 3, let coding = TextCoding(label: parts[0]) else { return nil }
    var bytes = Data()
    var rest = parts[2].utf8
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "%") {
        guard let value = PercentEncoding.hexadecimalPair(in: rest) else { return nil }
        bytes.append(value)
        rest = rest.dropFirst(2)
      } else {
        bytes.append(byte)
      }
    }
    return coding.text(bytes)
  }
}

extension WebLink {
  /// Parses the links of a field value (appendix B.2).
  ///
  /// Lenient: text that is not a link is skipped up to the next comma, and invalid parameters are ignored.
  static func links(in value: String) -> [WebLink] {
    var links: [WebLink] = []
    var rest = Substring(value)
    while let start = rest.utf8.firstIndex(where: { !ASCII.isWhitespace($0) && $0 != UInt8(ascii: ",") }) {
      rest = rest[start...]
      guard rest.utf8.first == UInt8(ascii: "<") else {
        rest = rest[self.end(of: rest)...]
        continue
      }
      guard let end = rest.utf8.firstIndex(of: UInt8(ascii: ">")) else { break }  // Later links have no end either.
      // Commas and semicolons between the brackets belong to the target.
      let target = ASCII.trimmed(rest[rest.utf8.index(after: start)..<end])
      rest = rest[rest.utf8.index(after: end)...]
      let parameters = rest[..<self.end(of: rest)]
      rest = rest[parameters.endIndex...]
      links.append(WebLink(target: String(target), parameters: FieldParameters(parsing: parameters)))
    }
    return links
  }

  /// Returns where a link ends: at the next comma that is not quoted.
  private static func end(of text: Substring) -> Substring.Index {
    var isQuoted = false
    var isEscaped = false
    return text.utf8.firstIndex { byte in
      if isEscaped {
        isEscaped = false
      } else if byte == UInt8(ascii: "\"") {
        isQuoted.toggle()
      } else if byte == UInt8(ascii: "\\") {
        isEscaped = isQuoted
      }
      return byte == UInt8(ascii: ",") && !isQuoted
    } ?? text.endIndex
  }
}

extension HTTPFields {
  /// The links in all `Link` lines (RFC 8288), in order.
  public var links: [WebLink] { self[values: .link].flatMap { WebLink.links(in: $0) } }
}
