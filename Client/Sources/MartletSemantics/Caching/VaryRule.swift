/// Selects the stored response that matches a request (RFC 9111 §4.1).
package enum VaryRule {
  /// Whether no request can match: `Vary` contains `*`.
  package static func matchesNothing(_ fields: HTTPFields) -> Bool {
    fields.contains(.vary) && fields.list(.vary).contains("*")
  }

  /// Returns the variant of a response: a fingerprint of the request fields that `Vary` names, and of the credentials.
  /// Empty if there are none. The fields of the user, `Authorization` and `Cookie`, have a separate fingerprint after a
  /// dash. A part of a response is another variant than the whole, so that neither replaces the other.
  ///
  /// `Authorization` counts as if `Vary` named it, unless the response is `public`. RFC 9111 §3.5 requires that only of
  /// shared caches, but a program may act for several users, and must not show one user the responses of another.
  ///
  /// In a named partition, `Authorization` does not count, even if `Vary` names it: it identifies the user, and so does
  /// the name of the partition. A response thus remains usable when the token is renewed, or is unavailable offline. It
  /// does count for a refusal or a temporary error, which may be due to the token. `Cookie` always counts if `Vary`
  /// names it: cookies also hold the user's choices and actions (a language, a basket, a login), which servers may
  /// change with any response.
  package static func variant(of response: ResponseHead, for request: HTTPFields, in partition: String = "") -> String {
    let whole = variantOfWhole(response, for: request, in: partition)
    return response.status == .partialContent ? whole + "/part" : whole
  }

  private static func variantOfWhole(
    _ response: ResponseHead, for request: HTTPFields, in partition: String
  ) -> String {
    let fields = response.fields
    // Most responses have one variant, for all requests.
    guard fields.contains(.vary) || fields.contains(.contentEncoding) || request.contains(.authorization) else {
      return ""
    }
    var names = Set(fields.list(.vary).filter { Token.isValid($0) }.map { FieldName(unchecked: $0) })
    if !partition.isEmpty, !CacheUpdate.isRefusalOrTemporaryError(response.status) {
      names.remove(.authorization)
    } else if request.contains(.authorization), !CacheControl(fields).contains("public") {
      names.insert(.authorization)
    }
    // A compressed body is used only for requests with the same `Accept-Encoding`, because the transport cannot decode
    // stored bytes. Some servers do not list the field in `Vary`.
    if fields.contains(.contentEncoding) { names.insert(.acceptEncoding) }
    let user = names.intersection(userFields)
    let content = fingerprint(of: names.subtracting(user), in: request)
    return user.isEmpty ? content : content + "-" + fingerprint(of: user, in: request)
  }

  private static let userFields: Set<FieldName> = [.authorization, .cookie]

  private static func fingerprint(of names: Set<FieldName>, in request: HTTPFields) -> String {
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

  /// Returns the index of the response to use: of the responses that match and satisfy a condition, the one with the
  /// latest `Date` (§4.1), then the one received last.
  package static func select(
    for request: HTTPFields, among stored: [StoredCandidate], in partition: String = "",
    where isUsable: (StoredCandidate) -> Bool = { _ in true }
  ) -> Int? {
    func isCandidate(_ index: Int) -> Bool {
      matches(stored[index].response, request, in: partition) && isUsable(stored[index])
    }
    if stored.count == 1 { return isCandidate(0) ? 0 : nil }
    return stored.indices.filter { isCandidate($0) }.max { first, second in
      let (left, right) = (stored[first].response, stored[second].response)
      let dates = [left.facts.date, right.facts.date]
      return dates[0] == dates[1] ? left.responseTime < right.responseTime : dates[0] < dates[1]
    }
  }

  /// Returns the stored responses, as indices, whose entity tags a request may carry although none of them matches it
  /// (§4.3.1), the most recent first. If the origin selects one of them, its 304 says which one.
  package static func offered(
    to request: HTTPFields, among stored: [StoredCandidate], in partition: String
  ) -> [Int] {
    let indices = stored.indices.filter { mayOffer(stored[$0].response, to: request, in: partition) }
    // Eight tags at most: some servers refuse longer lines.
    return Array(indices.sorted { stored[$0].response.responseTime > stored[$1].response.responseTime }.prefix(8))
  }

  /// Whether the entity tag of a stored response may be sent with a request that it does not match.
  ///
  /// - Without a named partition, only if the response is for the same user. Many services number the versions of each
  ///   user's view, so that the tags of two users are equal.
  /// - A weak tag only if nothing but the user differs: it may stand for several formats or languages at once (RFC 9110
  ///   §8.8.1). A body that the transport does not decode must not be used for another request either.
  private static func mayOffer(_ stored: StoredResponse, to request: HTTPFields, in partition: String) -> Bool {
    let fields = stored.head.fields
    guard stored.head.status == .ok, let tag = fields[values: .eTag].first, !matchesNothing(fields) else {
      return false
    }
    let (own, asked) = (stored.variant, variant(of: stored.head, for: request, in: partition))
    let isSameUser = user(of: own) == user(of: asked)
    let isSameContent = content(of: own) == content(of: asked)
    return (isSameUser || !partition.isEmpty)
      && (isSameContent || !EntityTag.isWeak(tag) && !fields.contains(.contentEncoding))
  }

  private static func content(of variant: String) -> Substring { variant.prefix { $0 != "-" } }

  private static func user(of variant: String) -> Substring { variant.drop { $0 != "-" } }

  /// Returns the normalized value of a field (§4.1). Lines are combined, and white space around commas is removed; case
  /// and order are normalized if they do not matter for the field. nil if it is absent.
  private static func normalValue(of name: FieldName, in request: HTTPFields) -> String? {
    guard request.contains(name) else { return nil }
    let elements = request.list(name)
    switch name {
    case .acceptLanguage, .acceptEncoding:
      // RFC 9110 §12.5.3 and §12.5.4: the weights express preference, not the order.
      return elements.map { ASCII.lowercased(withoutSpace($0)) }.sorted().joined(separator: ",")
    case .accept:
      return elements.map(withoutSpace).sorted().joined(separator: ",")
    default:
      return elements.joined(separator: ",")
    }
  }

  /// Returns `en ; q=0.5` as `en;q=0.5`.
  private static func withoutSpace(_ element: String) -> String {
    FieldList.elements(of: element[...], separator: UInt8(ascii: ";")).joined(separator: ";")
  }
}
