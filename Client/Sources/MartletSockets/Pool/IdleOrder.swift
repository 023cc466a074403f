/// The neighbours of a connection in an ``IdleOrder``; 0 for none.
struct IdleNeighbours: Sendable {
  var older = 0
  var newer = 0
}

/// The neighbours of an idle connection in both orders in which it stands.
struct IdleLinks: Sendable {
  /// Which idle connections an order has.
  enum Scope {
    case all, host
  }

  private var all = IdleNeighbours()
  private var host = IdleNeighbours()

  subscript(scope: Scope) -> IdleNeighbours {
    get { scope == .all ? all : host }
    set { if scope == .all { all = newValue } else { host = newValue } }
  }
}

/// The idle connections of a pool or of a host, in the order in which they became idle. It is a list whose links are in
/// the connections, so each change of it takes the same time, however many connections there are.
struct IdleOrder: Sendable {
  private let scope: IdleLinks.Scope
  private var first = 0
  private var last = 0

  init(of scope: IdleLinks.Scope) { self.scope = scope }

  /// The connection that has been idle longest; nil if there is none.
  var longest: Int? { first == 0 ? nil : first }

  /// Adds a connection that becomes idle.
  mutating func append(
    _ connection: Int, _ state: inout PoolConnection, in connections: inout NumberTable<PoolConnection>
  ) {
    state.links[scope] = IdleNeighbours(older: last)
    if last == 0 { first = connection } else { connections.update(last) { $0?.links[scope].newer = connection } }
    last = connection
  }

  /// Removes a connection.
  mutating func remove(_ state: PoolConnection, in connections: inout NumberTable<PoolConnection>) {
    let neighbours = state.links[scope]
    if neighbours.older == 0 {
      first = neighbours.newer
    } else {
      connections.update(neighbours.older) { $0?.links[scope].newer = neighbours.newer }
    }
    if neighbours.newer == 0 {
      last = neighbours.older
    } else {
      connections.update(neighbours.newer) { $0?.links[scope].older = neighbours.older }
    }
  }
}
