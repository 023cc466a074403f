/// Decides whether requests for the same target may share one response (RFC 9111 §4, "collapsed requests").
package enum SharingRule {
  /// Whether the response to a request may be used for other requests with its key: the request is a GET, or a QUERY
  /// whose key has its content, and it requests neither a fresh nor a partial response, nor another protocol.
  package static func allows(_ method: HTTPMethod, _ fields: HTTPFields) -> Bool {
    guard method.retrieves else { return false }
    return !fields.contains(excluding)
  }

  private static let excluding: FieldNames = [
    .cacheControl, .pragma, .range, .ifNoneMatch, .ifModifiedSince, .ifMatch, .ifUnmodifiedSince, .upgrade,
  ]
}
