@_spi(Toolkit) import MartletEngine
import MartletSemantics

/// The running loads and their waiters. It is a value that the loader's lock protects.
///
/// A load is one download, from which the renditions for its waiters are made. It ends when it has no more waiters.
struct LoadTable: Sendable {
  typealias Number = UInt64

  /// The properties that callers must share to share a download.
  struct Identity: Sendable, Hashable {
    let request: RequestIdentity
    /// 0 for a load that equal requests share; a unique number for a load that belongs to one caller.
    let instance: UInt64
    let policy: CachePolicy

    /// Whether equal requests share the load, and its images may be cached.
    var isShared: Bool { instance == 0 }

    /// Whether the request is sent to the server even if there is a stored response.
    var isReload: Bool { policy == .reloadIgnoringCacheData || policy == .reloadRevalidatingCacheData }
  }

  /// A caller that waits for a rendition.
  struct Waiter: Sendable {
    let rendition: Rendition
    let processors: [any ImageProcessor]
    let priority: ImagePriority
    /// The image; nil if the caller has to stop waiting, and to join the load that follows.
    let result: OneShot<LoadedImage?>
    let observer: LoadObserver?
  }

  /// The progress of a load.
  enum Phase: Sendable {
    /// The load waits for a slot.
    case queued
    /// The request was sent and has no response yet.
    case requested
    case answered
  }

  /// The membership of a waiter in a load.
  struct Membership: Sendable {
    let load: Number
    let waiter: UInt64
    let work: RunningWork<Void>
    /// The priority of a new load, which the caller has to start; nil if the load was already running.
    let priorityOfNewLoad: PriorityBox?
  }

  private struct Load {
    let identity: Identity
    let priority: PriorityBox
    let work: RunningWork<Void>
    /// The waiters by number. The one that started the load has the load's own number.
    private(set) var waiters: [UInt64: Waiter] = [:]
    /// How many waiters have each priority: many cells may wait for one picture.
    fileprivate var counts: [ImagePriority: Int] = [:]
    var phase = Phase.queued
    /// The minimum priority of the load, whatever its waiters' priorities.
    var minimumPriority = ImagePriority.low
    var task: Task<Void, Never>?

    mutating func add(_ waiter: Waiter, _ number: UInt64) {
      waiters[number] = waiter
      counts[waiter.priority, default: 0] += 1
      updatePriority()
    }

    /// Removes a waiter; returns nil if it is no longer there.
    mutating func remove(_ number: UInt64) -> Waiter? {
      guard let waiter = waiters.removeValue(forKey: number) else { return nil }
      let count = counts[waiter.priority, default: 1] - 1
      counts[waiter.priority] = count > 0 ? count : nil
      if !waiters.isEmpty { updatePriority() }
      return waiter
    }

    func updatePriority() { priority.set(counts.keys.reduce(minimumPriority, max).rawValue) }
  }

  private var loads: [Number: Load] = [:]
  private var numbers: [Identity: Number] = [:]
  private var lastNumber: UInt64 = 0

  /// Adds a waiter to the load with this identity; makes the load if none is running.
  ///
  /// - Parameter mayQueue: whether the waiter may join a queued load; if not, the result is nil for such a load.
  mutating func join(
    _ waiter: Waiter, for identity: Identity, mayQueue: Bool, _ work: @autoclosure () -> RunningWork<Void>
  ) -> Membership? {
    lastNumber += 1
    // Not the whole load: adding to a second reference would copy all waiters.
    if let number = numbers[identity], let (phase, work) = loads[number].map({ ($0.phase, $0.work) }) {
      guard mayQueue || phase != .queued else { return nil }
      loads[number]?.add(waiter, lastNumber)
      return Membership(load: number, waiter: lastNumber, work: work, priorityOfNewLoad: nil)
    }
    var load = Load(identity: identity, priority: PriorityBox(waiter.priority.rawValue), work: work())
    load.add(waiter, lastNumber)
    loads[lastNumber] = load
    numbers[identity] = lastNumber
    return Membership(load: lastNumber, waiter: lastNumber, work: load.work, priorityOfNewLoad: load.priority)
  }

  /// Stores the task of a load. Returns false if the load has already ended, so that the task must be cancelled.
  mutating func setTask(_ task: Task<Void, Never>, of load: Number) -> Bool {
    loads[load]?.task = task
    return loads[load] != nil
  }

  /// Removes a waiter. If it was the last one, the load ends, and its task is returned.
  mutating func leave(_ membership: Membership) -> Task<Void, Never>? {
    guard loads[membership.load]?.remove(membership.waiter) != nil else { return nil }
    return loads[membership.load]?.waiters.isEmpty == true ? remove(membership.load)?.task : nil
  }

  /// Returns the waiter with the highest priority. If there is none, the load ends, and nil is returned.
  mutating func next(_ load: Number) -> Waiter? {
    let waiter = loads[load]?.waiters.max { ($0.value.priority, $1.key) < ($1.value.priority, $0.key) }?.value
    if waiter == nil { remove(load) }
    return waiter
  }

  /// Removes the waiters for a rendition, and returns their results, which the caller has to set. If no other waiter is
  /// left, the load ends in the same step, so that a later caller begins a new one.
  mutating func takeWaiters(for rendition: Rendition, of load: Number) -> [OneShot<LoadedImage?>] {
    let taken = loads[load]?.waiters.filter { $0.value.rendition == rendition } ?? [:]
    for waiter in taken.keys { _ = loads[load]?.remove(waiter) }
    if loads[load]?.waiters.isEmpty == true { remove(load) }
    return taken.values.map(\.result)
  }

  /// Ends a load. Returns the results of its waiters, which the caller has to set.
  mutating func end(_ load: Number) -> [OneShot<LoadedImage?>] {
    remove(load).map { $0.waiters.values.map(\.result) } ?? []
  }

  /// Ends loads. Returns the results of their waiters, which the caller has to set, and their tasks.
  mutating func end(
    where matches: (Identity) -> Bool
  ) -> (results: [OneShot<LoadedImage?>], tasks: [Task<Void, Never>]) {
    let ended = loads.filter { matches($0.value.identity) }.keys.compactMap { remove($0) }
    return (ended.flatMap { $0.waiters.values.map(\.result) }, ended.compactMap(\.task))
  }

  /// Replaces a load that makes no progress before its response: the next caller begins another load, which later
  /// callers join. Returns the results of the waiters that joined the old one, which the caller has to set to nil: the
  /// load may be waiting for one of them.
  mutating func abandon(_ load: Number) -> [OneShot<LoadedImage?>] {
    guard let abandoned = loads[load], abandoned.phase == .requested else { return [] }
    numbers[abandoned.identity] = nil
    return abandoned.waiters.filter { $0.key != load }.values.map(\.result)
  }

  func isRunning(_ load: Number) -> Bool { loads[load] != nil }

  mutating func set(_ phase: Phase, of load: Number) { loads[load]?.phase = phase }

  /// Returns the waiters that observe a load, in the order in which they joined it.
  func observing(_ load: Number) -> [Waiter] {
    loads[load]?.waiters.filter { $0.value.observer != nil }.sorted { $0.key < $1.key }.map(\.value) ?? []
  }

  /// Returns the number of waiters.
  func waiterCount(for identity: Identity) -> Int { numbers[identity].flatMap { loads[$0]?.waiters.count } ?? 0 }

  /// Sets the minimum priority of a load, whatever its waiters' priorities.
  mutating func setMinimumPriority(_ priority: ImagePriority, of identity: Identity) {
    guard let load = numbers[identity] else { return }
    loads[load]?.minimumPriority = priority
    loads[load]?.updatePriority()
  }

  @discardableResult
  private mutating func remove(_ load: Number) -> Load? {
    let removed = loads.removeValue(forKey: load)
    if let removed {
      if numbers[removed.identity] == load { numbers[removed.identity] = nil }
      removed.work.finish(.success(()))  // only marks the work as finished: each waiter has its own result
    }
    return removed
  }
}
