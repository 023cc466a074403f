/// How long a server asks to wait before the next request (RFC 9110 §10.2.3).
package enum RetryAfter {
  /// The wait that the fields ask for; nil if they ask for none, or not in a form that can be read.
  ///
  /// A date is measured against the response's own `Date` where it has one: then it does not matter whose clock is wrong.
  /// A date that has passed asks for no wait. Of several fields the longest wait counts.
  ///
  /// - Parameters:
  ///   - fields: The response's.
  ///   - now: The present, for a response without `Date`.
  package static func delay(in fields: HTTPFields, now: Date) -> Duration? {
    let present = fields[.date].flatMap { HTTPDate.parse($0, now: now) } ?? now
    return fields[values: .retryAfter].compactMap { seconds($0) ?? date($0, present) }.max()
  }

  /// `delay-seconds = 1*DIGIT`. More seconds than a number holds are as many as it holds.
  private static func seconds(_ value: String) -> Duration? {
    let text = ASCII.trimmed(value)
    guard !text.isEmpty, text.utf8.allSatisfy(ASCII.isDigit) else { return nil }
    return .seconds(min(Int64(text) ?? .max, longest))
  }

  private static func date(_ value: String, _ present: Date) -> Duration? {
    guard let date = HTTPDate.parse(value, now: present) else { return nil }
    return .seconds(max(0, date.timeIntervalSince(present)))
  }

  /// A hundred years: what can be added to any time without overflow.
  private static let longest: Int64 = 100 * 365 * 86_400
}
