/// The rate limit that a server announces in a response: the time for which nothing more may be sent.
///
/// | field | example | meaning |
/// |---|---|---|
/// | `Retry-After` (RFC 9110 §10.2.3), of a 403, 429 or 503 | `30`, `1.9`, or a date | wait |
/// | `RateLimit` (draft-ietf-httpapi-ratelimit-headers) | `"default";r=0;t=30` | nothing remains for `t` seconds |
/// | `RateLimit` of an earlier draft | `limit=100, remaining=0, reset=30` | the same |
/// | `RateLimit-Remaining` and `RateLimit-Reset`, earlier still | `0` and `30` | the same |
/// | the same with `X-RateLimit-` or `X-Rate-Limit-` (GitHub and others) | `0` and `1767225600` | nothing remains until then |
///
/// A number of seconds from a billion on, which is 31 years, is a time: the seconds since 1970. It is compared with the
/// `Date` of the response, as that of a `Retry-After` is.
///
/// An invalid field is ignored. With several policies, the longest wait counts. `RateLimit-Policy` is not needed: it
/// describes how a limit is computed, and not how much of it is left.
package enum RateLimitFields {
  /// Returns how long the server wants no more requests; nil if it sets no such time.
  ///
  /// - Parameter now: the current time, for a `Retry-After` with a date, and a reset at a time.
  package static func pause(after response: ResponseHead, now: Date) -> Duration? {
    var pauses = exhausted(in: response.fields, now: now)
    if [.forbidden, .tooManyRequests, .serviceUnavailable].contains(response.status),
      let delay = RetryAfter.delay(in: response.fields, now: now)
    {
      pauses.append(delay)
    }
    return pauses.max()
  }

  /// The times after which exhausted policies allow requests again.
  private static func exhausted(in fields: HTTPFields, now: Date) -> [Duration] {
    guard fields.contains("RateLimit") else {
      guard let names = earlierNames.first(where: { fields.contains($0.remaining) }),
        number(fields[names.remaining]) == 0, let reset = fields[names.reset].flatMap(RetryAfter.seconds)
      else { return [] }
      return [reset < firstTime ? reset : max(.zero, reset - .seconds(sinceEpoch(fields, now)))]
    }
    if let policies = try? fields.structured("RateLimit", as: StructuredField.List.self) {
      return policies.members.compactMap { pause(remaining: $0.parameters["r"], reset: $0.parameters["t"]) }
    }
    // The dictionary of earlier drafts.
    guard let members = try? fields.structured("RateLimit", as: StructuredField.Dictionary.self) else { return [] }
    return [pause(remaining: members["remaining"]?.item?.value, reset: members["reset"]?.item?.value)].compactMap(
      \.self)
  }

  private static func pause(
    remaining: StructuredField.BareItem?, reset: StructuredField.BareItem?
  ) -> Duration? {
    // At most nine digits, so that no sum overflows.
    guard remaining == .integer(0), case .integer(let seconds)? = reset, (0..<1_000_000_000).contains(seconds) else {
      return nil
    }
    return .seconds(seconds)
  }

  private static let earlierNames: [(remaining: FieldName, reset: FieldName)] = [
    ("RateLimit-Remaining", "RateLimit-Reset"), ("X-RateLimit-Remaining", "X-RateLimit-Reset"),
    ("X-Rate-Limit-Remaining", "X-Rate-Limit-Reset"),
  ]

  /// The first number of seconds that is a time, and not a delay.
  private static let firstTime = Duration.seconds(1_000_000_000)

  private static func sinceEpoch(_ fields: HTTPFields, _ now: Date) -> Double {
    RetryAfter.present(in: fields, now: now).timeIntervalSince1970
  }

  /// A non-negative integer of at most nine digits, so that no sum overflows.
  private static func number(_ text: String?) -> Int? {
    guard let text, (1...9).contains(text.utf8.count), text.utf8.allSatisfy(ASCII.isDigit) else { return nil }
    return Int(text)
  }
}
