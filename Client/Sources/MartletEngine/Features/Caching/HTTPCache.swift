@_spi(Toolkit) public import MartletSemantics
import Synchronization

/// A private HTTP cache (RFC 9111, RFC 5861, RFC 8246): stores responses and answers later requests with them as long
/// as their origin allows.
///
/// ```swift
/// var configuration = SessionConfiguration()
/// configuration.cache = HTTPCache(store: MemoryCacheStore(capacity: 64 << 20))
/// …
/// let (data, response) = try await session.data(for: request)
/// response.source                // .network, and the next time .cache
/// try await cache.removeAll()    // when the user signs out
/// ```
///
/// The responses to one user must not be used for another: set a partition for each user
/// (``RequestOptions/partition``). Without one, a response to a request with `Authorization` is used only for requests
/// with the same value, unless the response is `public`. Requests whose `Host` differs from their URL bypass the cache.
///
/// Bodies are stored as the transport returns them, with their content codings decoded. Validators still match, because
/// a validating request accepts the same codings as the original one. Parts of such bodies (`Range`) are always
/// requested from the origin; other stored bodies answer requests for one range. A part (206) is stored if it has a
/// strong validator. Later parts that touch it are added, and a request for the whole completes it.
///
/// Simultaneous identical requests are sent once. A failing store does not fail a request: it is treated as empty. A
/// store that takes longer than a second to complete a response does so after the caller has it.
public final class HTTPCache: Sendable {
  /// Where the responses are stored.
  public let store: any CacheStore
  /// The store if it can answer immediately.
  let immediate: (any ImmediateCacheStore)?
  /// The store if processes share requests through it.
  let fleet: (any FleetStore)?
  let now: @Sendable () -> Date
  let inFlight = InFlightTable()
  private let counts = Mutex(HTTPCache.Statistics())
  private let revalidating = Mutex<Set<CacheEntry.ID>>([])

  /// Makes a cache.
  ///
  /// - Parameters:
  ///   - store: where the responses are stored; by default in memory, 32 MiB at most.
  ///   - now: returns the current time; for tests.
  public init(store: any CacheStore = MemoryCacheStore(), now: @escaping @Sendable () -> Date = { Date() }) {
    self.store = store
    immediate = store as? any ImmediateCacheStore
    fleet = store as? any FleetStore
    self.now = now
  }

  /// The counts of requests and responses since the cache was created.
  public var statistics: HTTPCache.Statistics { counts.withLock { $0 } }

  /// Returns how much is stored. Throws the store's errors.
  public func usage() async throws -> HTTPCache.Usage { try await store.usage() }

  /// Removes all responses. Responses that are being received are not stored either. Throws the store's errors.
  public func removeAll() async throws { try await remove(.all) }

  /// Removes the responses of a URL, in all partitions. Throws the store's errors.
  public func remove(_ url: URL) async throws { try await remove(.url(CacheKey(url).url)) }

  /// Removes all responses of a partition, for example when its user signs out. Throws the store's errors.
  public func removePartition(_ partition: String) async throws { try await remove(.partition(partition)) }

  /// Removes the responses that were received or last validated longer ago than `age`. Throws the store's errors.
  public func remove(olderThan age: Duration) async throws {
    try await remove(.olderThan(now().addingTimeInterval(-age.inMilliseconds / 1000)))
  }

  /// Removes entries. Throws the store's errors.
  public func remove(_ selection: CacheSelection) async throws {
    inFlight.invalidate(selection)
    try await store.remove(selection)
  }
}

extension HTTPCache {
  /// Removes entries, and blocks until the store has removed them; false if the store cannot do that. Throws the
  /// store's errors.
  @_spi(Stores) public func blockingRemove(_ selection: CacheSelection) throws -> Bool {
    guard let immediate else { return false }
    inFlight.invalidate(selection)
    try immediate.blockingRemove(selection)
    return true
  }
}

// The store operations that requests use. A failure of the store does not fail the request: it is counted and noted.
extension HTTPCache {
  static let variantLimit = 32

  /// Performs an operation of the store. If it throws, the result is nil, and the failure is counted and noted, unless
  /// the store does not accept an entry.
  @discardableResult
  func attempt<Value: Sendable>(in call: Call, _ work: () async throws -> Value?) async -> Value? {
    do { return try await work() } catch is CacheEntry.Refusal { return nil } catch {
      guard !Task.isCancelled else { return nil }  // The store has not failed: its caller was cancelled.
      count { $0.storeFailures += 1 }
      call.emit(.note("the store of the cache failed, and the call continues without it: \(error)"))
      return nil
    }
  }

  /// Returns the entries of the request's key that it may use.
  func entries(for transaction: CacheTransaction) async -> [CacheEntry] {
    let entries = await attempt(in: transaction.call) { try await store.entries(for: transaction.key) } ?? []
    return usable(entries, for: transaction)
  }

  /// Returns the same entries without suspending; nil if the store cannot do that.
  func immediateEntries(for transaction: CacheTransaction) -> [CacheEntry]? {
    immediate?.immediateEntries(for: transaction.key).map { usable($0, for: transaction) }
  }

  private func usable(_ entries: [CacheEntry], for transaction: CacheTransaction) -> [CacheEntry] {
    guard !entries.isEmpty, transaction.lacksCredentials else { return entries }
    return entries.filter(\.response.isForAllUsers)
  }

  /// Replaces the stored head of an entry, and returns the entry.
  @discardableResult
  func update(_ entry: CacheEntry, to response: StoredResponse, for transaction: CacheTransaction) async -> CacheEntry {
    var updated = entry
    updated.response = response
    await attempt(in: transaction.call) { [updated] in try await store.update(updated) }
    return updated
  }

  /// Removes entries because of a request, whose own response may still be stored.
  func remove(_ selection: CacheSelection, for transaction: CacheTransaction) async {
    inFlight.invalidate(selection, by: transaction.registration, of: transaction.key)
    await attempt(in: transaction.call) { try await store.remove(selection) }
  }

  /// Removes the oldest variant if there are ``variantLimit`` or more. If a response varies by a field whose values
  /// never repeat, such as a cookie, each lookup would otherwise take longer than the last.
  func removeOldest(of entries: [CacheEntry], for transaction: CacheTransaction) async {
    guard entries.count >= Self.variantLimit,
      let oldest = entries.min(by: { $0.response.responseTime < $1.response.responseTime })
    else { return }
    await remove(.entry(oldest.id), for: transaction)
  }

  func count(_ change: (inout HTTPCache.Statistics) -> Void) { counts.withLock { change(&$0) } }

  /// Returns whether the entry may be validated in the background: false while a validation is in progress.
  func beginRevalidation(of id: CacheEntry.ID) -> Bool { revalidating.withLock { $0.insert(id).inserted } }

  func endRevalidation(of id: CacheEntry.ID) { _ = revalidating.withLock { $0.remove(id) } }
}

extension StoredResponse {
  /// Whether the response is the same with and without credentials.
  fileprivate var isForAllUsers: Bool {
    CacheControl(head.fields).contains("public")
      && !head.fields.list(.vary).contains { ASCII.equalIgnoringCase($0, "Authorization") }
  }
}

extension HTTPCache {
  /// The counts of a cache since it was created.
  public struct Statistics: Sendable, Hashable {
    /// Requests answered with a stored response that is fresh.
    public var hits = 0
    /// Requests answered with a stale stored response: the origin or the caller allows it, or there is no network.
    public var staleHits = 0
    /// Requests answered with a stored response after the origin had validated it.
    public var revalidations = 0
    /// Cacheable requests answered by the network, and others whose response was stored.
    public var misses = 0
    /// Requests that waited for the response to an identical request before they were answered or sent.
    public var collapsed = 0
    /// Responses that were stored.
    public var stored = 0
    /// Operations of the store that failed. They do not fail a request. An entry that the store does not accept
    /// (``CacheEntry/Refusal``) is not a failure.
    public var storeFailures = 0

    /// Makes statistics with all counts 0.
    public init() {}

    /// Counts a request that was answered with a stored response.
    mutating func add(_ source: HTTPResponse.Source) {
      switch source {
      case .network: break
      case .cache: hits += 1
      case .revalidated: revalidations += 1
      case .stale, .offline: staleHits += 1
      }
    }
  }
}
