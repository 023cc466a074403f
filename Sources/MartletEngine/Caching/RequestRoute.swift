package import MartletSemantics

/// Which requests are identical: the same target, and the same fields as far as they count.
package struct RequestRoute: Sendable, Hashable {
  /// What the answers are stored by.
  package let key: CacheKey
  private let selecting: [String]

  /// By credentials and preferences, for a request as it goes out: what differs from one request to the next without meaning,
  /// such as a correlation identifier, does not count. Whoever shares an answer by it must look at its `Vary`.
  package init(_ key: CacheKey, _ fields: HTTPFields) {
    self.key = key
    let names: [FieldName] = [.accept, .acceptLanguage, .acceptEncoding, .authorization, .cookie]
    selecting = names.map { fields[$0] ?? "" }
  }

  /// By all fields, for a request as its caller made it: what is shared by it is the same whatever the server looks at.
  package init(_ key: CacheKey, all fields: HTTPFields) {
    self.key = key
    // Lines of one name stay in their order, which may mean something.
    let lines = Dictionary(grouping: fields, by: \.name.canonicalName).sorted { $0.key < $1.key }
    selecting = lines.flatMap { name, lines in lines.map { "\(name): \($0.value)" } }
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
