// When connections expire: idle ones after their idle time, all of them at their age.
//
// A connection has at most one time in the queue, which is never later than its expiry. When that time has come, the
// connection is closed, retires, or gets the time of its current expiry. So a request changes nothing in the queue, and
// no report looks at all connections.

extension PoolState {
  /// Closes the connections whose idle time has expired, and lets those that have reached their age finish their
  /// requests.
  mutating func expire(now: UInt64) -> [Action] {
    var actions: [Action] = []
    while let item = expiries.popDue(at: now) {
      guard let state = connections[item.connection], state.nextCheck == item.time else { continue }
      connections.update(item.connection) { $0?.nextCheck = .max }
      if state.retires <= now {
        retire(item.connection, .age)
        drain(item.connection, now, &actions)
      } else if isExpired(state, now) {
        close(item.connection, &actions)
      } else {
        watch(item.connection)
      }
    }
    settle(now, &actions)
    return actions
  }

  /// When to call ``expire(now:)`` next; nil if nothing can expire. No connection expires earlier, but perhaps later.
  var nextCheck: UInt64? { expiries.next ?? (idleCount > 0 ? .max : nil) }

  /// Sets after how much idle time, in nanoseconds, the server closes a connection. It holds until the next report.
  mutating func limitIdling(of connection: Int, to time: UInt64) {
    connections.update(connection) { $0?.idleLimit = time }
    watch(connection)
  }

  /// Closes all idle connections.
  mutating func closeIdle() -> [Action] {
    var actions: [Action] = []
    while let connection = idleOrder.longest { close(connection, &actions) }
    if !blocked.isEmpty { serveBlocked(&actions) }
    return actions
  }

  /// Lets all connections finish their requests, and gives them no further ones. Those that are being opened are opened
  /// anew.
  mutating func drainAll(now: UInt64) -> [Action] {
    var actions: [Action] = []
    let all = connections.filter { !$0.value.isDraining }.map(\.number).sorted()
    // First, so that no request gets another one of them.
    for connection in all { retire(connection, .drained) }
    for connection in all { drain(connection, now, &actions) }
    settle(now, &actions)
    return actions
  }

  private mutating func retire(_ connection: Int, _ reason: PoolRetirement) {
    guard let state = connections[connection] else { return }
    entries[state.entry].retirement = reason
    startDraining(connection)
  }

  /// Puts a connection into the queue if it expires before the time that it has there.
  mutating func watch(_ connection: Int) {
    guard let state = connections[connection] else { return }
    let time = expiry(of: state)
    guard time < state.nextCheck else { return }
    connections.update(connection) { $0?.nextCheck = time }
    expiries.insert(ExpiryQueue.Item(time: time, connection: connection))
    // Closed connections leave their times behind.
    guard expiries.count > 2 * connections.count + 64 else { return }
    expiries.removeAll { connections[$0.connection]?.nextCheck != $0.time }
  }

  /// When a connection expires as it is now.
  private func expiry(of state: PoolConnection) -> UInt64 {
    guard let since = state.idleSince else { return state.retires }
    let time = idleNanoseconds(of: state)
    let (end, overflows) = since.addingReportingOverflow(state.useCount == 0 ? max(1, time) : time)
    return overflows ? state.retires : min(end, state.retires)
  }

  /// How long a connection may be idle: no longer than its server allows.
  private func idleNanoseconds(of state: PoolConnection) -> UInt64 { min(limits.idleNanoseconds, state.idleLimit) }

  func isExpired(_ state: PoolConnection, _ now: UInt64) -> Bool {
    guard let since = state.idleSince, now >= since, now - since >= idleNanoseconds(of: state) else { return false }
    // A newly opened connection may be used once, whatever the lifetime.
    return state.useCount > 0 || now > since
  }
}

extension PoolConnection {
  /// When a connection that is opened now has reached its age. The lifetime is varied by a tenth, so that connections
  /// that were opened together are not replaced together.
  ///
  /// - Parameters:
  ///   - lifetime: nanoseconds.
  ///   - fraction: a random number, from 0 (the shortest lifetime) to 1 (the longest).
  static func retirement(after lifetime: UInt64, now: UInt64, fraction: Double) -> UInt64 {
    let varied = Double(lifetime) * (0.9 + 0.2 * min(1, max(0, fraction)))
    let (time, overflows) = now.addingReportingOverflow(UInt64(exactly: varied.rounded()) ?? .max)
    return overflows ? .max : time
  }
}
