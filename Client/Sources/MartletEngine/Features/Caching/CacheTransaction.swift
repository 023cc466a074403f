import MartletSemantics
import Synchronization

/// A request from its lookup in the cache until its response is stored, or known not to be stored.
///
/// | state | begins with | identical requests | a removal from the cache |
/// | --- | --- | --- | --- |
/// | new | `init` | do not see it | does not concern it |
/// | joinable | ``joinOrRegister(since:)``, if it is shareable | wait for it | removes stored responses, and keeps its own from being stored |
/// | alone | ``joinOrRegister(since:)``, ``register()``, ``releaseJoined(_:)`` | are sent | removes stored responses, and keeps its own from being stored |
/// | finished | ``finish(_:)`` | continue as the ``Ending`` says | does not concern it |
///
/// A new request may itself ``wait(for:on:)`` for an identical one. One that is deallocated without an ending is
/// abandoned.
final class CacheTransaction: Sendable {
  /// How a request ends, for the identical ones that wait for it.
  enum Ending: Sendable {
    /// The response is stored: the waiting requests look it up.
    case stored
    /// The response is not stored: each waiting request is sent.
    case unshared
    /// The rules forbid storing the response: each waiting request is sent, and later ones do not wait.
    case unstorable
    /// No complete response was received: one of the waiting requests is sent, and the others wait for it.
    case abandoned
  }

  /// Why no stored response can answer a request.
  enum Uncacheable: Sendable, Hashable {
    /// Its `Host` is not that of its URL, which the key contains.
    case foreignHost
    /// Its method is neither GET, HEAD nor QUERY.
    case method
    /// It is a QUERY, whose content has to be read before its key is known.
    case unreadQuery
    /// It is a QUERY, and its content cannot be part of a key.
    case query(QueryContent.Refusal)
    /// It has a body, which the key does not contain.
    case body
    /// It asks for another protocol: such a connection belongs to one caller.
    case upgrade
  }

  let request: HTTPRequest
  let key: CacheKey
  let call: Call
  let cache: HTTPCache
  /// Why no stored response can answer the request; nil if one can.
  let uncacheable: Uncacheable?
  private let mayBeJoined: Bool
  private let state = Mutex(State())

  private struct State {
    var stage = Stage.new(mayJoin: true)
    var lease = LeaseProgress()
  }

  /// The states of the table above.
  private enum Stage {
    /// It may join an identical request, or has to be sent even if there is one.
    case new(mayJoin: Bool)
    case joinable(InFlightTable.Registration, RequestIdentity)
    case alone(InFlightTable.Registration)
    case finished

    var registration: InFlightTable.Registration? {
      switch self {
      case .new, .finished: nil
      case .joinable(let registration, _), .alone(let registration): registration
      }
    }

    /// What identical requests have in common with it; nil if none can wait for it.
    var identity: RequestIdentity? {
      if case .joinable(_, let identity) = self { identity } else { nil }
    }
  }

  init(_ request: HTTPRequest, in call: Call, of cache: HTTPCache) {
    self.request = request
    self.call = call
    self.cache = cache
    key = request.cacheKey(in: request.options.partition)
    uncacheable = Self.uncacheable(request)
    mayBeJoined = Self.mayBeJoined(request, in: call)
  }

  /// Makes the transaction of a QUERY.
  ///
  /// - Parameter key: its key; nil if its content cannot be part of one.
  init(
    _ request: HTTPRequest, key: Result<CacheKey, QueryContent.Refusal>, in call: Call, of cache: HTTPCache
  ) {
    self.request = request
    self.call = call
    self.cache = cache
    switch key {
    case .success(let key):
      (self.key, uncacheable) = (key, nil)
      mayBeJoined = Self.mayWait(request, in: call) && SharingRule.allows(request.method, request.fields)
    case .failure(let refusal):
      (self.key, uncacheable) = (request.cacheKey(in: request.options.partition), .query(refusal))
      mayBeJoined = false
    }
  }

  /// Makes the transaction of the same request in another call.
  private init(_ original: CacheTransaction, in call: Call) {
    (request, key, cache) = (original.request, original.key, original.cache)
    (uncacheable, mayBeJoined) = (original.uncacheable, original.mayBeJoined)
    self.call = call
  }

  /// Returns a transaction that sends the same request in another call.
  func again(in call: Call) -> CacheTransaction { CacheTransaction(self, in: call) }

  deinit { finish(.abandoned) }

  /// Changes the cache's statistics. A validation in the background does not count as a request.
  func count(_ change: (inout HTTPCache.Statistics) -> Void) { if !call.use.onlyRenewsCache { cache.count(change) } }

  var policy: CachePolicy { request.options.cachePolicy }

  private static func uncacheable(_ request: HTTPRequest) -> Uncacheable? {
    if CacheKey.isForeignHost(in: request.head) { return .foreignHost }
    guard request.method == .get || request.method == .head else { return uncacheable(request.method, request) }
    guard request.body.isEmpty else { return .body }
    return request.fields.contains(.upgrade) ? .upgrade : nil
  }

  private static func uncacheable(_ method: HTTPMethod, _ request: HTTPRequest) -> Uncacheable {
    guard method == .query else { return .method }
    return request.fields.contains(.upgrade) ? .upgrade : .unreadQuery
  }

  /// Whether the request lacks credentials that it should have, and no partition identifies the user. Only a response
  /// that is the same for all users can answer it.
  var lacksCredentials: Bool { call.missingCredentials != nil && key.partition.isEmpty }

  /// Whether identical requests may use the response: not if the request must be sent itself, or lacks credentials.
  private static func mayBeJoined(_ request: HTTPRequest, in call: Call) -> Bool {
    mayWait(request, in: call) && RequestIdentity.allowsSharing(of: request)
  }

  private static func mayWait(_ request: HTTPRequest, in call: Call) -> Bool {
    switch request.options.cachePolicy {
    case .reloadIgnoringCacheData, .reloadRevalidatingCacheData: false
    default: call.missingCredentials == nil
    }
  }

  /// Whether the request's options allow a response to be stored. A decision about complete responses is not applied to
  /// a part.
  func mayStore(_ response: HTTPResponse) -> Bool {
    call.use.storesResponse && (response.status != .partialContent || request.options.storageDecision == nil)
  }

  /// The maximum number of bytes of a body that the request's reader accepts: a longer one is abandoned and not stored.
  var bodyLimit: Int64 {
    min(request.options.bodyLimit ?? .max, call.use.collectsBody ? Int64(request.options.collectLimit) : .max)
  }

  /// Decides how to answer the request.
  func plan(among entries: [CacheEntry]) -> CachePlan {
    CachePlan.make(
      for: request.head, policy: policy, stored: entries.map { StoredCandidate($0.response, length: $0.length ?? 0) },
      in: key.partition, at: cache.now())
  }

  /// Decides what to do with a response.
  ///
  /// - Parameters:
  ///   - sent: the request as it was sent.
  ///   - requestTime: when it was sent.
  func update(after response: HTTPResponse, to sent: OriginRequest, sentAt requestTime: Date) -> CacheUpdate {
    var context = CacheUpdate.Context(
      request: request.head, sent: sent.head, policy: uncacheable == nil ? policy : .useProtocolCachePolicy,
      partition: key.partition, requestTime: requestTime)
    switch sent.basis {
    case .nothing: break
    case .validating(let entry, _):
      context.stored = entry.response
      context.storedLength = entry.length ?? 0
    case .offering(let entries): context.candidates = entries.map(\.response)
    case .joining(let entry): context.part = entry.response
    }
    return CacheUpdate.of(response.head, to: context, at: cache.now(), isDecoded: response.isDecoded)
  }

  /// Returns how the stored response may be used instead of the error; nil if it may not, or if the request is sent
  /// again.
  func staleUse(of entry: CacheEntry, after error: HTTPError) -> StaleFallback.Use? {
    let now = cache.now()
    guard error.isUnreachable, !RetryInterceptor.replaces(request, after: error, in: call, at: now) else { return nil }
    return StaleFallback.use(of: entry.response, for: request.head, policy: policy, after: .unreachable, at: now)
  }

  // MARK: - Other requests

  /// The next step after no stored response could answer a request.
  enum Start {
    /// The request is registered and has to be sent.
    case started
    /// A response may have been stored since the lookup: look again.
    case outdated
    /// An identical request is in progress: wait for it, and look again.
    case joined(RunningWork<Ending>)
  }

  /// Registers the request before it is sent, unless an identical request is in progress.
  ///
  /// - Parameter storedCount: ``InFlightTable/storedCount`` before the lookup.
  func joinOrRegister(since storedCount: Int) -> Start {
    guard case .new(let mayJoin) = state.withLock({ $0.stage }) else { return .started }
    guard mayBeJoined, mayJoin, !cache.inFlight.isUnstorable(key) else {
      register()
      return .started
    }
    let identity = RequestIdentity(key, request.fields)
    switch cache.inFlight.register(identity, for: call) {
    case .alone(let registration):
      state.withLock { $0.stage = .alone(registration) }
      return .started
    case .joinable(let registration):
      state.withLock { $0.stage = .joinable(registration, identity) }
      return cache.inFlight.storedCount == storedCount ? .started : .outdated
    case .joined(let result):
      count { $0.collapsed += 1 }
      call.emit(.note("waiting for the response to an identical request"))
      return .joined(result)
    }
  }

  /// Waits for an identical request, no longer than for a response.
  ///
  /// - Parameter clock: measures the time of the wait.
  /// - Throws: `CancellationError` if the task is cancelled while it waits.
  func wait(for result: RunningWork<Ending>, on clock: any Clock<Duration>) async throws {
    // No ending: the identical request waits for this call, or the time is up.
    let limit = request.options.responseTimeout.map { WaitLimit($0, on: clock) }
    let ending = try await call.withinDeadline { [call] in try await result.result(in: call.context, within: limit) }
    if ending != .abandoned { state.withLock { $0.stage = .new(mayJoin: false) } }
  }

  /// Registers the request even if there are identical ones, unless it is already registered.
  func register() {
    guard case .new = state.withLock({ $0.stage }) else { return }
    let registration = cache.inFlight.register()
    state.withLock { $0.stage = .alone(registration) }
  }

  /// nil before the start and after the end.
  var registration: InFlightTable.Registration? { state.withLock { $0.stage.registration } }

  /// Whether the response may still be stored: no removal since the request was registered has included it.
  var isRegistered: Bool { registration.map { cache.inFlight.isValid($0, of: key) } ?? false }

  var isFinished: Bool {
    state.withLock { state in
      if case .finished = state.stage { true } else { false }
    }
  }

  /// Releases the identical requests that wait, so that they are sent before this one finishes. If none can wait for
  /// it, as in a background validation, it keeps its lease.
  ///
  /// - Parameter outcome: the outcome for other processes.
  func releaseJoined(_ outcome: FleetOutcome) {
    let released = state.withLock { state -> (identity: RequestIdentity, lease: (any FleetLease)?)? in
      guard case .joinable(let registration, let identity) = state.stage else { return nil }
      state.stage = .alone(registration)
      return (identity, state.lease.held.take())
    }
    guard let released else { return }
    released.lease?.end(outcome)
    cache.inFlight.releaseJoined(of: released.identity)
  }

  /// Finishes the request; only the first ending counts.
  func finish(_ ending: Ending) { finish(ending, for: FleetOutcome(ending)) }

  /// Finishes a request whose response is not stored. After a refusal or a temporary error, another process may
  /// succeed.
  func finish(_ ending: Ending, afterStatus status: HTTPStatus) {
    finish(ending, for: FleetOutcome(ending, after: status))
  }

  private func finish(_ ending: Ending, for others: FleetOutcome) {
    let (stage, lease) = state.withLock { state in
      defer { state.stage = .finished }
      return (state.stage, state.lease.held.take())
    }
    lease?.end(others)
    guard let registration = stage.registration else { return }
    let ending = ending == .unstorable && !mayBeJoined ? .unshared : ending
    cache.inFlight.remove(registration, joinedAs: stage.identity, of: key, ending)
  }

  /// Finishes a request that failed. If its caller abandoned it, or a pooled connection was closed and it is sent
  /// again, one of the waiting requests is sent in its place.
  func fail(with error: HTTPError) {
    finish(error.isCancellationOrDeadline || error.delivery == .staleConnection ? .abandoned : .unshared, for: .failed)
  }

  // MARK: - Other processes

  /// Whether to ask the other processes that share the store before the request is sent. Only a request that identical
  /// ones can wait for asks, and only until it is settled whether this process sends it.
  var asksFleet: Bool {
    cache.fleet != nil && state.withLock { !$0.lease.isDecided && $0.stage.identity != nil }
  }

  /// Asks the other processes that share the store, and waits a moment if one of them is sending an identical request.
  ///
  /// - Returns: false if the request has to be sent.
  /// - Throws: `CancellationError` if the task is cancelled.
  func shouldLookUpAgain(on clock: any Clock<Duration>) async throws -> Bool {
    switch try await askFleet() {
    // With the lease, look once more: another process may have stored the response meanwhile.
    case .send, nil: return state.withLock { $0.lease.held != nil }
    case .wait(let longest):
      let pause = state.withLock { $0.lease.nextPause(longest, on: clock) }
      guard let pause else { return false }
      try await call.withinDeadline { try await clock.sleep(for: pause) }
      return true
    }
  }

  /// Whether to validate the entry in the background: not if another process is doing so, or has done so.
  func mayRevalidate(_ entry: CacheEntry) async -> Bool {
    guard cache.fleet != nil else { return true }
    switch try? await askFleet() {
    case .wait: return false
    case .send:
      let known = await cache.attempt(in: call) { try await cache.store.entries(for: key) } ?? []
      return known.first { $0.id == entry.id } == entry
    case nil: return true
    }
  }

  /// Asks whether this process has to send the request; nil if that is unknown. A lease ends when the request finishes.
  private func askFleet() async throws -> FleetAnswer? {
    guard let fleet = cache.fleet else { return nil }
    let name = RequestIdentity(key, request.fields).fingerprint
    let answer = try await call.withinDeadline { [cache, call] in
      await cache.attempt(in: call) { try await fleet.requestLease(for: name) }
    }
    guard case .send(let lease) = answer else {
      try Task.checkCancellation()
      if answer == nil { state.withLock { $0.lease.isDecided = true } }
      return answer
    }
    let isHeld = state.withLock { state in
      state.lease.isDecided = true
      if case .finished = state.stage { return false }
      state.lease.held = lease
      return true
    }
    if !isHeld { lease.end(.failed) }
    try Task.checkCancellation()  // only now: `finish` ends the lease
    return answer
  }
}

/// The progress of a request that asks other processes.
private struct LeaseProgress: Sendable {
  /// The right to send the request, while the process has it.
  var held: (any FleetLease)?
  /// Whether it is settled that the request has to be sent, unless a stored response answers it.
  var isDecided = false
  private var stopwatch: Stopwatch?
  private var pause = Duration.milliseconds(2)

  /// Returns how long to wait until the next look: a short time at first, since most responses arrive soon. nil if the
  /// request has waited long enough.
  mutating func nextPause(_ longest: Duration, on clock: any Clock<Duration>) -> Duration? {
    let stopwatch = stopwatch ?? Stopwatch(clock)
    self.stopwatch = stopwatch
    let rest = longest - stopwatch.elapsed
    guard rest > .zero else {
      isDecided = true
      return nil
    }
    defer { pause = min(pause * 2, .milliseconds(50)) }
    return min(pause, rest)
  }
}
