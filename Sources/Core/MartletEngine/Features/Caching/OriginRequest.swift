import MartletSemantics

/// A request on its way to the origin. It is a class, because every waiting call would keep a copy.
final class OriginRequest: Sendable {
  /// The head as it is sent.
  let head: RequestHead
  /// The stored response to validate; nil if there is none.
  let entry: CacheEntry?
  /// The stored responses that do not match the request, but whose entity tags it carries.
  let offered: [CacheEntry]
  /// The stored part of the response; nil if there is none.
  let part: CacheEntry?

  init(
    _ head: RequestHead, validating entry: CacheEntry? = nil, offering offered: [CacheEntry] = [],
    joining part: CacheEntry? = nil
  ) {
    self.head = head
    self.entry = entry
    self.offered = offered
    self.part = part ?? entry.flatMap { $0.response.part == nil ? nil : $0 }
  }

  /// The stored response that a response replaces.
  var known: CacheEntry? { entry ?? part }
}
