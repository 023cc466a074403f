@_spi(Toolkit) public import MartletSemantics

/// Identifies requests that can share one response: requests with the same target and the same values of certain
/// fields.
@_spi(Toolkit) public struct RequestIdentity: Sendable, Hashable {
  /// The key of the response in a cache.
  public let key: CacheKey
  private let selecting: [String]

  /// Compares only credentials and preferences, for a request as it is sent: other fields, such as a correlation
  /// identifier, differ between requests for the same response. `Vary` has to be applied to the response.
  package init(_ key: CacheKey, _ fields: HTTPFields) {
    self.key = key
    selecting = Self.selecting.map { fields[$0] ?? "" }
  }

  private static let selecting: [FieldName] = [.accept, .acceptLanguage, .acceptEncoding, .authorization, .cookie]

  /// Compares all fields, for a request as its caller made it. `Vary` need not be applied.
  public init(_ key: CacheKey, all fields: HTTPFields) {
    self.key = key
    // The order of lines with the same name is kept, because it may matter.
    let lines = Dictionary(grouping: fields, by: \.name.canonicalName).sorted { $0.key < $1.key }
    selecting = lines.flatMap { name, lines in lines.map { "\(name): \($0.value)" } }
  }

  /// A digest by which processes recognize identical requests without knowing their content.
  var fingerprint: String {
    Fingerprint.of(([key.partition, key.url] + selecting).map { "\($0.utf8.count):\($0)" }.joined())
  }

  /// Whether the response may be used for other requests. Not that of a QUERY, because the key of its request has no
  /// content.
  package static func allowsSharing(of request: HTTPRequest) -> Bool {
    request.method == .get && request.body.isEmpty && SharingRule.allows(request.method, request.fields)
  }
}

extension RequestIdentity: CustomStringConvertible, CustomReflectable {
  /// The URL, with secrets replaced.
  @_spi(Toolkit) public var description: String { URL(string: key.url)?.redacted ?? "a URL" }

  /// The description, so that `dump` shows nothing else.
  @_spi(Toolkit) public var customMirror: Mirror { Mirror(self, children: ["identity": description]) }
}
