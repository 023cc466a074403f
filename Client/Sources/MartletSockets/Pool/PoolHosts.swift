/// The hosts of a pool's keys, with their connections. Keys refer to them by index, because hashing a host is not
/// cheap.
struct PoolHosts<Host: Hashable & Sendable>: Sendable {
  /// What stands under the limit of a host.
  struct Use: Sendable {
    fileprivate let host: LimitedHost<Host>
    /// The number of keys with this host.
    fileprivate var keyCount = 0
    /// The number of connections, including those that are being opened.
    var connectionCount = 0
    var idle = IdleOrder(of: .host)

    fileprivate init(host: LimitedHost<Host>) { self.host = host }
  }

  private var uses: [Use] = []
  private var indices: [LimitedHost<Host>: Int] = [:]
  private var unused: [Int] = []

  /// The number of hosts.
  var count: Int { indices.count }

  subscript(index: Int) -> Use {
    get { uses[index] }
    _modify { yield &uses[index] }
  }

  /// How many connections there are to a host.
  func connectionCount(to host: LimitedHost<Host>) -> Int { indices[host].map { uses[$0].connectionCount } ?? 0 }

  /// Counts a key of a host. Returns the host's index.
  mutating func addKey(of host: LimitedHost<Host>) -> Int {
    let index = indices[host] ?? add(host)
    uses[index].keyCount += 1
    return index
  }

  private mutating func add(_ host: LimitedHost<Host>) -> Int {
    let index = unused.popLast() ?? uses.count
    if index < uses.count { uses[index] = Use(host: host) } else { uses.append(Use(host: host)) }
    indices[host] = index
    return index
  }

  /// Removes a key that has no connections. The host is forgotten with its last key.
  mutating func removeKey(ofHost index: Int) {
    uses[index].keyCount -= 1
    guard uses[index].keyCount == 0 else { return }
    indices[uses[index].host] = nil
    unused.append(index)
  }
}
