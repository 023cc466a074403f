#if os(Linux)
import MartletEngine
import MartletSemantics

// Connections ahead of requests, idle and suspended connections, statistics, and the limit of waiting.

extension Network {
  // MARK: - Connections ahead of requests

  /// Opens connections for this many requests, within the limits. The caller gets the result when they are open.
  func preconnect(_ destination: Exchange.Destination, for requests: Int, _ result: OneShot<Void>) {
    keep(destination.identity)
    let key = usableKey(destination.key, of: destination.origin)
    preconnects.add(result, for: key, of: destination.origin)
    perform(pool.expect(requests, for: key, now: loop.now))
  }

  /// Resumes the callers whose connections are open or have failed.
  func finishPreconnects() {
    if !preconnects.isEmpty { preconnects.finish { !pool.isExpecting($0) } }
  }

  // MARK: - Idle connections

  /// Notes after how many idle seconds the server closes a connection. A request sent at that moment would be lost, so
  /// the connection is not used in the last second, or in the second half of a shorter time.
  func limitIdling(of connection: Connection, to seconds: Int) {
    let time = UInt64(clamping: seconds).multipliedReportingOverflow(by: 1_000_000_000)
    guard !time.overflow else { return }
    let usable = time.partialValue - min(1_000_000_000, time.partialValue / 2)
    pool.limitIdling(of: connection.id, to: usable)
    // The timer may be set for connections that may stay idle longer.
    if expiry.due > loop.now &+ usable { loop.set(expiry, to: loop.now &+ usable) }
  }

  // MARK: - Numbers

  /// The numbers of each origin, and of each proxy that forwards requests.
  var statistics: [Origin: PoolStatistics] {
    var numbers: [Origin: PoolStatistics] = [:]
    for (key, statistics) in pool.statistics {
      guard let origin = key.origin ?? key.route.server?.origin(isSecure: key.route.isSecure) else { continue }
      numbers[origin] = (numbers[origin] ?? PoolStatistics()) + statistics
    }
    return numbers
  }

  // MARK: - Other connections

  static let shutDownMessage = "the transport was shut down"

  /// Handles a lack of descriptors: the connection's requests wait for another connection, if there is one. Returns
  /// whether they do.
  func waitForDescriptor(_ connection: Int) -> Bool {
    guard let actions = pool.lacksDescriptor(for: connection, now: loop.now) else { return false }
    perform(actions)
    loop.set(descriptorTimer, to: loop.now &+ 1_000_000_000)
    return true
  }

  /// Tries again: the process may have closed other descriptors in the meantime.
  func tryDescriptorsAgain() { perform(pool.forgetDescriptorLimit(now: loop.now)) }

  // MARK: - Connections that may be dead

  /// Gives a connection, which may be dead, no requests until ``resume(_:)``.
  func suspend(_ connection: Connection) { perform(pool.suspend(connection.id, now: loop.now)) }

  /// Resumes a suspended connection that has proved to be alive.
  func resume(_ connection: Connection) { perform(pool.resume(connection.id, now: loop.now)) }

  /// Closes the idle connections of a key over HTTP/1, or only those that became idle before a time.
  func closeIdle(for key: ConnectionKey, since time: UInt64 = .max) {
    for connection in connections.values where connection.key == key && connection.isIdle {
      if connection.idleSince <= time { connection.close() }
    }
  }

  // MARK: - Waiting

  /// Limits how long a request waits while all connections are in use.
  func limitWait(of waiter: Int, to limit: Duration) {
    poolTimeouts.add(waiter, due: loop.now &+ max(1, limit.nanoseconds), isQueued: pool.isQueued(waiter))
    watchPoolTimeouts()
  }

  private func watchPoolTimeouts() { loop.set(poolTimer, to: poolTimeouts.next ?? .max) }

  func checkPoolTimeouts() {
    guard let limit = configuration.poolTimeout else { return }
    while let (waiter, wasQueued) = poolTimeouts.popDue(at: loop.now) {
      guard let transfer = waiting[waiter] else { continue }
      guard wasQueued, pool.isQueued(waiter) else {
        // A connection was or is being opened for it, with a limit of its own: that time does not count.
        limitWait(of: waiter, to: max(limit, Self.shortestLimitAgain))
        continue
      }
      let message = "\(transfer.exchange.peer): waited \(limit) for one of \(exhausted(for: transfer.key))"
      abort(transfer, HTTPError(.poolTimeout, message, phase: .queued))
    }
    watchPoolTimeouts()
  }

  /// A very short limit must not keep the loop busy while connections are being opened.
  private static var shortestLimitAgain: Duration { .milliseconds(10) }

  /// Describes the connections that fill the limit.
  private func exhausted(for key: ConnectionKey) -> String {
    if pool.isFull(key.host), let most = configuration.connectionsPerHost {
      return "\(max(1, most)) connections to \(key.host)"
    }
    return "\(pool.connections.count) connections of the transport"
  }

  /// Returns why a transfer has no connection yet, and the phase of a connection that is being opened. Records the
  /// known facts about that connection.
  func reasonOfWait(of transfer: Transfer) -> (HTTPError.Phase, String) {
    guard let waiter = transfer.waiter, !pool.isQueued(waiter),
      let opening = connections.values.first(where: { $0.key == transfer.key && $0.isOpening })
    else {
      return (.queued, "all of \(exhausted(for: transfer.key)) were in use")
    }
    transfer.timing.connection = opening.facts
    return (opening.phase, "no connection was ready while \(opening.phase.rawValue)")
  }
}

/// The callers that wait for connections opened ahead of requests.
struct Preconnects {
  private var callers: [ConnectionKey: [(origin: Origin, result: OneShot<Void>)]] = [:]

  var isEmpty: Bool { callers.isEmpty }

  mutating func add(_ result: OneShot<Void>, for key: ConnectionKey, of origin: Origin) {
    callers[key, default: []].append((origin, result))
  }

  /// Records that a connection could not be opened.
  mutating func fail(_ key: ConnectionKey, _ failure: OpeningFailure) {
    guard !callers.isEmpty, let failed = callers.removeValue(forKey: key) else { return }
    for caller in failed { caller.result.answer(.failure(failure.error(for: caller.origin))) }
  }

  /// Resumes the callers of keys for which no more connections are being opened.
  mutating func finish(where isOver: (ConnectionKey) -> Bool) {
    for key in callers.keys.filter(isOver) {
      for caller in callers.removeValue(forKey: key) ?? [] { caller.result.answer(.success(())) }
    }
  }
}

/// The deadlines of waiting requests. All usually wait equally long, so the first to arrive is the first to expire.
struct PoolTimeouts {
  private var waiters: [(waiter: Int, due: UInt64, isQueued: Bool)] = []
  /// The index of the first entry that was not removed.
  private var first = 0

  /// - Parameter isQueued: whether no connection is being opened for the waiter, so that the time counts.
  mutating func add(_ waiter: Int, due: UInt64, isQueued: Bool) { waiters.append((waiter, due, isQueued)) }

  /// The next deadline; nil if there is none.
  var next: UInt64? { first < waiters.count ? waiters[first].due : nil }

  mutating func popDue(at now: UInt64) -> (waiter: Int, wasQueued: Bool)? {
    guard first < waiters.count, waiters[first].due <= now else { return nil }
    let (waiter, _, wasQueued) = waiters[first]
    first += 1
    if first == waiters.count || first > 64 && first > waiters.count / 2 {
      waiters.removeFirst(first)
      first = 0
    }
    return (waiter, wasQueued)
  }
}
#endif
