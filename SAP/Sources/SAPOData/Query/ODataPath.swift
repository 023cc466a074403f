@_spi(Toolkit) import MartletSemantics

/// The address of something in a service: an entity set, an entity by its key, a navigation or stream property.
///
/// ```swift
/// let orders: ODataPath = "Orders"
/// let item = orders.key(42).appending("Items").key(["Order": 42, "Item": "7"])
/// // Orders(42)/Items(Order=42,Item='7')
/// ```
///
/// Names and keys are percent-encoded, a slash in a key too. A name `.` or `..` would leave the service's root: a
/// request for it fails with ``ODataError/Kind/invalidRequest``.
public struct ODataPath: Sendable, Hashable, ExpressibleByStringLiteral {
  /// The encoded segments for each version, without a slash at the beginning.
  private var v2 = ""
  private var v4 = ""
  /// The link that the path begins with, if it does.
  private(set) var link: ODataLink?

  /// The service itself: the place of unbound functions and actions.
  public static let root = ODataPath(link: nil)

  /// Makes the path of an entity set or singleton.
  public init(_ name: String) { self = ODataPath.root.appending(name) }

  public init(stringLiteral name: String) { self.init(name) }

  /// Makes the path that a service has given as a link, such as ``ODataEntity/id``.
  public init(_ link: ODataLink) { self.init(link: link) }

  private init(link: ODataLink?) { self.link = link }

  /// The path of what an earlier request of a batch creates: `$1`.
  init(reference id: Int) { (v2, v4) = ("$\(id)", "$\(id)") }

  /// Returns the path of the entity with this key, which is one value.
  public func key(_ key: ODataLiteral) -> ODataPath { adding { "(\(key.text($0)))" } }

  /// Returns the path of the entity with this key of several properties.
  public func key(_ parts: KeyValuePairs<String, ODataLiteral>) -> ODataPath {
    adding { version in "(" + parts.map { "\($0.key)=\($0.value.text(version))" }.joined(separator: ",") + ")" }
  }

  /// Returns the path of a property, or a further segment such as `$value` or the name of a derived type.
  public func appending(_ name: String) -> ODataPath {
    var copy = self
    if !v4.isEmpty || link != nil { (copy.v2, copy.v4) = (v2 + "/", v4 + "/") }
    return copy.adding { _ in name }
  }

  private func adding(_ text: (ODataVersion) -> String) -> ODataPath {
    var copy = self
    copy.v2 += PercentEncoding.pathSegment.encode(text(.v2))
    copy.v4 += PercentEncoding.pathSegment.encode(text(.v4))
    return copy
  }

  /// - Throws: `ODataError` if a segment is `.` or `..`.
  func text(_ version: ODataVersion) throws(ODataError) -> String {
    let text = version == .v2 ? v2 : v4
    guard !text.split(separator: "/").contains(where: { $0 == "." || $0 == ".." }) else {
      throw ODataError(.invalidRequest, "a name in the path is '.' or '..', which would leave the service's root")
    }
    return text
  }
}

/// A link of a service: of an entity, a next page, or the changes since a read. It can be stored, because a relative
/// link to a page is resolved when the response is read. Otherwise it is as the service wrote it.
public struct ODataLink: Sendable, Hashable, Codable, RawRepresentable {
  /// The URL, absolute or relative.
  public let rawValue: String

  /// Makes a link from a text that was stored.
  public init(rawValue: String) { self.rawValue = rawValue }

  /// Makes a link of a response; a relative one is resolved.
  init(resolving text: String, against base: URL?) {
    let isRelative = URL(text: text).map { $0.scheme == nil } ?? false
    let url = base.flatMap { isRelative ? URL(reference: text, relativeTo: $0) : nil }
    rawValue = url?.absoluteString ?? text
  }
}

extension ODataLink: CustomReflectable {
  /// A mirror without user information and query of the URL.
  public var customMirror: Mirror {
    Mirror(self, children: ["rawValue": Redaction.strict.redacted(reference: rawValue)])
  }
}

/// The root of a service, and the URLs below it.
struct ODataRoot: Sendable {
  private let base: String
  /// The query of the root, such as `sap-client=100`, which every request keeps.
  private let query: String?
  private let origin: Origin
  private let followsLinksByPath: Bool

  /// - Throws: `ODataError` if the URL is not http or https.
  init(_ root: URL, followsLinksByPath: Bool = false) throws(ODataError) {
    self.followsLinksByPath = followsLinksByPath
    guard let origin = Origin(root), let parts = URLComponents(url: root, resolvingAgainstBaseURL: true) else {
      throw ODataError(.invalidRequest, "the root of a service must be an http or https URL with a host")
    }
    self.origin = origin
    let text = root.absoluteString.prefix { $0 != "?" && $0 != "#" }
    base = String(text.hasSuffix("/") ? text.dropLast() : text) + "/"
    query = parts.percentEncodedQuery.flatMap { $0.isEmpty ? nil : $0 }
  }

  /// Returns the URL of a path with options.
  func url(_ path: ODataPath, _ options: [String] = [], _ version: ODataVersion) throws(ODataError) -> URL {
    var address = base
    var queries = query.map { [$0] } ?? []
    if let link = path.link {
      let text = try url(link).absoluteString.prefix { $0 != "#" }.split(separator: "?", maxSplits: 1).map(String.init)
      (address, queries) = (text[0], Array(text.dropFirst()))
    }
    let query = (queries + options).joined(separator: "&")
    guard let url = URL(string: try address + path.text(version) + (query.isEmpty ? "" : "?" + query)) else {
      throw ODataError(.invalidRequest, "the path and the options make no URL: check custom options")
    }
    return url
  }

  /// Returns the URL of a link, with those options of the root's query that it lacks.
  ///
  /// - Throws: `ODataError` if it leads to another origin.
  func url(_ link: ODataLink) throws(ODataError) -> URL {
    // A relative link belongs to the service's root, and one that begins with a slash to the host.
    guard let base = URL(string: base), var url = URL(reference: link.rawValue, relativeTo: base) else {
      throw ODataError(.invalidResponse, "a link of the service is not a URL")
    }
    if followsLinksByPath, Origin(url) != nil, Origin(url) != origin { url = moved(url, to: base) }
    guard Origin(url) == origin else {
      throw ODataError(
        .foreignLink,
        "a link of the service leads to another origin than \(origin): if a proxy is in between, let it translate the "
          + "URLs in responses, or set serviceOptions.followsLinksByPath")
    }
    let own = url.query(percentEncoded: true)
    let names = Set((own ?? "").split(separator: "&").map(Self.name))
    let missing = (query ?? "").split(separator: "&").filter { !names.contains(Self.name($0)) }
    guard !missing.isEmpty else { return url }
    let separator = own == nil ? "?" : "&"
    let text = url.absoluteString.prefix { $0 != "#" } + separator + missing.joined(separator: "&")
    return URL(string: String(text)) ?? url
  }

  /// The name of an option in a query.
  private static func name(_ option: Substring) -> String {
    PercentEncoding.form.decode(option.prefix { $0 != "=" })
  }

  /// Returns path and query of a link with the origin of the root.
  private func moved(_ url: URL, to base: URL) -> URL {
    guard var parts = URLComponents(url: base, resolvingAgainstBaseURL: true) else { return url }
    parts.percentEncodedPath = url.path(percentEncoded: true)
    parts.percentEncodedQuery = url.query(percentEncoded: true)
    return parts.url ?? url
  }

  /// Returns the URL as a batch names it: relative to the root, without the root's query.
  func relative(_ path: ODataPath, _ options: [String], _ version: ODataVersion) throws(ODataError) -> String {
    if path.link != nil { return try url(path, options, version).absoluteString }
    return try path.text(version) + (options.isEmpty ? "" : "?" + options.joined(separator: "&"))
  }
}
