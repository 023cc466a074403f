// Connections that may be dead: they get no requests until they prove to be alive.

extension PoolState {
  /// Suspends a connection that may be dead: it gets no requests for now, and it is not idle either.
  mutating func suspend(_ connection: Int, now: UInt64) -> [Action] {
    guard let state = connections[connection], !state.isOpening, !state.isDraining else { return [] }
    var actions: [Action] = []
    stopIdling(connection)
    connections.update(connection) { $0?.isSuspended = true }
    entries[state.entry].shared.removeAll { $0 == connection }
    serve(state.entry, now, &actions)
    settle(now, &actions)
    return actions
  }

  /// Makes a suspended connection usable again.
  mutating func resume(_ connection: Int, now: UInt64) -> [Action] {
    guard let state = connections[connection], state.isSuspended else { return [] }
    var actions: [Action] = []
    connections.update(connection) { $0?.isSuspended = false }
    if !state.isDraining {
      if state.active == 0 { becomeIdle(connection, now) } else { entries[state.entry].shared.append(connection) }
    }
    serve(state.entry, now, &actions)
    closeSurplus(of: state.entry, &actions)
    settle(now, &actions)
    return actions
  }
}
