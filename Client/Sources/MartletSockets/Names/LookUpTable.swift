#if os(Linux)
@_spi(Toolkit) import MartletEngine
@_spi(Toolkit) import MartletSemantics

/// Why a name has no addresses.
struct LookUpFailure: Error, Sendable {
  /// The system's or the resolver's message.
  let message: String
  /// The error that the caller's resolver has thrown, ``UnknownHostName`` or ``NetworkIsDown``.
  var underlying: (any Error)?
}

/// The addresses of a name, or why there are none.
typealias LookUpResult = Result<[IPAddress], LookUpFailure>

/// Which names are being looked up, which callers wait for them, and which results are known. It only decides: it has
/// no clock, lock or thread. Times are nanoseconds of a clock that never goes back.
///
/// - Equal look-ups are shared: callers that ask for the same name in the meantime wait for the same result.
/// - Results are kept for 60 s, failures for 1 s. The system does not report the lifetime that a name server sets. If
///   connections have a lifetime, a result is kept for the shortest of them at most, so that a connection that replaces
///   one of that age looks the name up again.
/// - At most 256 results are kept; the one that expires first is dropped.
/// - If no caller waits for a name any more and its look-up has not begun, it is skipped. If it has begun, another
///   worker takes its place, because a blocked look-up cannot be ended: slow names delay others only while callers wait
///   for them.
struct LookUpTable<Waiter> {
  enum Decision {
    case known(LookUpResult)
    /// The result will be passed to ``finish(_:with:now:)``. If a worker is to be started, it takes names with
    /// ``takeHost()`` until there are none.
    case waits(startsWorker: Bool)
  }

  private struct Entry {
    let result: LookUpResult
    let expiry: UInt64
  }

  private let workerLimit: Int
  /// The maximum number of workers in all, including those whose results no caller waits for.
  private var workerLimitInAll: Int { workerLimit * 4 }
  private let lifetime: UInt64
  private let failureLifetime: UInt64 = 1_000_000_000
  private let capacity = 256

  private var entries: [String: Entry] = [:]
  /// The waiting callers, by name and number. A name is here from its first request until its result.
  private var waiters: [String: [Int: Waiter]] = [:]
  /// The names whose look-up has not begun, in the order of their requests.
  private var queue = PriorityQueue<Int, String>()
  /// Their numbers in the queue.
  private var numbers: [String: UInt64] = [:]
  /// All names have the same priority.
  private let priority = PriorityBox(0)
  private var workers = 0
  /// How many workers look up names that no caller waits for.
  private var abandoned = 0

  /// Makes an empty table.
  ///
  /// - Parameters:
  ///   - workerLimit: how many look-ups with waiting callers may run at the same time; four times as many may run in
  ///     all.
  ///   - connectionLifetime: the lifetime of connections in nanoseconds, before it is varied; nil for no limit.
  init(workerLimit: Int, connectionLifetime: UInt64? = nil) {
    self.workerLimit = workerLimit
    let shortest = connectionLifetime.map { PoolConnection.retirement(after: $0, now: 0, fraction: 0) }
    lifetime = min(60_000_000_000, shortest ?? .max)
  }

  /// Asks for a name.
  ///
  /// - Parameter id: identifies the caller, for ``cancel(_:of:)``.
  mutating func request(_ host: String, id: Int, waiter: Waiter, now: UInt64) -> Decision {
    if let entry = entries[host] {
      if now < entry.expiry { return .known(entry.result) }
      entries[host] = nil
    }
    let others = waiters[host]
    waiters[host, default: [:]][id] = waiter
    guard others == nil else {
      if others?.isEmpty == true { abandoned -= 1 }
      return .waits(startsWorker: false)
    }
    numbers[host] = queue.append(host, priority, in: 0)
    return .waits(startsWorker: addWorker())
  }

  /// Counts one more worker if names wait for it and the limits allow it.
  private mutating func addWorker() -> Bool {
    guard queue.count > 0, workers - abandoned < workerLimit, workers < workerLimitInAll else { return false }
    workers += 1
    return true
  }

  /// Returns the next name to look up. nil means that the calling worker must end: there is no name, or too many
  /// look-ups are running.
  mutating func takeHost() -> String? {
    guard workers - abandoned <= workerLimit, let host = removeNext() else {
      workers -= 1
      return nil
    }
    return host
  }

  /// Records a result. Returns the callers that wait for it.
  mutating func finish(_ host: String, with result: LookUpResult, now: UInt64) -> [Waiter] {
    let isSuccess = if case .success = result { true } else { false }
    if entries.count >= capacity, entries[host] == nil { makeRoom(now: now) }
    entries[host] = Entry(result: result, expiry: now &+ (isSuccess ? lifetime : failureLifetime))
    guard let waiting = waiters.removeValue(forKey: host) else { return [] }
    if waiting.isEmpty { abandoned -= 1 }
    return Array(waiting.values)
  }

  /// Records that a worker could not be started. Returns the callers whose names no other worker will look up soon.
  mutating func workerFailed() -> [Waiter] {
    workers -= 1
    guard workers == abandoned else { return [] }
    var failed: [Waiter] = []
    while let host = removeNext() { failed += waiters.removeValue(forKey: host).map { Array($0.values) } ?? [] }
    return failed
  }

  private mutating func removeNext() -> String? {
    guard let host = queue.removeNext(in: 0)?.element else { return nil }
    numbers[host] = nil
    return host
  }

  /// Removes a caller; does nothing if its result has already arrived. Returns whether to start a worker, like
  /// ``Decision/waits(startsWorker:)``.
  mutating func cancel(_ id: Int, of host: String) -> Bool {
    guard waiters[host]?.removeValue(forKey: id) != nil, waiters[host]?.isEmpty == true else { return false }
    if let number = numbers.removeValue(forKey: host), queue.remove(number) != nil {
      waiters[host] = nil
    } else {
      abandoned += 1
    }
    return addWorker()
  }

  /// Forgets all results. Look-ups in progress continue.
  mutating func forget() { entries = [:] }

  private mutating func makeRoom(now: UInt64) {
    entries = entries.filter { now < $0.value.expiry }
    guard entries.count >= capacity, let first = entries.min(by: { $0.value.expiry < $1.value.expiry }) else { return }
    entries[first.key] = nil
  }
}
#endif
