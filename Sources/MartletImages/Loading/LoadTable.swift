import MartletEngine
import MartletSemantics

/// The loads that are under way, and who waits for what of them: the machine inside the loader's lock.
///
/// A load is one download, of which as many renditions are made as somebody waits for. It ends when nobody waits any more.
struct LoadTable: Sendable {
  typealias Number = UInt64

  /// What one download serves.
  struct Identity: Sendable, Hashable {
    let route: RequestRoute
    let instance: UInt64
    let policy: CachePolicy

    /// Whether the origin is asked whatever is stored.
    var isReload: Bool { policy == .reloadIgnoringCacheData || policy == .reloadRevalidatingCacheData }
  }

  /// One caller.
  struct Seat: Sendable {
    let rendition: Rendition
    let processors: [any ImageProcessor]
    let priority: ImagePriority
    let gate: AnswerGate<LoadedImage>
    let observe: LoadObserver?
  }

  struct Ticket: Sendable {
    let load: Number
    let seat: UInt64
  }

  private struct Load {
    let identity: Identity
    let urgency: Urgency
    var seats: [UInt64: Seat] = [:]
    /// What the load was raised to, whoever waits.
    var floor = ImagePriority.low
    var task: Task<Void, Never>?

    func update() { urgency.set(seats.values.reduce(floor) { max($0, $1.priority) }) }
  }

  private var loads: [Number: Load] = [:]
  private var numbers: [Identity: Number] = [:]
  private var lastNumber: UInt64 = 0

  /// Takes a seat in the load of that identity.
  ///
  /// - Returns: the urgency of a new load, which is now to be started; nil where one is under way.
  mutating func board(_ seat: Seat, for identity: Identity) -> (Ticket, new: Urgency?) {
    lastNumber += 1
    if let load = numbers[identity] {
      loads[load]?.seats[lastNumber] = seat
      loads[load]?.update()
      return (Ticket(load: load, seat: lastNumber), nil)
    }
    let urgency = Urgency(seat.priority)
    loads[lastNumber] = Load(identity: identity, urgency: urgency, seats: [lastNumber: seat])
    numbers[identity] = lastNumber
    return (Ticket(load: lastNumber, seat: lastNumber), urgency)
  }

  /// Notes the task of a load; false where the load is over already, and the task for nobody.
  mutating func keep(_ task: Task<Void, Never>, for load: Number) -> Bool {
    loads[load]?.task = task
    return loads[load] != nil
  }

  /// Gives a seat up. Returns the load's task where it was the last one.
  mutating func leave(_ ticket: Ticket) -> Task<Void, Never>? {
    guard loads[ticket.load]?.seats.removeValue(forKey: ticket.seat) != nil else { return nil }
    guard loads[ticket.load]?.seats.isEmpty == false else { return remove(ticket.load)?.task }
    loads[ticket.load]?.update()
    return nil
  }

  /// The most urgent of those who wait; nil where nobody does, which ends the load.
  mutating func next(_ load: Number) -> Seat? {
    let seat = loads[load]?.seats.max { ($0.value.priority, $1.key) < ($1.value.priority, $0.key) }?.value
    if seat == nil { remove(load) }
    return seat
  }

  /// Those who wait for a rendition; they are served now. Where nobody else waits, the load ends in the same step: who asks
  /// after the answer asks anew.
  mutating func take(_ rendition: Rendition, of load: Number) -> [AnswerGate<LoadedImage>] {
    let served = loads[load]?.seats.filter { $0.value.rendition == rendition } ?? [:]
    for seat in served.keys { loads[load]?.seats[seat] = nil }
    if loads[load]?.seats.isEmpty == true { remove(load) } else { loads[load]?.update() }
    return served.values.map(\.gate)
  }

  /// Ends a load. Returns all who wait for it.
  mutating func close(_ load: Number) -> [AnswerGate<LoadedImage>] {
    remove(load).map { $0.seats.values.map(\.gate) } ?? []
  }

  /// Ends the loads that are meant. Returns who waits for them, and their tasks.
  mutating func close(
    where isMeant: (Identity) -> Bool
  ) -> (gates: [AnswerGate<LoadedImage>], tasks: [Task<Void, Never>]) {
    let closed = numbers.filter { isMeant($0.key) }.values.compactMap { remove($0) }
    return (closed.flatMap { $0.seats.values.map(\.gate) }, closed.compactMap(\.task))
  }

  func isUnderWay(_ load: Number) -> Bool { loads[load] != nil }

  /// Those who want to see how a load goes on, the first that came first.
  func watching(_ load: Number) -> [Seat] {
    loads[load]?.seats.filter { $0.value.observe != nil }.sorted { $0.key < $1.key }.map(\.value) ?? []
  }

  /// How many wait for a load.
  func waiting(for identity: Identity) -> Int { numbers[identity].flatMap { loads[$0]?.seats.count } ?? 0 }

  mutating func raise(_ identity: Identity, to priority: ImagePriority) {
    guard let load = numbers[identity], let floor = loads[load]?.floor else { return }
    loads[load]?.floor = max(floor, priority)
    loads[load]?.update()
  }

  @discardableResult
  private mutating func remove(_ load: Number) -> Load? {
    let removed = loads.removeValue(forKey: load)
    if let removed { numbers[removed.identity] = nil }
    return removed
  }
}
