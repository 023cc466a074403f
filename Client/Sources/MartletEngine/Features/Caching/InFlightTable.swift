import MartletSemantics
import Synchronization

/// The requests of a cache that are in progress, by their keys.
///
/// One of several identical requests is sent, and the others wait for its response (RFC 9111 §4, "collapsed").
/// ``RequestIdentity`` defines which requests are identical; `Vary` is applied when the response is stored. Keys whose
/// responses cannot be stored are remembered, because waiting for them is useless.
final class InFlightTable: Sendable {
  /// The registration of a request.
  struct Registration: Sendable {
    fileprivate let id: UInt64
  }

  enum Admission: Sendable {
    /// The request has to be sent, and identical ones wait for it.
    case joinable(Registration)
    /// The request has to be sent, and so have identical ones.
    case alone(Registration)
    /// An identical request is in progress.
    case joined(RunningWork<CacheTransaction.Ending>)
  }

  /// A request that identical ones can wait for.
  private struct SentRequest {
    let call: Call
    /// nil while no other request waits.
    var result: RunningWork<CacheTransaction.Ending>?
  }

  private struct State {
    /// The number of the last registration or removal.
    var lastID: UInt64 = 0
    var removals = Removals()
    var sent: [RequestIdentity: SentRequest] = [:]
    var unstorable = LRUStorage<CacheKey, Void>(countLimit: 1000)

    mutating func register() -> Registration {
      lastID += 1
      return Registration(id: lastID)
    }
  }

  private let state = Mutex(State())
  private let stored = Atomic(0)

  /// How many stored responses other requests could have waited for.
  var storedCount: Int { stored.load(ordering: .acquiring) }

  /// Whether the responses of a key cannot be stored, so that waiting for one is useless.
  func isUnstorable(_ key: CacheKey) -> Bool {
    state.withLock { !$0.unstorable.isEmpty && $0.unstorable.contains(key) }
  }

  /// Registers a request that no other can wait for.
  func register() -> Registration { state.withLock { $0.register() } }

  /// Registers a request that identical ones can wait for, unless one is in progress.
  func register(_ identity: RequestIdentity, for call: Call) -> Admission {
    state.withLock { state in
      guard !state.unstorable.contains(identity.key) else { return .alone(state.register()) }
      guard let sent = state.sent[identity] else {
        state.sent[identity] = SentRequest(call: call)
        return .joinable(state.register())
      }
      let result = sent.result ?? RunningWork(by: sent.call)
      state.sent[identity]?.result = result
      return .joined(result)
    }
  }

  /// Whether no removal from the cache has included the response of a request since it was registered.
  func isValid(_ registration: Registration, of key: CacheKey) -> Bool {
    state.withLock { !$0.removals.include(registration.id, of: key) }
  }

  /// Removes a registration and ends the waits for its request.
  ///
  /// - Parameter identity: what the waiting requests have in common with it; nil if none can wait.
  func remove(
    _ registration: Registration, joinedAs identity: RequestIdentity?, of key: CacheKey,
    _ ending: CacheTransaction.Ending
  ) {
    let sent = state.withLock { state in
      state.removals.end(registration.id)
      switch ending {
      case .unstorable where identity != nil:
        state.unstorable.set((), for: key)
      case .unstorable, .stored, .unshared, .abandoned: break
      }
      guard let identity else { return nil as SentRequest? }
      if ending == .stored { stored.add(1, ordering: .releasing) }
      return state.sent.removeValue(forKey: identity)
    }
    sent?.result?.finish(.success(ending))
  }

  /// Notes that a response to a key is being stored.
  func removeUnstorable(_ key: CacheKey) {
    state.withLock { if !$0.unstorable.isEmpty { $0.unstorable.remove(key) } }
  }

  /// Ends the waits for a request, whose registration remains.
  func releaseJoined(of identity: RequestIdentity) {
    state.withLock { $0.sent.removeValue(forKey: identity) }?.result?.finish(.success(.unshared))
  }

  /// Prevents responses that a removal covers from being stored when they arrive later.
  func invalidate(_ selection: CacheSelection) {
    state.withLock { state in
      state.lastID += 1
      state.removals.add(selection, at: state.lastID)
    }
  }

  /// Prevents them like ``invalidate(_:)``, except the response of the request that causes the removal.
  func invalidate(_ selection: CacheSelection, by own: Registration?, of key: CacheKey) {
    state.withLock { state in
      let isValid = own.map { !state.removals.include($0.id, of: key) } ?? false
      state.lastID += 1
      state.removals.add(selection, at: state.lastID)
      if let own, isValid { state.removals.exempt(own.id) }
    }
  }
}

/// The last removals from a cache. They have numbers, in one sequence with those of requests: a removal includes the
/// responses of the requests with lower numbers.
///
/// A removal must not look at all requests in progress, and most requests see none. So the removals are kept, a
/// thousand of each kind. Those that are forgotten count for every response: it is not stored then.
private struct Removals: Sendable {
  /// The last removal of everything, or the last one that was forgotten.
  private var ofAll: UInt64 = 0
  private var last: UInt64 = 0
  private var keys = LRUStorage<CacheKey, UInt64>(countLimit: 1000)
  private var urls = LRUStorage<String, UInt64>(countLimit: 1000)
  private var partitions = LRUStorage<String, UInt64>(countLimit: 1000)
  /// The requests that have caused removals, each with its last one: it does not include their own responses.
  private var causes: [UInt64: UInt64] = [:]

  mutating func add(_ selection: CacheSelection, at number: UInt64) {
    let forgotten: [UInt64]
    switch selection {
    case .entry, .olderThan: return
    case .all: forgotten = [number]
    case .key(let key): forgotten = keys.set(number, for: key)
    case .url(let url): forgotten = urls.set(number, for: url)
    case .partition(let partition): forgotten = partitions.set(number, for: partition)
    }
    last = number
    for number in forgotten { ofAll = max(ofAll, number) }
  }

  /// Whether one of them has included the response of a request.
  func include(_ request: UInt64, of key: CacheKey) -> Bool {
    guard last > request else { return false }
    var latest = max(ofAll, max(number(of: key), partitions.value(for: key.partition) ?? 0))
    if key.content != nil { latest = max(latest, number(of: key.target)) }
    return latest > causes[request] ?? request
  }

  /// The number of the last removal of a key or its URL.
  private func number(of key: CacheKey) -> UInt64 { max(keys.value(for: key) ?? 0, urls.value(for: key.url) ?? 0) }

  /// Notes that a request has caused the last removal.
  mutating func exempt(_ request: UInt64) { causes[request] = last }

  /// Forgets a request that has ended.
  mutating func end(_ request: UInt64) { if !causes.isEmpty { causes[request] = nil } }
}
