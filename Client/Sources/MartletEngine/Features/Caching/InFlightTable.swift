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
    var lastID: UInt64 = 0
    var keys: [UInt64: CacheKey] = [:]
    var sent: [RequestIdentity: SentRequest] = [:]
    var unstorable = LRUStorage<CacheKey, Void>(countLimit: 1000)

    mutating func register(_ key: CacheKey) -> Registration {
      lastID += 1
      keys[lastID] = key
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
  func register(_ key: CacheKey) -> Registration { state.withLock { $0.register(key) } }

  /// Registers a request that identical ones can wait for, unless one is in progress.
  func register(_ identity: RequestIdentity, for call: Call) -> Admission {
    state.withLock { state in
      guard !state.unstorable.contains(identity.key) else { return .alone(state.register(identity.key)) }
      guard let sent = state.sent[identity] else {
        state.sent[identity] = SentRequest(call: call)
        return .joinable(state.register(identity.key))
      }
      let result = sent.result ?? RunningWork(by: sent.call)
      state.sent[identity]?.result = result
      return .joined(result)
    }
  }

  /// Whether a request is registered and no removal from the cache has included its response.
  func contains(_ registration: Registration) -> Bool { state.withLock { $0.keys[registration.id] != nil } }

  /// Removes a registration and ends the waits for its request.
  ///
  /// - Parameter identity: what the waiting requests have in common with it; nil if none can wait.
  func remove(
    _ registration: Registration, joinedAs identity: RequestIdentity?, of key: CacheKey,
    _ ending: CacheTransaction.Ending
  ) {
    let sent = state.withLock { state in
      state.keys[registration.id] = nil
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
  ///
  /// - Parameter own: the registration of the request that causes the removal.
  func invalidate(_ selection: CacheSelection, except own: Registration? = nil) {
    state.withLock { state in
      let key = own.flatMap { state.keys[$0.id] }
      defer { if let own { state.keys[own.id] = key } }
      switch selection {
      case .entry, .olderThan: break
      case .all: state.keys = [:]
      case .key(let removed): state.keys = state.keys.filter { $0.value != removed }
      case .url(let url): state.keys = state.keys.filter { $0.value.url != url }
      case .partition(let partition): state.keys = state.keys.filter { $0.value.partition != partition }
      }
    }
  }
}
