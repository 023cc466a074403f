#if os(Linux)
import MartletEngine
struct PoolState<Key: Hashable> {
  enum Action { case use(connection: Int, waiter: Int), open(connection: Int, key: Key), close(Int), fail(waiter: Int) }
  struct Member { let key: Key; var isBusy = true; var opener: Int? }
  var members: [Int: Member] = [:]
  var idle: [Int] = []
  var queue: [(Int, Key)] = []
  var last = 0
  let perHost: Int
  init(_ c: ConnectionConfiguration) { perHost = c.connectionsPerHost ?? .max }
  mutating func request(_ waiter: Int, for key: Key, now: UInt64) -> [Action] {
    if let index = idle.lastIndex(where: { members[$0]?.key == key }) {
      let id = idle.remove(at: index)
      return [.use(connection: id, waiter: waiter)]
    }
    queue.append((waiter, key))
    return next(key)
  }
  mutating func next(_ key: Key) -> [Action] {
    let opening = members.values.count { $0.key == key && $0.opener != nil }
    let all = members.values.count { $0.key == key }
    if queue.count(where: { $0.1 == key }) > opening, all < perHost {
      last += 1
      members[last] = Member(key: key, opener: 1)
      return [.open(connection: last, key: key)]
    }
    return []
  }
  mutating func becameReady(_ id: Int, capacity: Int, now: UInt64) -> [Action] {
    members[id]?.opener = nil
    return released(id, now: now)
  }
  mutating func released(_ id: Int, now: UInt64) -> [Action] {
    guard let key = members[id]?.key else { return [] }
    if let index = queue.firstIndex(where: { $0.1 == key }) {
      return [.use(connection: id, waiter: queue.remove(at: index).0)]
    }
    idle.append(id)
    return []
  }
  mutating func failed(_ id: Int, now: UInt64) -> [Action] {
    guard let key = members.removeValue(forKey: id)?.key else { return [] }
    guard let index = queue.firstIndex(where: { $0.1 == key }) else { return [] }
    return [.fail(waiter: queue.remove(at: index).0)] + next(key)
  }
  mutating func closed(_ id: Int, now: UInt64) -> [Action] {
    guard let key = members.removeValue(forKey: id)?.key else { return [] }
    idle.removeAll { $0 == id }
    return next(key)
  }
  mutating func cancelled(_ waiter: Int, now: UInt64) -> [Action] {
    queue.removeAll { $0.0 == waiter }
    return []
  }
}
#endif
