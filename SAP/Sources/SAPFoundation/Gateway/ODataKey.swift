@_spi(Toolkit) import MartletSemantics

/// The key of an entity in a URL, in OData's syntax (OData 4.01 URL conventions §4.3.1; the same in 2.0).
///
/// ```swift
/// serviceURL.odataMedia("Images", "it's a/b")             // …/Images('it''s%20a%2Fb')/$value
/// serviceURL.odataEntity("Orders", 42)                    // …/Orders(42)
/// serviceURL.odataEntity("Items", ["Order": 42, "Item": "7"])  // …/Items(Order=42,Item='7')
/// ```
public struct ODataKey: Sendable, Hashable {
  /// The text between the parentheses, before it is percent-encoded.
  private let literal: String

  /// Makes a key from a text, which is quoted; quotes within it are doubled.
  public init(_ text: String) { literal = "'" + text.replacingScalar("'", with: "''") + "'" }

  /// Makes a key from a number.
  public init(_ number: some BinaryInteger) { literal = "\(number)" }

  /// Makes a key from a GUID in the syntax of OData 4.0, or of 2.0: `guid'…'`.
  public init(_ id: UUID, isVersion2: Bool = false) {
    let text = id.uuidString.lowercased()
    literal = isVersion2 ? "guid'\(text)'" : text
  }

  /// Makes a key from another literal, before it is percent-encoded: `datetime'2020-01-01T00:00:00'`.
  public init(literal: String) { self.literal = literal }

  /// Makes a key from several properties.
  public init(_ parts: [(name: String, key: ODataKey)]) {
    literal = parts.map { "\($0.name)=\($0.key.literal)" }.joined(separator: ",")
  }

  fileprivate var encoded: String { PercentEncoding.pathSegment.encode(literal) }
}

extension ODataKey: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByDictionaryLiteral {
  /// A text.
  public init(stringLiteral text: String) { self.init(text) }

  /// A number.
  public init(integerLiteral number: Int) { self.init(number) }

  /// A key of several properties.
  public init(dictionaryLiteral parts: (String, ODataKey)...) { self.init(parts.map { (name: $0, key: $1) }) }
}

extension URL {
  /// Returns the URL of an entity below this URL. This URL is a service's root, with or without a trailing slash. A
  /// query, such as `?sap-client=100`, is kept.
  public func odataEntity(_ set: String, _ key: ODataKey) -> URL { odata(set, key, "") }

  /// Returns the URL of a media entity's bytes below this URL: `…/Set(key)/$value`.
  public func odataMedia(_ set: String, _ key: ODataKey) -> URL { odata(set, key, "/$value") }

  private func odata(_ set: String, _ key: ODataKey, _ suffix: String) -> URL {
    guard var parts = URLComponents(url: self, resolvingAgainstBaseURL: true) else { return self }
    while parts.percentEncodedPath.hasSuffix("/") { parts.percentEncodedPath.removeLast() }
    parts.percentEncodedPath += "/\(PercentEncoding.pathSegment.encode(set))(\(key.encoded))\(suffix)"
    parts.fragment = nil
    return parts.url ?? self
  }
}
