/// The age and freshness lifetime of a stored response (RFC 9111 §4.2), in seconds.
@_spi(Toolkit) public struct Freshness: Sendable, Hashable {
  /// Freshness lifetime (§4.2.1), explicit or heuristic.
  public let lifetime: Double
  /// Current age (§4.2.3).
  public let age: Double

  /// Computes the freshness of a stored response.
  public init(of stored: StoredResponse, at now: Date) { self.init(stored.facts, at: now) }

  init(_ facts: StoredFacts, at now: Date) {
    lifetime = facts.lifetime
    age = facts.initialAge + Self.residentTime(since: facts.responseTime, at: now)
  }

  /// The time in the cache (§4.2.3: `resident_time`). A response that seems to come from the future is as old as can
  /// be: the clock was set back, and the time in the store is not known. Within a second, the clocks of
  /// processes that share a store may differ.
  private static func residentTime(since responseTime: Date, at now: Date) -> Double {
    let time = now.timeIntervalSince(responseTime)
    return time > -1 ? max(0, time) : Double(CacheControl.secondsLimit)
  }

  /// Whether the response can be used without validation (§4.2: lifetime > age).
  public var isFresh: Bool { lifetime > age }
  /// How long it has been stale; zero or less while it is fresh.
  package var staleness: Double { age - lifetime }
}

extension Freshness {
  /// Returns the explicit lifetime (§4.2.1) for a private cache, which ignores `s-maxage`; nil if there is none.
  ///
  /// An invalid value makes the response stale: §4.2.1 encourages that for `max-age`, and §5.3 requires it for
  /// `Expires`.
  static func explicitLifetime(
    of head: ResponseHead, _ control: CacheControl, receivedAt responseTime: Date
  ) -> Double? {
    switch control.seconds("max-age") {
    case .value(let seconds): return Double(seconds)
    case .invalid, .unlimited: return 0
    case nil: break
    }
    guard let expires = head.fields[values: .expires].first else { return nil }
    guard let expiry = HTTPDate.parse(expires, now: responseTime) else { return 0 }
    return max(0, expiry.timeIntervalSince(date(of: head, receivedAt: responseTime)))
  }

  /// Returns the heuristic lifetime (§4.2.2): a tenth of the time since the last modification, a week at most. nil if
  /// no heuristic is allowed.
  static func heuristicLifetime(
    of head: ResponseHead, _ control: CacheControl, receivedAt responseTime: Date
  ) -> Double? {
    guard isHeuristicallyCacheable(head.status) || control.contains("public"),
      let modified = head.fields[values: .lastModified].first.flatMap({ HTTPDate.parse($0, now: responseTime) })
    else { return nil }
    let interval = date(of: head, receivedAt: responseTime).timeIntervalSince(modified)
    return interval > 0 ? min(interval / 10, 7 * 86_400) : nil
  }

  /// Whether the status is heuristically cacheable (RFC 9110 §15.1).
  static func isHeuristicallyCacheable(_ status: HTTPStatus) -> Bool {
    switch status.code {
    case 200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501: true
    default: false
    }
  }

  /// Returns the age at which a response was received, in the terms of §4.2.3: `corrected_initial_age`.
  static func initialAge(of stored: StoredResponse, date: Date) -> Double {
    // `Date` has whole seconds: compared with a fraction, every new response would seem up to a second old.
    let arrival = stored.responseTime.timeIntervalSince1970.rounded(.down)
    let apparentAge = max(0, arrival - date.timeIntervalSince1970)
    let responseDelay = max(0, stored.responseTime.timeIntervalSince(stored.requestTime))
    return max(apparentAge, ageValue(of: stored.head) + responseDelay)
  }

  /// Returns the `Age` field (§5.1): the first member counts; an invalid one is ignored.
  private static func ageValue(of head: ResponseHead) -> Double {
    Double(head.fields.list(.age).first.flatMap { CacheControl.deltaSeconds($0) } ?? 0)
  }

  /// Returns `Date`, or the time of reception if it is missing or invalid (RFC 9110 §6.6.1).
  static func date(of head: ResponseHead, receivedAt responseTime: Date) -> Date {
    head.fields[values: .date].first.flatMap { HTTPDate.parse($0, now: responseTime) } ?? responseTime
  }
}

/// Facts derived from the fields of a stored response, which do not depend on the request or the time.
struct StoredFacts: Sendable {
  /// The directives of the response.
  let control: CacheControl
  /// `Date`, or the time of reception.
  let date: Date
  /// The freshness lifetime in seconds (RFC 9111 §4.2.1), explicit or heuristic.
  let lifetime: Double
  /// Its age in seconds when it was received (§4.2.3).
  let initialAge: Double
  let responseTime: Date

  init(of stored: StoredResponse) {
    control = CacheControl(stored.head.fields)
    responseTime = stored.responseTime
    date = Freshness.date(of: stored.head, receivedAt: responseTime)
    lifetime =
      Freshness.explicitLifetime(of: stored.head, control, receivedAt: responseTime)
      ?? Freshness.heuristicLifetime(of: stored.head, control, receivedAt: responseTime) ?? 0
    initialAge = Freshness.initialAge(of: stored, date: date)
  }
}
