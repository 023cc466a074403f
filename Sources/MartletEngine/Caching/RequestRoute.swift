package import MartletSemantics

/// Which requests are identical: the same target, credentials and preferences. Fields that differ from one request to the
/// next without meaning, such as a correlation identifier, are no part of it.
package struct RequestRoute: Sendable, Hashable {
  /// What the answers are stored by.
  package let key: CacheKey
  private let selecting: [String]

  package init(_ key: CacheKey, _ fields: HTTPFields = [:]) {
    self.key = key
    let names: [FieldName] = [.accept, .acceptLanguage, .acceptEncoding, .authorization, .cookie]
    selecting = names.map { fields[$0] ?? "" }
  }

  /// Whether the answer may well be one for others, too: nothing in the request asks for a fresh or a partial one.
  package static func isShared(by request: HTTPRequest) -> Bool {
    request.method == .get && request.body.isEmpty && !request.fields.contains { special.contains($0.name) }
  }

  private static let special: [FieldName] = [
    .cacheControl, .pragma, .range, .ifNoneMatch, .ifModifiedSince, .ifMatch, "If-Unmodified-Since",
  ]
}

extension RequestRoute: CustomStringConvertible, CustomReflectable {
  /// The URL, without what may be secret in it.
  package var description: String { URL(string: key.url)?.redacted ?? "a URL" }

  /// The description, so that `dump` shows no more.
  package var customMirror: Mirror { Mirror(self, children: ["route": description]) }
}
