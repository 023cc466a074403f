/// The rate limit that a server announces in a response: the time for which nothing more may be sent.
///
/// | field | example | meaning |
/// |---|---|---|
/// | `Retry-After` (RFC 9110 §10.2.3), of a 429 or 503 | `30`, or a date | wait |
/// | `RateLimit` (draft-ietf-httpapi-ratelimit-headers) | `"default";r=0;t=30` | nothing remains for `t` seconds |
/// | `RateLimit` of an earlier draft | `limit=100, remaining=0, reset=30` | the same |
/// | `RateLimit-Remaining` and `RateLimit-Reset`, earlier still | `0` and `30` | the same |
///
/// An invalid field is ignored. With several policies, the longest wait counts. `RateLimit-Policy` is not needed: it
/// describes how a limit is computed, and not how much of it is left.
package enum RateLimitFields {
  /// Returns how long the server wants no more requests; nil if it sets no such time.
  ///
  /// - Parameter now: the current time, for a `Retry-After` with a date.
  package static func pause(after response: ResponseHead, now: Date) -> Duration? {
    var pauses = exhausted(in: response.fields)
    if response.status == .tooManyRequests || response.status == .serviceUnavailable,
      let delay = RetryAfter.delay(in: response.fields, now: now)
    {
      pauses.append(delay)
    }
    return pauses.max()
  }

  /// The times after which exhausted policies allow requests again.
  private static func exhausted(in fields: HTTPFields) -> [Duration] {
    guard fields.contains("RateLimit") else {
      let old = (number(fields["RateLimit-Remaining"]), number(fields["RateLimit-Reset"]))
      return old.0 == 0 ? old.1.map { [.seconds($0)] } ?? [] : []
    }
    let named = items(of: "RateLimit", in: fields).compactMap { item in
      number(item["r"]) == 0 ? number(item["t"]) : nil
    }
    guard named.isEmpty else { return named.map { .seconds($0) } }
    // The dictionary of earlier drafts.
    let members = FieldParameters(parsing: fields[values: "RateLimit"].joined(separator: ", ").replacingCommas)
    return number(members["remaining"]) == 0 ? number(members["reset"]).map { [.seconds($0)] } ?? [] : []
  }

  /// The parameters of each item of a structured list (RFC 9651 §3.1).
  private static func items(of name: FieldName, in fields: HTTPFields) -> [FieldParameters] {
    fields[values: name].flatMap { FieldList.elements(of: Substring($0)) }.map { element in
      let parts = FieldList.elements(of: element, separator: UInt8(ascii: ";"))
      return FieldParameters(parsing: parts.dropFirst().joined(separator: ";"))
    }
  }

  /// A non-negative integer of at most nine digits, so that no sum overflows.
  private static func number(_ text: String?) -> Int? {
    guard let text, (1...9).contains(text.utf8.count), text.utf8.allSatisfy(ASCII.isDigit) else { return nil }
    return Int(text)
  }
}

extension String {
  /// Comma-separated members, in the form of parameters.
  fileprivate var replacingCommas: String {
    FieldList.elements(of: self[...]).joined(separator: ";")
  }
}
