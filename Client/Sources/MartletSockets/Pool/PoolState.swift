import MartletEngine

/// Decides which request uses which connection, when to open connections, and which to close. It has no connections: it
/// gets reports, and returns the actions to perform, in order.
///
/// Requests are *waiters* with numbers from the caller; connections have numbers from this pool. Time is in nanoseconds
/// on any clock that does not go back. A report about an unknown number is ignored, because both sides may close a
/// connection at once.
///
/// - A waiter takes the first connection of its key that becomes ready: one that another request has released, or a new
///   one. Waiters of a key are served in their order.
/// - One connection is opened for each waiter. While it is not known whether a key's connections are multiplexed, one
///   is opened for all of them; later as many as their capacity requires. A turn of the caller's loop opens only a few
///   of them (see `PoolState+Pace`).
/// - If an opening fails, the waiter that has waited longest gets the failure, so every failure ends one wait, in
///   order. Connections for the other waiters are then opened all at once: one after another, each failure could take a
///   connect timeout.
/// - A request whose connection turned out to be closed may demand a new one, so that it is not lost on another
///   connection of the same age. It gets the next one that is opened; at a limit, a released connection of its key is
///   closed for it.
/// - The most recently used idle connection is used first; it is the most likely to be alive.
/// - A connection that has reached its age gets no further request, and is closed after its last one (see
///   `PoolState+Expiry`).
/// - If the system has no descriptor for a connection, the current number of connections is the limit for a while.
/// - At a limit, the connection of another key that has been idle longest is closed to make room. Keys without room
///   take turns (see `PoolState+Room`).
struct PoolState<Key: PoolKey>: Sendable {
  /// The limits of a pool.
  struct Limits: Sendable {
    /// The maximum number of connections to a host; nil for no limit. Values below 1 count as 1.
    var perHost: Int?
    /// The same for connections of requests that change the protocol.
    var upgradesPerHost: Int?
    /// The maximum number of connections in all; nil for no limit. Values below 1 count as 1.
    var total: Int?
    /// The maximum number of idle connections.
    var idle: Int
    /// How long a connection may be idle, in nanoseconds; with 0 no connection is used again.
    var idleNanoseconds: UInt64
    /// How many connections are opened before ``PoolState/finishTurn()``; no limit by default.
    var openingsPerTurn = Int.max
  }

  /// The actions for the caller.
  enum Action: Equatable, Sendable {
    /// Give the waiter a connection.
    case use(connection: Int, waiter: Int)
    /// Open a connection, and report ``PoolState/opened(_:capacity:now:)`` or ``PoolState/failed(_:now:)``.
    indirect case open(connection: Int, key: Key)
    /// Close a connection, which may be one that is being opened. The pool has forgotten it already.
    case close(connection: Int)
    /// Fail the waiter, because the pool is shut down.
    case refuse(waiter: Int)
  }

  let limits: Limits
  /// The keys that are or were in use. Connections and waiters refer to them by index, because hashing a key is not
  /// cheap.
  var entries: [PoolEntry<Key>] = []
  private var indices: [Key: Int] = [:]
  /// The index of the key that was looked up last, usually the next one too: comparing keys is faster than hashing
  /// them.
  private var lastIndex: Int?
  /// The free indices of forgotten entries.
  private var unusedIndices: [Int] = []
  var connections = NumberTable<PoolConnection>()
  /// The waiters of all queues, with their places.
  var waiting = NumberTable<WaiterPlace>()
  /// The hosts of the entries, with the connections under the limit of each.
  var hosts = PoolHosts<Key.Host>()
  /// The idle connections.
  var idleOrder = IdleOrder(of: .all)
  /// When connections expire; see `PoolState+Expiry`.
  var expiries = ExpiryQueue()
  /// The entries with waiters but no room for a connection, in the order of their turns.
  var blocked: [Int] = []
  var idleCount = 0
  /// The entries whose connections the next turn opens, in the order of their turns.
  var postponed: [Int] = []
  /// How many connections were opened in this turn.
  var openedInTurn = 0
  /// How many connections the system has room for, as shown by the last opening; nil if that is not known.
  private(set) var descriptorLimit: Int?
  private var lastConnection = 0
  private var lastTicket = 0
  private var keyLimit = 1000
  private var isShutDown = false

  init(_ limits: Limits) {
    self.limits = limits
  }

  /// The numbers of each key that is or was in use.
  var statistics: [Key: PoolStatistics] { indices.mapValues { entries[$0].statistics } }
}

// MARK: - Waiters

extension PoolState {
  /// Requests a connection.
  ///
  /// - Parameters:
  ///   - isAgain: whether its previous connection turned out to be closed: then it is served before others.
  ///   - needsNew: whether it needs one that has not served before (RFC 9112 §9.3.1).
  mutating func request(
    _ waiter: Int, for key: Key, isAgain: Bool = false, needsNew: Bool = false, now: UInt64
  ) -> [Action] {
    guard !isShutDown else { return [.refuse(waiter: waiter)] }
    guard waiting[waiter] == nil else { return [] }
    var actions: [Action] = []
    let entry = index(of: key) ?? addEntry(for: key)
    if !needsNew, entries[entry].waiters.isEmpty, let connection = takeAvailable(entry, now, &actions) {
      use(connection, by: waiter, &actions)
    } else {
      lastTicket += 1
      waiting[waiter] = WaiterPlace(entry: entry, ticket: lastTicket, needsNew: needsNew)
      if needsNew {
        entries[entry].waitersForNew.add(waiter, ticket: lastTicket, isFirst: isAgain)
      } else {
        entries[entry].waiters.add(waiter, ticket: lastTicket, isFirst: isAgain)
      }
      openMore(entry, &actions)
    }
    return actions
  }

  /// Gives a request a connection if that needs no other action: no other request waits, and none is opened or closed.
  /// Returns its number; nil if ``request(_:for:isAgain:needsNew:now:)`` has to decide.
  mutating func useAvailable(for key: Key, now: UInt64) -> Int? {
    guard let available = available(for: key, now: now) else { return nil }
    if !available.isShared { stopIdling(available.connection) }
    noteUse(of: available.connection)
    return available.connection
  }

  /// Returns the connection that ``useAvailable(for:now:)`` would give, and whether other requests may be using it.
  mutating func available(for key: Key, now: UInt64) -> (connection: Int, isShared: Bool)? {
    guard !isShutDown, blocked.isEmpty, let entry = index(of: key), entries[entry].waiters.isEmpty else { return nil }
    if let shared = entries[entry].shared.first(where: { hasRoom($0, now) }) { return (shared, true) }
    guard let last = entries[entry].idle.last(where: { hasRoom($0, now) }), let state = connections[last],
      !isExpired(state, now)
    else { return nil }
    return (last, false)
  }

  private mutating func index(of key: Key) -> Int? {
    if let lastIndex, entries[lastIndex].key == key { return lastIndex }
    guard let index = indices[key] else { return nil }
    lastIndex = index
    return index
  }

  /// Removes a waiter that no longer needs a connection. Ignored if it has one: that connection has to be released or
  /// closed.
  mutating func cancelled(_ waiter: Int, now: UInt64) -> [Action] {
    guard let place = waiting.take(waiter) else { return [] }
    var actions: [Action] = []
    if place.needsNew {
      entries[place.entry].waitersForNew.removedOne(of: waiting)
    } else {
      entries[place.entry].waiters.removedOne(of: waiting)
    }
    if entries[place.entry].isBlocked, entries[place.entry].missing <= 0 { unblock(place.entry) }
    closeSurplus(of: place.entry, &actions)
    settle(now, &actions)
    return actions
  }

  /// Whether a waiter waits because of the limits: no connection is being opened for it.
  func isQueued(_ waiter: Int) -> Bool {
    guard let place = waiting[waiter] else { return false }
    let entry = entries[place.entry]
    guard !entry.isPostponed else { return false }
    guard !entry.opening.isEmpty else { return true }
    guard let capacity = entry.capacity else { return false }
    let (product, overflows) = entry.opening.count.multipliedReportingOverflow(by: capacity)
    let served = overflows ? Int.max : product
    // Waiters that need a new connection are served first.
    if place.needsNew { return !entry.waitersForNew.contains(place.ticket, amongFirst: served, of: waiting) }
    let rest = max(0, served - entry.waitersForNew.count)
    return !entry.waiters.contains(place.ticket, amongFirst: rest, of: waiting)
  }

  /// Whether a waiter could be given this connection.
  func hasWaiters(for connection: Int) -> Bool {
    guard let entry = connections[connection]?.entry else { return false }
    return !entries[entry].waiters.isEmpty
  }

  /// Opens enough connections ahead of requests for this many to be sent at once. Idle connections are not closed to
  /// make room, and no more are opened than may be idle. Once they are open, if all keys together exceed the limit of
  /// idle connections, the longest-idle connection is closed.
  mutating func expect(_ requests: Int, for key: Key, now: UInt64) -> [Action] {
    guard !isShutDown, limits.idleNanoseconds > 0 else { return [] }
    let entry = index(of: key) ?? addEntry(for: key)
    var missing = min(max(0, requests), max(0, limits.idle))
    for connection in entries[entry].idle + entries[entry].shared {
      if let state = connections[connection] { missing -= min(missing, max(0, state.capacity - state.active)) }
    }
    entries[entry].expected = max(entries[entry].expected, missing)
    var actions: [Action] = []
    openMore(entry, &actions)
    return actions
  }

  /// Whether connections of a key are being opened ahead of requests.
  func isExpecting(_ key: Key) -> Bool { indices[key].map { entries[$0].expected > 0 } ?? false }

  /// Adds an entry for a key, and returns its index. Once there are many, keys that are not in use are forgotten first.
  private mutating func addEntry(for key: Key) -> Int {
    if indices.count >= keyLimit {
      for (key, index) in indices where entries[index].isUnused && !entries[index].isInLine {
        indices[key] = nil
        lastIndex = nil
        hosts.removeKey(ofHost: entries[index].host)
        unusedIndices.append(index)
      }
      keyLimit = max(1000, indices.count * 2)
    }
    let index = unusedIndices.popLast() ?? entries.count
    let entry = PoolEntry(key, host: hosts.addKey(of: key.limitedHost))
    if index < entries.count { entries[index] = entry } else { entries.append(entry) }
    indices[key] = index
    return index
  }
}

// MARK: - Connections

extension PoolState {
  /// Adds an open connection.
  ///
  /// - Parameters:
  ///   - capacity: how many requests it serves at once: 1 for HTTP/1, the peer's limit of streams for HTTP/2. Values
  ///     below 1 count as 1.
  ///   - first: how many it gets before ``changed(_:capacity:now:)``, if the capacity is only expected. Until then, no
  ///     other connection is opened for the requests that wait. nil if the capacity is known.
  ///   - retires: when it has reached its age; the maximum for never.
  mutating func opened(
    _ connection: Int, capacity: Int, first: Int? = nil, retires: UInt64 = .max, now: UInt64
  ) -> [Action] {
    guard let state = connections[connection], state.isOpening else { return [] }
    var actions: [Action] = []
    connections.update(connection) { $0?.capacity = max(1, first ?? capacity) }
    connections.update(connection) { $0?.isUnconfirmed = first != nil }
    connections.update(connection) { $0?.retires = retires }
    connections.update(connection) { $0?.isOpening = false }
    entries[state.entry].opened(connection, capacity: max(1, capacity))
    becomeIdle(connection, now)
    serveWaitersForNew(state.entry, with: connection, now, &actions)
    serve(state.entry, now, &actions)
    // One multiplexed connection serves the waiters for which others are being opened.
    if capacity > 1 { closeSurplus(of: state.entry, &actions) }
    settle(now, &actions)
    return actions
  }

  /// Handles a connection that could not be opened. Returns the waiter that gets the failure, if there is one.
  mutating func failed(_ connection: Int, now: UInt64) -> (waiter: Int?, actions: [Action]) {
    guard let entry = connections[connection]?.entry else { return (nil, []) }
    var actions: [Action] = []
    remove(connection)
    entries[entry].capacity = 1
    entries[entry].expected = 0  // The others would most likely fail too.
    let waiter = nextWaiterForNew(of: entry) ?? nextWaiter(of: entry)
    serve(entry, now, &actions)
    settle(now, &actions)
    return (waiter, actions)
  }

  /// Handles a connection for which the system has no room, such as no descriptor. Its requests wait as at a limit, and
  /// idle connections make room for them. Returns nil, and does nothing, if there is no other connection: the opening
  /// then counts as ``failed(_:now:)``.
  mutating func lacksDescriptor(for connection: Int, now: UInt64) -> [Action]? {
    guard let entry = connections[connection]?.entry, connections.count > 1 else { return nil }
    var actions: [Action] = []
    remove(connection)
    entries[entry].expected = 0
    descriptorLimit = min(descriptorLimit ?? .max, connections.count)
    serve(entry, now, &actions)
    settle(now, &actions)
    return actions
  }

  /// Forgets the lack of room: the system may have room again.
  mutating func forgetDescriptorLimit(now: UInt64) -> [Action] {
    var actions: [Action] = []
    descriptorLimit = nil
    settle(now, &actions)
    return actions
  }

  /// Handles the end of a request; its connection can serve another one.
  mutating func released(_ connection: Int, now: UInt64) -> [Action] {
    guard let before = connections[connection], before.active > 0 else { return [] }
    var actions: [Action] = []
    let isUnused = before.active == 1
    connections.update(connection) { $0?.active -= 1 }
    entries[before.entry].active -= 1
    // It ends if it drains; otherwise it makes way for a waiter that needs a new connection, then for another key.
    if isShutDown || before.isDraining {
      if isUnused { close(connection, &actions) }
    } else if entries[before.entry].isBlocked, entries[before.entry].missing > 0,
      !entries[before.entry].waitersForNew.isEmpty
    {
      startDraining(connection)
      if isUnused { close(connection, &actions) }
    } else if !entries[before.entry].waiters.isEmpty, let other = entryToYield(for: before.entry) {
      yield(connection, to: other, &actions)
    } else if isUnused, !before.isSuspended {
      becomeIdle(connection, now)
    }
    serve(before.entry, now, &actions)
    settle(now, &actions)
    return actions
  }

  /// Updates the limit of requests on a connection after a peer's SETTINGS. With 0, the connection gets none until it
  /// changes again, and no other is opened for the requests that wait: the same peer would answer the same.
  mutating func changed(_ connection: Int, capacity: Int, now: UInt64) -> [Action] {
    guard let state = connections[connection], !state.isOpening else { return [] }
    var actions: [Action] = []
    connections.update(connection) { $0?.capacity = max(0, capacity) }
    connections.update(connection) { $0?.isUnconfirmed = false }
    entries[state.entry].capacity = max(1, capacity)
    let isShared = entries[state.entry].shared.contains(connection)
    if capacity > 1, state.active > 0, !state.isDraining, !state.isSuspended, !isShared {
      entries[state.entry].shared.append(connection)
    }
    serve(state.entry, now, &actions)
    settle(now, &actions)
    return actions
  }

  /// Lets a connection finish its requests and gives it no further ones: a GOAWAY arrived.
  mutating func drain(_ connection: Int, now: UInt64) -> [Action] {
    guard connections[connection] != nil else { return [] }
    var actions: [Action] = []
    drain(connection, now, &actions)
    settle(now, &actions)
    return actions
  }

  mutating func drain(_ connection: Int, _ now: UInt64, _ actions: inout [Action]) {
    guard let state = connections[connection] else { return }
    startDraining(connection)
    if state.active == 0 { close(connection, &actions) }
    serve(state.entry, now, &actions)
  }

  /// Removes a closed connection. The caller decides what happens to the requests that used it.
  mutating func closed(_ connection: Int, now: UInt64) -> [Action] {
    guard let state = connections[connection] else { return [] }
    let entry = state.entry
    var actions: [Action] = []
    remove(connection)
    if state.isOpening { entries[entry].expected = 0 }
    serve(entry, now, &actions)
    settle(now, &actions)
    return actions
  }

  /// Closes all connections that no request uses, and refuses all current and future waiters. A connection in use is
  /// closed when it is released.
  mutating func shutDown() -> [Action] {
    isShutDown = true
    var actions: [Action] = []
    for waiter in waiting.sorted(by: { $0.value.ticket < $1.value.ticket }).map(\.number) {
      actions.append(.refuse(waiter: waiter))
    }
    waiting = NumberTable()
    (blocked, postponed) = ([], [])
    for index in entries.indices {
      entries[index].waiters = WaiterQueue()
      entries[index].waitersForNew = WaiterQueue()
      (entries[index].isBlocked, entries[index].isPostponed) = (false, false)
      entries[index].expected = 0
    }
    for connection in connections.filter({ $0.value.active == 0 }).map(\.number).sorted() {
      close(connection, &actions)
    }
    return actions
  }

  /// Counts a connection that is about to be opened. Returns its number.
  mutating func addConnection(for entry: Int) -> Int {
    lastConnection += 1
    openedInTurn += 1
    var state = PoolConnection(entry: entry)
    state.cause = entries[entry].retirement.take()
    connections[lastConnection] = state
    hosts[entries[entry].host].connectionCount += 1
    entries[entry].startedOpening(lastConnection)
    return lastConnection
  }
}
