@_spi(Toolkit) import MartletSemantics

/// Limits how many requests an origin gets per period, by the generic cell rate algorithm, and obeys the limits that
/// servers announce.
///
/// ```swift
/// configuration.limits.rate = RateLimit(100, per: .seconds(1), burst: 20)
/// configuration.limits.rate = .ofServers      // only the limits of servers
/// ```
///
/// A request above the rate waits for its time. If that is longer than ``waitLimit``, or than the rest of the call's
/// deadline, it fails at once with ``HTTPError/Kind/rateLimited``, and nothing was sent. A request that is cancelled or
/// refused before it has a connection gives its place back: later requests wait as if it had never existed.
///
/// A response may request a pause, for which later requests to the origin wait:
///
/// | fields | the pause |
/// |---|---|
/// | `Retry-After` of a 403, 429 or 503 (RFC 9110 §10.2.3) | seconds, a fraction rounded up; or until a date |
/// | `RateLimit` without a rest (draft-ietf-httpapi-ratelimit-headers) | its `t`, or the `reset` of an earlier draft |
/// | `RateLimit-Remaining: 0`, or `X-RateLimit-…`, `X-Rate-Limit-…` | `…-Reset`: seconds, or the seconds since 1970 |
///
/// The longest pause counts. The response itself is not changed, and does not wait for a shared ``store``. Whether its
/// request is sent again is up to the ``RetryPolicy``.
public struct RateLimit: Sendable {
  /// The maximum number of requests to one origin in the period ``per``, in the long run; nil for no limit of your own.
  public var requests: Int?
  /// The period of ``requests``.
  public var per: Duration
  /// The maximum number of requests that are sent at once; at least 1.
  public var burst: Int
  /// The maximum time a request waits; 10 seconds by default.
  public var waitLimit = Duration.seconds(10)
  /// Whether announced limits of servers are obeyed; true by default.
  public var obeysServers = true
  /// The maximum pause that a server may ask for; longer ones are shortened to it. An hour by default.
  public var pauseLimit = Duration.seconds(3600)
  /// The store of the state; nil, the default, for the session's own memory. Processes that share a store share the
  /// limit.
  public var store: (any RateLimitStore)?

  /// Makes a limit.
  ///
  /// - Parameters:
  ///   - requests: the maximum number of requests to one origin; at least 1.
  ///   - per: the period of `requests`.
  ///   - burst: the maximum number of requests at once; as many as `requests` by default.
  public init(_ requests: Int, per: Duration, burst: Int? = nil) {
    self.requests = max(1, requests)
    self.per = per
    self.burst = burst ?? requests
  }

  /// Only the limits that servers announce.
  public static let ofServers: RateLimit = {
    var limit = RateLimit(1, per: .zero)
    limit.requests = nil
    return limit
  }()

  /// The time between two requests in the long run.
  fileprivate var interval: Duration { requests.map { max(.zero, per) / max(1, $0) } ?? .zero }
}

extension HTTPError {
  /// Whether a request failed before it had a connection, because of another limit or its caller.
  fileprivate var isBeforeConnecting: Bool { phase == .preparing || phase == .queued }
}

/// Delays requests, or refuses them.
struct RateTransport: TransportLayer {
  let base: any Transport
  private let limit: RateLimit
  /// Replaces a shared store that fails.
  private let local: MemoryRateLimitStore
  private let queue: RateQueue
  private let now: @Sendable () -> Date

  init(base: any Transport, _ limit: RateLimit, clock: any Clock<Duration>, now: @escaping @Sendable () -> Date) {
    self.base = base
    self.limit = limit
    self.now = now
    local = MemoryRateLimitStore(clock: clock)
    queue = RateQueue(clock)
  }

  func send(_ request: HTTPRequest, in call: Call) async throws -> HTTPResponse {
    guard let origin = request.origin else { return try await base.send(request, in: call) }
    let reserved: ReservedPlace?
    do { reserved = try await wait(for: origin, in: call) } catch { throw HTTPError(beforeSending: error) }
    let response: HTTPResponse
    do { response = try await base.send(request, in: call) } catch {
      if let reserved, HTTPError(wrapping: error).isBeforeConnecting { giveBack(reserved) }
      throw error
    }
    if limit.obeysServers, let asked = RateLimitFields.pause(after: response.head, now: now()), asked > .zero {
      let pause = min(asked, limit.pauseLimit)
      call.emit(.limit(.paused(origin, for: pause)))
      self.pause(origin, for: pause, in: call)
    }
    return response
  }

  /// Notes a pause. A shared store does so in a task: the response must not be lost if it is slow.
  private func pause(_ origin: Origin, for time: Duration, in call: Call) {
    let (change, name) = (RateLimitChange.pause(time), origin.description)
    // Also with a shared store: if it fails, this process still knows the pause.
    _ = local.decision(on: change, for: name)
    guard let store = limit.store else { return }
    Task {
      do { _ = try await store.apply(change, to: name) } catch { report(error, to: origin, in: call) }
    }
  }

  /// The place of a request that may be sent. It is a class, because every waiting call would keep a copy.
  private final class ReservedPlace: Sendable {
    let place: RateLimitPlace
    let origin: Origin
    let isShared: Bool

    init(_ place: RateLimitPlace, to origin: Origin, isShared: Bool) {
      (self.place, self.origin, self.isShared) = (place, origin, isShared)
    }
  }

  /// Returns the place, if the store has named one.
  private func wait(for origin: Origin, in call: Call) async throws -> ReservedPlace? {
    let longest = min(limit.waitLimit, call.remainingTime ?? limit.waitLimit)
    let take = RateLimitChange.take(interval: limit.interval, burst: limit.burst, wait: longest)
    let (decision, isShared) = try await apply(take, to: origin, in: call)
    switch decision {
    case .allowed(let delay, _, let place):
      let reserved = place.map { ReservedPlace($0, to: origin, isShared: isShared) }
      guard delay > .zero else {
        guard Task.isCancelled, let reserved else { return reserved }
        giveBack(reserved)
        throw CancellationError()
      }
      call.emit(.limit(.throttled(origin, for: delay)))
      let name = RateQueue.Name(origin: origin, isShared: isShared)
      let kept = try await queue.wait(delay, at: place, in: name, of: call) {
        giveBack(ReservedPlace($0, to: origin, isShared: isShared))
      }
      return kept.map { ReservedPlace($0, to: origin, isShared: isShared) }
    case .refused(let delay):
      throw HTTPError(
        .rateLimited,
        "\(origin): the rate limit allows the next request in \(Quantity.text(delay)), and a request may wait at most "
          + "\(Quantity.text(longest)): send fewer, or raise limits.rate or the deadline", phase: .preparing)
    }
  }

  private func giveBack(_ reserved: ReservedPlace) {
    let (change, name) = (RateLimitChange.giveBack(reserved.place), reserved.origin.description)
    guard reserved.isShared, let store = limit.store else { return _ = local.decision(on: change, for: name) }
    // The request's task may be cancelled. If the store does not take the place back, it expires with its time.
    Task { _ = try? await store.apply(change, to: name) }
  }

  /// Returns the limit's decision, and whether the shared store made it.
  private func apply(
    _ change: RateLimitChange, to origin: Origin, in call: Call
  ) async throws -> (RateLimitDecision, isShared: Bool) {
    let name = origin.description
    guard let store = limit.store else { return (local.decision(on: change, for: name), false) }
    do { return (try await ask(store, change, name, in: call), true) } catch {
      try Task.checkCancellation()
      try call.activeDeadline?.check()
      report(error, to: origin, in: call)
      return (local.decision(on: change, for: name), false)
    }
  }

  /// Reports that the shared store failed.
  private func report(_ error: any Error, to origin: Origin, in call: Call) {
    let reason = (error as? HTTPError)?.message ?? "\(type(of: error))"
    call.emit(.note("\(origin): the store of the rate limit failed, and this process limits alone: \(reason)"))
  }

  /// Asks a shared store in a separate task. If the request is cancelled in the meantime, the store's answer is still
  /// received, so that the place can be returned.
  private func ask(
    _ store: any RateLimitStore, _ change: RateLimitChange, _ name: String, in call: Call
  ) async throws -> RateLimitDecision {
    let answer = OneShot<RateLimitDecision>()
    Task {
      do {
        let decision = try await store.apply(change, to: name)
        guard !answer.answer(.success(decision)), case .allowed(_, _, let place?) = decision else { return }
        _ = try await store.apply(.giveBack(place), to: name)
      } catch { answer.answer(.failure(error)) }
    }
    return try await call.wait(for: answer)
  }
}
