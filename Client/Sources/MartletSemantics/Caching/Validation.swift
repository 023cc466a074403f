/// Validates stored responses and updates them with newer ones (RFC 9111 §3.2, §4.3.4, §4.3.5).
package enum Validation {
  /// Returns the conditional request for a stored response (§4.3.1), with its entity tag and its date of modification.
  /// Unchanged if the response has neither.
  package static func conditional(_ request: RequestHead, for stored: StoredResponse) -> RequestHead {
    var request = request
    if let tag = stored.head.fields[values: .eTag].first { request.fields[.ifNoneMatch] = tag }
    if let date = stored.head.fields[values: .lastModified].first { request.fields[.ifModifiedSince] = date }
    return request
  }

  /// Returns the stored response merged with a 304 (§4.3.4); nil if the 304 has another tag or date, and therefore does
  /// not apply to it.
  ///
  /// Servers do not always follow this section, and a stored response that no 304 ever matched would be useless. A 304
  /// without a validator therefore applies to the response that was validated. Tags are compared weakly, because some
  /// servers weaken the tag when they compress a response, but not in the 304. If only one of the two has a tag, the
  /// date decides, because other servers remove the tag from a compressed response.
  package static func merged(
    _ stored: StoredResponse, with confirmation: ResponseHead, requestTime: Date, responseTime: Date
  ) -> StoredResponse? {
    guard correspond(confirmation.fields, stored.head.fields) else { return nil }
    return updated(stored, with: confirmation.fields, requestTime: requestTime, responseTime: responseTime)
  }

  /// Returns the stored response merged with the 200 of a HEAD request (§4.3.5); nil if the stored one is outdated.
  package static func merged(
    _ stored: StoredResponse, length: Int64, withHead response: ResponseHead, requestTime: Date, responseTime: Date
  ) -> StoredResponse? {
    for name in [FieldName.eTag, .lastModified] {
      if let received = response.fields[values: name].first, received != stored.head.fields[values: name].first {
        return nil
      }
    }
    if !stored.isDecoded, let received = response.fields[values: .contentLength].first, received != String(length) {
      return nil
    }
    return updated(stored, with: response.fields, requestTime: requestTime, responseTime: responseTime)
  }

  /// Whether the 304 selects the stored response (§4.3.4): by its tag, otherwise by its date, otherwise because it was
  /// the validated one.
  private static func correspond(_ new: HTTPFields, _ old: HTTPFields) -> Bool {
    let tag = new[values: .eTag].first
    if let tag, let stored = old[values: .eTag].first { return EntityTag.matchesWeakly(tag, stored) }
    if let date = new[values: .lastModified].first { return date == old[values: .lastModified].first }
    return tag == nil
  }

  /// Replaces all lines of every received field (§3.2), except fields that are not stored, and fields that describe the
  /// received bytes instead of the stored ones: a 304 may name the coding of a body that it does not have, although the
  /// stored one is decoded, or has another.
  static func updated(
    _ stored: StoredResponse, with received: HTTPFields, requestTime: Date, responseTime: Date
  ) -> StoredResponse {
    var updated = stored
    var fields = StorageRule.storedFields(of: received)
    fields.removeAll { [.contentLength, .contentRange, .contentEncoding].contains($0) }
    // If the tag was made weak for the stored body, it stays weak.
    if stored.head.fields[values: .eTag].first.map(EntityTag.isWeak) == true { fields.remove(.eTag) }
    // `Age` and `Date` belong to a message, not to the representation: with the old values, the validated response
    // would still seem old.
    updated.head.fields.remove(.age)
    updated.head.fields.remove(.date)
    let names = Set(fields.map { $0.name })
    updated.head.fields.removeAll { names.contains($0) }
    for (name, value) in fields { updated.head.fields.append(value, for: name) }
    if !updated.head.fields.contains(.date) { updated.head.fields[.date] = HTTPDate.format(responseTime) }
    updated.requestTime = requestTime
    updated.responseTime = responseTime
    return updated
  }
}

extension FieldNames {
  /// The conditional fields that a cache evaluates (RFC 9111 §4.3.2). The cache adds no conditions to a request that
  /// already has one of them.
  static let cacheConditions: FieldNames = [.ifNoneMatch, .ifModifiedSince]
}
