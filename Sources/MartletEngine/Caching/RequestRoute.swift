package import MartletSemantics

/// Identifies requests that can share one response: those with the same target and the same values of certain fields.
package struct RequestRoute: Sendable, Hashable {
  /// The key of the response in a cache.
  package let key: CacheKey
  private let selecting: [String]

  /// Compares credentials and preferences only, for a request as it is sent: other fields, such as a correlation
  /// identifier, differ between requests that want the same. `Vary` has to be applied to the response.
  package init(_ key: CacheKey, _ fields: HTTPFields) {
    self.key = key
    let names: [FieldName] = [.accept, .acceptLanguage, .acceptEncoding, .authorization, .cookie]
    selecting = names.map { fields[$0] ?? "" }
  }

  /// Compares all fields, for a request as its caller made it. `Vary` need not be applied.
  package init(_ key: CacheKey, all fields: HTTPFields) {
    self.key = key
    // The order of lines with the same name is kept, because it may matter.
    let lines = Dictionary(grouping: fields, by: \.name.canonicalName).sorted { $0.key < $1.key }
    selecting = lines.flatMap { name, lines in lines.map { "\(name): \($0.value)" } }
  }

  /// Whether the response may be used for other requests: a GET that asks neither for a fresh nor for a partial
  /// response.
  package static func isShared(by request: HTTPRequest) -> Bool {
    request.method == .get && request.body.isEmpty && !request.fields.contains { special.contains($0.name) }
  }

  private static let special: [FieldName] = [
    .cacheControl, .pragma, .range, .ifNoneMatch, .ifModifiedSince, .ifMatch, "If-Unmodified-Since", .upgrade,
  ]
}

extension RequestRoute: CustomStringConvertible, CustomReflectable {
  /// The URL, with secrets replaced.
  package var description: String { URL(string: key.url)?.redacted ?? "a URL" }

  /// The description, so that `dump` shows nothing else.
  package var customMirror: Mirror { Mirror(self, children: ["route": description]) }
}
