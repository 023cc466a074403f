import MartletSemantics

/// A request on its way to the origin. It is a class, because every waiting call would keep a copy.
final class OriginRequest: Sendable {
  /// The stored responses that a request is sent for.
  enum Basis: Sendable {
    /// No stored response can be used.
    case nothing
    /// The request validates this response, which matches it.
    case validating(CacheEntry, because: CachePlan.ValidationReason)
    /// The request carries the entity tags of these responses, which do not match it.
    case offering([CacheEntry])
    /// The response is joined with this stored part.
    case joining(CacheEntry)
  }

  /// The head as it is sent.
  let head: RequestHead
  let basis: Basis

  init(_ head: RequestHead, _ basis: Basis = .nothing) {
    self.head = head
    self.basis = basis
  }

  /// The stored response that the request validates or joins; nil if there is none. A response changes, replaces or
  /// removes it.
  var known: CacheEntry? {
    switch basis {
    case .validating(let entry, _), .joining(let entry): entry
    case .nothing, .offering: nil
    }
  }

  /// The stored responses whose entity tags the request carries.
  var offered: [CacheEntry] { if case .offering(let entries) = basis { entries } else { [] } }
}

extension HTTPRequest {
  /// Returns the request with these fields.
  func with(_ fields: HTTPFields) -> HTTPRequest {
    guard fields != self.fields else { return self }
    var request = self
    request.fields = fields
    return request
  }
}
