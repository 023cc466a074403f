/// How newer responses change stored ones (RFC 9111 §3.2, §4.3.4, §4.3.5).
package enum Freshening {
  /// The request that asks whether a stored response is still right (§4.3.1): with its tag and its date of modification,
  /// as they were received. Unchanged where the response has neither.
  package static func conditional(_ request: RequestHead, for stored: StoredResponse) -> RequestHead {
    var request = request
    if let tag = stored.head.fields[values: .eTag].first { request.fields[.ifNoneMatch] = tag }
    if let date = stored.head.fields[values: .lastModified].first { request.fields[.ifModifiedSince] = date }
    return request
  }

  /// The stored response after a 304 that answers a request with its validators (§4.3.4); nil where the 304 must not
  /// change it, because it names another strong tag.
  ///
  /// A 304 without any validator is taken as the answer to the question that was asked, though the section speaks of
  /// responses without validators only: servers leave them away.
  package static func merged(
    _ stored: StoredResponse, with confirmation: ResponseHead, requestTime: Date, responseTime: Date
  ) -> StoredResponse? {
    guard correspond(confirmation.fields, stored.head.fields) else { return nil }
    return updated(stored, with: confirmation.fields, requestTime: requestTime, responseTime: responseTime)
  }

  /// The stored response after the 200 of a HEAD (§4.3.5); nil where that shows that it is out of date.
  package static func merged(
    _ stored: StoredResponse, length: Int64, withHead response: ResponseHead, requestTime: Date, responseTime: Date
  ) -> StoredResponse? {
    for name in [FieldName.eTag, .lastModified] {
      if let received = response.fields[values: name].first, received != stored.head.fields[values: name].first {
        return nil
      }
    }
    if !stored.isUnpacked, let received = response.fields[values: .contentLength].first, received != String(length) {
      return nil
    }
    return updated(stored, with: response.fields, requestTime: requestTime, responseTime: responseTime)
  }

  /// §4.3.4: by strong tag, else by weak validator, else because it answers the question.
  private static func correspond(_ new: HTTPFields, _ old: HTTPFields) -> Bool {
    if let tag = new[values: .eTag].first {
      let stored = old[values: .eTag].first ?? ""
      return EntityTag.isWeak(tag) ? EntityTag.matchesWeakly(tag, stored) : tag == stored
    }
    guard let date = new[values: .lastModified].first else { return true }
    return date == old[values: .lastModified].first
  }

  /// §3.2: every field that came replaces all lines of its name, but for what is not stored, and what describes the bytes
  /// that are here and not those that were on the wire.
  private static func updated(
    _ stored: StoredResponse, with received: HTTPFields, requestTime: Date, responseTime: Date
  ) -> StoredResponse {
    var updated = stored
    var fields = StorageRule.storedFields(of: received)
    fields.removeAll { $0 == .contentLength || (stored.isUnpacked && $0 == .contentEncoding) }
    // Both speak of one message's way and not of the representation: without new ones the old would make it old again.
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
