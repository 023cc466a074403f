// Room for connections, and which key gets it.
//
// A key without room for a connection that it needs is *blocked*. Blocked keys take turns: whenever a connection is
// closed or becomes idle, the first key in line that can open a connection does so and goes to the end of the line. A
// key whose connections are always in use could keep them forever. So it yields one on release to a blocked key: at
// once if it has at least two more than the other key, and after 16 more requests if the other key has none. A
// multiplexed connection that yields gets no further requests and is closed after its last one.

extension PoolState {
  private static var requestsPerTurn: Int { 16 }

  // MARK: - Serving

  /// Gives the waiters of a key the available connections, then opens the missing ones.
  mutating func serve(_ entry: Int, _ now: UInt64, _ actions: inout [Action]) {
    guard entries[entry].waiterCount > 0 || entries[entry].expected > 0 else { return }
    while !entries[entry].waiters.isEmpty, let connection = takeAvailable(entry, now, &actions) {
      guard let waiter = nextWaiter(of: entry) else { break }
      use(connection, by: waiter, &actions)
    }
    openMore(entry, &actions)
  }

  /// Returns a connection that can serve one more request, according to the pool. An idle one stops being idle.
  mutating func takeAvailable(_ entry: Int, _ now: UInt64, _ actions: inout [Action]) -> Int? {
    while let shared = entries[entry].shared.first(where: { hasRoom($0, now) }) {
      guard let other = entryToYield(for: entry) else { return shared }
      yield(shared, to: other, &actions)
    }
    guard let last = entries[entry].idle.last(where: { hasRoom($0, now) }), let state = connections[last] else {
      return nil
    }
    guard isExpired(state, now) else {
      stopIdling(last)
      return last
    }
    // The others have been idle longer, but their servers may allow more time.
    for connection in entries[entry].idle where connections[connection].map({ isExpired($0, now) }) == true {
      close(connection, &actions)
    }
    guard let next = entries[entry].idle.last(where: { hasRoom($0, now) }) else { return nil }
    stopIdling(next)
    return next
  }

  /// Gives a newly opened connection to waiters that need a new one.
  mutating func serveWaitersForNew(_ entry: Int, with connection: Int, _ now: UInt64, _ actions: inout [Action]) {
    while hasRoom(connection, now), let waiter = nextWaiterForNew(of: entry) {
      stopIdling(connection)
      use(connection, by: waiter, &actions)
    }
  }

  mutating func nextWaiterForNew(of entry: Int) -> Int? {
    guard let waiter = entries[entry].waitersForNew.next(of: waiting) else { return nil }
    waiting[waiter] = nil
    return waiter
  }

  /// Whether a connection can get one more request.
  func hasRoom(_ connection: Int, _ now: UInt64) -> Bool {
    guard let state = connections[connection] else { return false }
    // A newly opened connection may be used once, whatever the lifetime.
    return state.active < state.capacity && (now < state.retires || state.useCount == 0)
  }

  mutating func use(_ connection: Int, by waiter: Int, _ actions: inout [Action]) {
    noteUse(of: connection)
    actions.append(.use(connection: connection, waiter: waiter))
  }

  /// Counts a request that gets a connection.
  mutating func noteUse(of connection: Int) {
    connections.update(connection) {
      $0?.active += 1
      $0?.useCount += 1
    }
    guard let state = connections[connection] else { return }
    entries[state.entry].active += 1
    if state.useCount > 1 { entries[state.entry].reusedCount += 1 }
    if state.capacity > 1, state.active == 1 { entries[state.entry].shared.append(connection) }
    entries[state.entry].grants = blocked.isEmpty ? 0 : entries[state.entry].grants + 1
  }

  mutating func nextWaiter(of entry: Int) -> Int? {
    guard let waiter = entries[entry].waiters.next(of: waiting) else { return nil }
    waiting[waiter] = nil
    return waiter
  }

  // MARK: - Opening and closing

  /// Opens the connections that a key needs; without room, the key is blocked.
  mutating func openMore(_ entry: Int, _ actions: inout [Action]) {
    guard !entries[entry].isPostponed else { return }
    guard !entries[entry].waitersForNew.isEmpty || !awaitsCapacity(entry) else { return }
    while entries[entry].missing > 0, !entries[entry].isBlocked {
      guard mayOpenInTurn else { return postpone(entry) }
      if makeRoom(for: entry, &actions) {
        open(entry, &actions)
      } else {
        block(entry)
      }
    }
    guard entries[entry].expected > 0 else { return }
    while entries[entry].missingAhead > 0, fits(entry) {
      guard mayOpenInTurn else { return postpone(entry) }
      open(entry, &actions)
    }
    // For future requests, nothing is closed and nothing waits for room.
    if entries[entry].missingAhead > 0 { entries[entry].expectWhatIsOpened() }
  }

  /// Whether requests wait for the peer of a connection: it allows none for now, or has not said how many it allows.
  private func awaitsCapacity(_ entry: Int) -> Bool {
    let isAwaited = { connections[$0]?.awaitsCapacity ?? false }
    return entries[entry].idle.contains(where: isAwaited) || entries[entry].shared.contains(where: isAwaited)
  }

  private mutating func open(_ entry: Int, _ actions: inout [Action]) {
    actions.append(.open(connection: addConnection(for: entry), key: entries[entry].key))
  }

  /// Closes the youngest opening connections that no waiter needs.
  mutating func closeSurplus(of entry: Int, _ actions: inout [Action]) {
    while entries[entry].missingAhead < 0, let youngest = entries[entry].opening.last { close(youngest, &actions) }
  }

  mutating func close(_ connection: Int, _ actions: inout [Action]) {
    let state = connections[connection]
    remove(connection)
    actions.append(.close(connection: connection))
    // Requests may have waited until its peer allows some.
    guard let state, state.awaitsCapacity, entries[state.entry].missing > 0, !entries[state.entry].isBlocked else {
      return
    }
    block(state.entry)
  }

  mutating func remove(_ connection: Int) {
    guard let state = connections.take(connection) else { return }
    hosts[entries[state.entry].host].connectionCount -= 1
    if state.idleSince != nil { leaveIdleOrders(state) }
    entries[state.entry].active -= state.active
    entries[state.entry].removed(connection)
  }

  // MARK: - Idle connections

  mutating func becomeIdle(_ connection: Int, _ now: UInt64) {
    guard var state = connections[connection], state.idleSince == nil else { return }
    state.idleSince = now
    idleOrder.append(connection, &state, in: &connections)
    hosts[entries[state.entry].host].idle.append(connection, &state, in: &connections)
    connections[connection] = state
    idleCount += 1
    // Whatever its current capacity: it may have changed since the connection was added.
    if !entries[state.entry].shared.isEmpty { entries[state.entry].shared.removeAll { $0 == connection } }
    entries[state.entry].idle.append(connection)
    watch(connection)
  }

  mutating func stopIdling(_ connection: Int) {
    guard let state = connections[connection], state.idleSince != nil else { return }
    connections.update(connection) { $0?.idleSince = nil }
    leaveIdleOrders(state)
    if entries[state.entry].idle.last == connection {
      entries[state.entry].idle.removeLast()
    } else {
      entries[state.entry].idle.removeAll { $0 == connection }
    }
  }

  private mutating func leaveIdleOrders(_ state: PoolConnection) {
    idleCount -= 1
    idleOrder.remove(state, in: &connections)
    hosts[entries[state.entry].host].idle.remove(state, in: &connections)
  }

  /// Closes the connections that have been idle longest, because the process has no descriptors left. Other requests
  /// of this pool do not get their room.
  mutating func giveUpIdle() -> [Action] {
    var actions: [Action] = []
    while actions.count < Self.givenUpAtOnce, let connection = idleOrder.longest { close(connection, &actions) }
    return actions
  }

  /// How many idle connections are given up at once: enough for the start of another transport.
  private static var givenUpAtOnce: Int { 16 }

  // MARK: - Turns

  /// Gives free room to blocked keys, and closes idle connections beyond the limit.
  mutating func settle(_ now: UInt64, _ actions: inout [Action]) {
    if !blocked.isEmpty { serveBlocked(&actions) }
    let most = limits.idleNanoseconds == 0 ? 0 : max(0, limits.idle)
    guard idleCount > most else { return }
    while idleCount > most, let connection = idleOrder.longest { close(connection, &actions) }
    if !blocked.isEmpty { serveBlocked(&actions) }
  }

  /// Lets each blocked key open one connection in turn while there is room.
  mutating func serveBlocked(_ actions: inout [Action]) {
    var refused = 0
    var taken = 0  // removed together: each removal moves the whole line
    // If none of them can have room, the long line is not searched.
    while refused < blocked.count - taken, !isFull || idleCount > 0 {
      let entry = blocked[taken]
      taken += 1
      entries[entry].isBlocked = false
      guard entries[entry].missing > 0 else { continue }
      if makeRoom(for: entry, &actions) {
        open(entry, &actions)
        refused = 0
      } else {
        refused += 1
      }
      if entries[entry].missing > 0 { block(entry) }
    }
    blocked.removeFirst(taken)
  }

  private mutating func block(_ entry: Int) {
    entries[entry].isBlocked = true
    blocked.append(entry)
  }

  /// Unblocks a key that no longer needs a connection.
  mutating func unblock(_ entry: Int) {
    entries[entry].isBlocked = false
    blocked.removeAll { $0 == entry }
  }

  /// Whether a connection of the key can be opened now, if necessary by closing an idle one.
  private mutating func makeRoom(for entry: Int, _ actions: inout [Action]) -> Bool {
    if isHostFull(of: entry) {
      guard let idle = hosts[entries[entry].host].idle.longest else { return false }
      close(idle, &actions)
    }
    if isFull {
      guard let idle = idleOrder.longest else { return false }
      close(idle, &actions)
    }
    return true
  }

  /// Whether a connection of the key can be opened without closing another one.
  private func fits(_ entry: Int) -> Bool { !isFull && !isHostFull(of: entry) }

  /// Whether the limit of all connections is reached.
  private var isFull: Bool {
    if limits.total == nil, descriptorLimit == nil { return false }
    return connections.count >= max(1, min(limits.total ?? .max, descriptorLimit ?? .max))
  }

  /// Whether the limit of a host's connections is reached for a key.
  func isFull(_ key: Key) -> Bool {
    limit(for: key).map { hosts.connectionCount(to: key.limitedHost) >= max(1, $0) } ?? false
  }

  private func isHostFull(of entry: Int) -> Bool {
    limit(for: entries[entry].key).map { hosts[entries[entry].host].connectionCount >= max(1, $0) } ?? false
  }

  private func limit(for key: Key) -> Int? { key.isForUpgrades ? limits.upgradesPerHost : limits.perHost }

  /// The blocked key to which this key must yield a connection; nil if there is none.
  func entryToYield(for entry: Int) -> Int? {
    guard !blocked.isEmpty else { return nil }
    let own = entries[entry]
    return blocked.first { index in
      let other = entries[index]
      // Closing a connection of this key must make room for one of the other.
      guard index != entry, other.missing > 0, other.host == own.host || !isHostFull(of: index)
      else { return false }
      let isMuchRicher = own.connectionCount > other.connectionCount + 1
      return isMuchRicher || other.connectionCount == 0 && own.grants >= Self.requestsPerTurn
    }
  }

  /// Closes a connection after its last request, for a blocked key.
  mutating func yield(_ connection: Int, to other: Int, _ actions: inout [Action]) {
    guard let state = connections[connection] else { return }
    entries[state.entry].grants = 0
    startDraining(connection)
    guard state.active == 0 else { return }
    close(connection, &actions)
    // At the head of the line, so that no other key takes the room.
    blocked.removeAll { $0 == other }
    blocked.insert(other, at: 0)
    serveBlocked(&actions)
  }

  mutating func startDraining(_ connection: Int) {
    guard let entry = connections[connection]?.entry else { return }
    stopIdling(connection)
    connections.update(connection) { $0?.isDraining = true }
    connections.update(connection) { $0?.retires = .max }
    entries[entry].shared.removeAll { $0 == connection }
  }
}
