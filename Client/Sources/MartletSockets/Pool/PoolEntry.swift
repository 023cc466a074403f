import MartletEngine

/// Identifies interchangeable connections: connections with equal keys serve the same requests.
protocol PoolKey: Hashable, Sendable {
  associatedtype Host: Hashable, Sendable
  /// The host for the limit per host; several keys may have the same one.
  var host: Host { get }
  /// Whether a connection may turn out to serve several requests at once. Until that is known, only one is opened.
  var mayMultiplex: Bool { get }
  /// Whether its connections are for requests that change the protocol. They stay in use as long as a WebSocket, so
  /// they have a limit of their own and do not count toward the host's limit for other requests.
  var isForUpgrades: Bool { get }
}

/// The connections that share the limit of a host.
struct LimitedHost<Host: Hashable & Sendable>: Hashable, Sendable {
  let host: Host
  let isForUpgrades: Bool
}

extension PoolKey {
  var limitedHost: LimitedHost<Host> { LimitedHost(host: host, isForUpgrades: isForUpgrades) }
}

/// Why a pool replaces a connection that still works.
enum PoolRetirement: Sendable {
  /// It has reached its age.
  case age
  /// The program has drained the connections.
  case drained
}

/// The pool's view of a connection.
struct PoolConnection: Sendable {
  /// The index of its key's entry.
  let entry: Int
  /// How many requests it serves at once.
  var capacity = 1
  /// Whether ``capacity`` is a low first estimate, because its peer has not said yet how many it serves.
  var isUnconfirmed = false
  var active = 0
  /// How many requests it has got so far.
  var useCount = 0
  var isOpening = true
  /// Whether it gets no further requests.
  var isDraining = false
  /// Whether it gets no requests for now.
  var isSuspended = false
  /// When it became idle; nil if it is opening or in use.
  var idleSince: UInt64?
  /// How long its server lets it be idle, in nanoseconds.
  var idleLimit = UInt64.max
  /// Its neighbours among the idle connections, while it is idle.
  var links = IdleLinks()
  /// When it has reached its age; the maximum for never.
  var retires = UInt64.max
  /// When it will be looked at next; the maximum for never.
  var nextCheck = UInt64.max
  /// Why it was opened in place of an earlier one; nil if it was not.
  var cause: PoolRetirement?

  init(entry: Int) {
    self.entry = entry
  }

  /// Whether further requests wait until its peer says how many it allows.
  var awaitsCapacity: Bool { capacity == 0 || isUnconfirmed }
}

/// The connections and waiters of a key.
struct PoolEntry<Key: PoolKey>: Sendable {
  let key: Key
  /// The index of its host in ``PoolState/hosts``.
  let host: Int
  var waiters = WaiterQueue()
  /// The waiters that need a connection which has not served before.
  var waitersForNew = WaiterQueue()
  /// The connections that are being opened, in the order of their start.
  private(set) var opening: [Int] = []
  /// The idle connections, the most recently used at the end.
  var idle: [Int] = []
  /// The multiplexed connections that are in use and get further requests.
  var shared: [Int] = []
  private(set) var connectionCount = 0
  /// The number of requests that use a connection.
  var active = 0
  private var openedCount = 0
  var reusedCount = 0
  /// How many requests the next connection will serve at once; nil if that is not known.
  var capacity: Int?
  /// Whether the key waits for room.
  var isBlocked = false
  /// Whether the next turn opens connections for the key.
  var isPostponed = false
  /// How many requests got a connection while other keys waited for room.
  var grants = 0
  /// For how many future requests connections are opened ahead.
  var expected = 0
  /// Why a connection has retired that the next one replaces; nil if none has.
  var retirement: PoolRetirement?

  init(_ key: Key, host: Int) {
    (self.key, self.host) = (key, host)
    capacity = key.mayMultiplex ? nil : 1
  }

  /// Whether it is in one of the pool's lines.
  var isInLine: Bool { isBlocked || isPostponed }

  /// Whether there are neither connections nor waiters.
  var isUnused: Bool { connectionCount == 0 && waiterCount == 0 }

  /// The number of all waiters.
  var waiterCount: Int { waiters.count + waitersForNew.count }

  /// How many more connections to open for the waiters; negative if more are being opened.
  var missing: Int { needed(for: waiterCount) - opening.count }

  /// The same for the waiters and the expected requests.
  var missingAhead: Int {
    let (requests, overflows) = waiterCount.addingReportingOverflow(expected)
    return needed(for: overflows ? .max : requests) - opening.count
  }

  /// Limits the expected requests to the number that the opening connections can serve besides the waiters.
  mutating func expectWhatIsOpened() {
    let (served, overflows) = opening.count.multipliedReportingOverflow(by: capacity ?? 0)
    expected = max(0, min(expected, (overflows ? .max : served) - waiterCount))
  }

  private func needed(for requests: Int) -> Int {
    // Rounded up; the capacity may be any number.
    requests == 0 ? 0 : 1 + (requests - 1) / (capacity ?? .max)
  }

  var statistics: PoolStatistics {
    PoolStatistics(
      active: active, queued: waiterCount, opening: opening.count, idle: idle.count, opened: openedCount,
      reused: reusedCount)
  }

  mutating func startedOpening(_ connection: Int) {
    connectionCount += 1
    opening.append(connection)
  }

  mutating func opened(_ connection: Int, capacity: Int) {
    opening.removeAll { $0 == connection }
    openedCount += 1
    self.capacity = capacity
    // Expected requests can use the capacity that the waiters do not need.
    expected = max(0, expected - max(0, capacity - waiterCount))
  }

  mutating func removed(_ connection: Int) {
    connectionCount -= 1
    opening.removeAll { $0 == connection }
    idle.removeAll { $0 == connection }
    shared.removeAll { $0 == connection }
  }
}

/// Where a waiter waits.
struct WaiterPlace: Sendable {
  /// The index of its key's entry.
  let entry: Int
  let ticket: Int
  /// Whether it needs a connection that has not served before.
  let needsNew: Bool
}

/// The waiters of a key in their order. A waiter that was removed stays in the queue until its turn, and is then
/// recognized by its ticket. Removed waiters never outnumber the remaining ones by more than 16.
struct WaiterQueue: Sendable {
  struct Place: Sendable {
    let waiter: Int
    let ticket: Int
  }

  private var places: [Place] = []
  /// The index of the first place that was not taken out.
  private var head = 0
  /// The number of waiters that still wait.
  private(set) var count = 0

  var isEmpty: Bool { count == 0 }

  mutating func add(_ waiter: Int, ticket: Int, isFirst: Bool) {
    count += 1
    let place = Place(waiter: waiter, ticket: ticket)
    if !isFirst {
      places.append(place)
    } else if head > 0 {
      head -= 1
      places[head] = place
    } else {
      places.insert(place, at: 0)
    }
  }

  /// Takes out the first waiter that still waits.
  mutating func next(of waiting: NumberTable<WaiterPlace>) -> Int? {
    while head < places.count {
      let place = places[head]
      head += 1
      if head > 64, head > places.count / 2 {
        places.removeFirst(head)
        head = 0
      }
      guard waiting[place.waiter]?.ticket == place.ticket else { continue }
      count -= 1
      return place.waiter
    }
    return nil
  }

  /// Whether the waiter with this ticket is one of the first `most` in the queue.
  func contains(_ ticket: Int, amongFirst most: Int, of waiting: NumberTable<WaiterPlace>) -> Bool {
    if most >= count { return true }
    var rest = most
    for place in places[head...] where waiting[place.waiter]?.ticket == place.ticket {
      guard rest > 0 else { return false }
      if place.ticket == ticket { return true }
      rest -= 1
    }
    return false
  }

  /// Notes that one of the waiters no longer waits.
  mutating func removedOne(of waiting: NumberTable<WaiterPlace>) {
    count -= 1
    // Removed waiters at the beginning are dropped, so that they are not skipped again and again.
    while head < places.count, waiting[places[head].waiter]?.ticket != places[head].ticket { head += 1 }
    if head > 64, head > places.count / 2 {
      places.removeFirst(head)
      head = 0
    }
    guard places.count - head > 2 * count + 16 else { return }
    places = places[head...].filter { waiting[$0.waiter]?.ticket == $0.ticket }
    head = 0
  }
}
