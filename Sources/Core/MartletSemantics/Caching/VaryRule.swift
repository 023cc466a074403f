/// Selects the stored response that matches a request (RFC 9111 §4.1).
package enum VaryRule {
  /// Whether no request can match: `Vary` contains `*`.
  package static func matchesNothing(_ fields: HTTPFields) -> Bool {
    fields.contains(.vary) && fields.list(.vary).contains("*")
  }

  /// Returns the variant of a response: a fingerprint of the request fields that `Vary` names, and of the credentials.
  /// Empty if there are none.
  ///
  /// `Authorization` counts as if `Vary` named it, unless the response is `public`. RFC 9111 §3.5 requires that only of
  /// shared caches, but a program may act for several users, and must not show one user the responses of another. In a
  /// partition with a name it does not count, because the name identifies the user: a renewed token, or one that is not
  /// available offline, changes nothing. A refusal or a temporary error may be about the token, so there it does count.
  /// If `Vary` names it, it always counts (§4.1).
  package static func variant(of response: ResponseHead, for request: HTTPFields, in partition: String = "") -> String {
    let fields = response.fields
    // most responses have one variant, for all requests
    guard fields.contains(.vary) || fields.contains(.contentEncoding) || request.contains(.authorization) else {
      return ""
    }
    var names = Set(fields.list(.vary).filter { Token.isValid($0) }.map { FieldName(unchecked: $0) })
    let mayDifferByUser = partition.isEmpty || CacheUpdate.isRefusalOrTemporaryError(response.status)
    if mayDifferByUser, request.contains(.authorization), !CacheControl(fields).contains("public") {
      names.insert(.authorization)
    }
    // A compressed body is only for requests with the same `Accept-Encoding`: the transport cannot decode stored bytes.
    // Servers omit that in `Vary`.
    if fields.contains(.contentEncoding) { names.insert(.acceptEncoding) }
    guard !names.isEmpty else { return "" }
    let lines = names.map { "\($0.canonicalName):\(text(of: normalValue(of: $0, in: request)))" }
    return Fingerprint.of(lines.sorted().joined(separator: "\n"))
  }

  /// Returns the text of a value in the fingerprint: `-` for an absent field, which no value has.
  private static func text(of value: String?) -> String {
    guard let value else { return "-" }
    return value.utf8.first == UInt8(ascii: "-") || value.utf8.first == UInt8(ascii: "=") ? "=" + value : value
  }

  /// Whether a stored response matches the request.
  package static func matches(_ stored: StoredResponse, _ request: HTTPFields, in partition: String = "") -> Bool {
    guard !matchesNothing(stored.head.fields) else { return false }
    return variant(of: stored.head, for: request, in: partition) == stored.variant
  }

  /// Returns the index of the response to use: of those that match, the one with the latest `Date` (§4.1), then the one
  /// received last.
  package static func select(
    for request: HTTPFields, among stored: [(response: StoredResponse, length: Int64)], in partition: String = ""
  ) -> Int? {
    if stored.count == 1 { return matches(stored[0].response, request, in: partition) ? 0 : nil }
    return stored.indices.filter { matches(stored[$0].response, request, in: partition) }.max { first, second in
      let (left, right) = (stored[first].response, stored[second].response)
      let dates = [left.facts.date, right.facts.date]
      return dates[0] == dates[1] ? left.responseTime < right.responseTime : dates[0] < dates[1]
    }
  }

  /// Returns the normalized value of a field (§4.1): lines combined, white space around commas removed, and case and
  /// order normalized if they do not matter for the field. nil if it is absent.
  private static func normalValue(of name: FieldName, in request: HTTPFields) -> String? {
    guard request.contains(name) else { return nil }
    let elements = request.list(name)
    switch name {
    case .acceptLanguage, .acceptEncoding:
      // RFC 9110 §12.5.3 and §12.5.4: preference is in the weights, not in the order.
      return elements.map { ASCII.lowercased(withoutSpace($0)) }.sorted().joined(separator: ",")
    case .accept:
      return elements.map(withoutSpace).sorted().joined(separator: ",")
    default:
      return elements.joined(separator: ",")
    }
  }

  /// `en ; q=0.5` as `en;q=0.5`.
  private static func withoutSpace(_ element: String) -> String {
    FieldList.elements(of: element[...], separator: UInt8(ascii: ";")).joined(separator: ";")
  }
}
