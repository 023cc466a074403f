/// Which of several stored answers of one URL a request is for (RFC 9111 §4.1).
package enum VaryRule {
  /// Whether no request can ever match: `Vary: *`, alone or among others.
  package static func matchesNothing(_ fields: HTTPFields) -> Bool { fields.list(.vary).contains("*") }

  /// The variant that an answer is for this request: a fingerprint of the request's fields that `Vary` names, and of its
  /// credentials. Empty where there is nothing to tell apart.
  ///
  /// `Authorization` counts as if `Vary` named it, unless the answer is `public`. RFC 9111 §3.5 asks for such care only of
  /// shared caches, but a program may well speak for several users in turn, and what one was allowed to see is not for
  /// the next. Within a partition that has a name it does not count, because that name stands for the user: a token that
  /// was renewed, or cannot be had without a network, changes nothing. A refusal or another error that passes may be about
  /// the token itself, so there it counts nevertheless. Where `Vary` does name it, it always counts (§4.1).
  package static func variant(of response: ResponseHead, for request: HTTPFields, in partition: String = "") -> String {
    let fields = response.fields
    var names = Set(fields.list(.vary).filter { Token.isValid($0) }.map { FieldName(unchecked: $0) })
    let mayDifferByUser = partition.isEmpty || Reception.passes(response.status)
    if mayDifferByUser, request.contains(.authorization), !CacheControl(fields).contains("public") {
      names.insert(.authorization)
    }
    // Packed bytes are for those alone who asked for them in the same words: everybody else's transport unpacks, which it
    // cannot do to what is stored. Servers forget to say so.
    if fields.contains(.contentEncoding) { names.insert(.acceptEncoding) }
    guard !names.isEmpty else { return "" }
    let lines = names.map { "\($0.canonicalName):\(text(of: normalValue(of: $0, in: request)))" }
    return Fingerprint.of(lines.sorted().joined(separator: "\n"))
  }

  /// A value as the fingerprint is made of it: `-` for an absent field, and no value is written like that.
  private static func text(of value: String?) -> String {
    guard let value else { return "-" }
    return value.utf8.first == UInt8(ascii: "-") || value.utf8.first == UInt8(ascii: "=") ? "=" + value : value
  }

  /// Whether a stored answer is for this request.
  package static func matches(_ stored: StoredResponse, _ request: HTTPFields, in partition: String = "") -> Bool {
    guard !matchesNothing(stored.head.fields) else { return false }
    return variant(of: stored.head, for: request, in: partition) == stored.variant
  }

  /// The place of the answer to use: of those that match, the one with the latest `Date` (§4.1), then the last to come.
  package static func select(
    for request: HTTPFields, among stored: [StoredResponse], in partition: String = ""
  ) -> Int? {
    stored.indices.filter { matches(stored[$0], request, in: partition) }.max { first, second in
      let (left, right) = (stored[first], stored[second])
      let dates = [left, right].map { Freshness.date(of: $0.head, receivedAt: $0.responseTime) }
      return dates[0] == dates[1] ? left.responseTime < right.responseTime : dates[0] < dates[1]
    }
  }

  /// A field's value as it is compared (§4.1): lines combined, white space around commas removed; and where the field's own
  /// definition says that case or order mean nothing, without them. nil if it is not there.
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
