@_spi(Toolkit) import MartletEngine
import MartletObservation
import MartletSemantics
@_spi(Toolkit) import MartletServer
import Synchronization

/// The recorded calls, in a ring that limits the number of calls, and of bytes of bodies and messages.
///
/// A listener only adds values to it. It formats nothing and notifies no page: a page asks for the calls whose revision
/// is above the last one that it has seen. So a page that does not read costs nothing, and neither does an inspector
/// without an open page.
final class CallLog: Sendable {
  let bodyLimit: Int
  let redaction: Redaction
  let began = Date.now
  /// When the log began. Each call reads this clock several times, and it is faster than a `ContinuousClock`.
  private let start = SystemCalls.uptimeNanoseconds
  private let callLimit: Int
  private let byteLimit: Int
  private let ring = Mutex(Ring())
  private let bytes = Atomic(0)
  private let counters = Mutex(CallCounters())
  let pools: PoolReading?
  let revisions = RevisionCounter()
  /// Whether the page may send calls again.
  let allowsResending: Bool
  /// Keeps the calls that have ended; nil if they are kept in memory only.
  private let file: CallFile?
  /// Why the last call is not in the file; nil if it is, or there is no file.
  private let fileProblem = Mutex<String?>(nil)
  private let closed = Atomic(false)

  private struct Ring: Sendable {
    /// The calls, the oldest first, after free places: the calls move only when half of the places are free.
    private var places: [RecordedCall?] = []
    private var free = 0
    /// How many times calls were removed.
    var removals = 0
    var total = 0

    var count: Int { places.count - free }

    var calls: [RecordedCall] { places.compactMap(\.self) }

    func call(_ id: UInt64) -> RecordedCall? { places.first { $0?.id == id } ?? nil }

    mutating func append(_ call: RecordedCall) {
      places.append(call)
      total += 1
    }

    mutating func removeOldest() -> RecordedCall? {
      guard free < places.count else { return nil }
      removals += 1
      let index = places[free...].firstIndex { $0?.isPinned == false } ?? free
      guard index == free else { return places.remove(at: index) }
      free += 1
      defer { if free > count { removeFreePlaces() } }
      return places[index].take()
    }

    mutating func removeAll(where isRemoved: (RecordedCall) -> Bool) {
      removeFreePlaces()
      removals += 1
      places.removeAll { $0.map(isRemoved) ?? true }
    }

    private mutating func removeFreePlaces() {
      places.removeFirst(free)
      free = 0
    }
  }

  /// - Throws: an error of kind `.file` if the file of the options cannot be used.
  init(_ options: Inspector.Options) throws(HTTPError) {
    allowsResending = options.allowsResending
    file = if let url = options.file { try CallFile(url, limit: options.fileLimit) } else { nil }
    bodyLimit = max(0, options.bodyLimit)
    redaction = options.redaction
    callLimit = max(1, options.callLimit)
    byteLimit = max(0, options.byteLimit)
    pools = options.pools.map(PoolReading.init)
    restore()
  }

  /// Adds the calls of the file. Their numbers are higher than the numbers of all calls of this process.
  private func restore() {
    let records = file?.read() ?? []
    for (index, (record, size)) in records.suffix(callLimit).enumerated() {
      guard var call = ArchivedCall(record.entries, since: began, redaction) else { continue }
      (call.label, call.bytes) = (record.label, size)
      grow(by: add { RecordedCall(Self.firstRestored + UInt64(index), call, revisions) }.heldBytes)
    }
  }

  /// The number of the first restored call, which a page's script still represents exactly.
  private static let firstRestored: UInt64 = 1 << 52

  /// The time since the log began.
  var elapsed: Duration { .nanoseconds(elapsedNanoseconds) }

  private var elapsedNanoseconds: UInt64 { SystemCalls.uptimeNanoseconds &- start }

  // MARK: - Recording

  /// Records a new call; nil after the end of the log.
  ///
  /// - Parameter session: the session of the call, for sending it again.
  func begin(
    _ id: UInt64, label: String?, _ request: HTTPRequest, in session: WeakSession? = nil
  ) -> RecordedCall? {
    guard !isClosed else { return nil }
    let repetition = session.map { Repetition(of: request, in: $0, bodyLimit: bodyLimit) }
    let call = add { RecordedCall(id, label: label, request, start: elapsed, repetition, revisions) }
    if let repetition { grow(by: repetition.memory) }
    return call
  }

  /// Adds the call that the closure makes, under the lock: a page that sees its revision sees the call.
  @discardableResult
  func add(_ make: () -> RecordedCall) -> RecordedCall {
    let (call, removed) = ring.withLock { ring -> (RecordedCall, RecordedCall?) in
      let call = make()
      ring.append(call)
      return (call, ring.count > callLimit ? ring.removeOldest() : nil)
    }
    if let removed { drop(removed) }
    return call
  }

  /// Adds an event to a call, and counts the call when its last event arrives.
  func update(_ call: RecordedCall, _ event: Event) {
    let nanoseconds = elapsedNanoseconds
    let grown = call.update(event, at: .nanoseconds(nanoseconds), bodyLimit: bodyLimit)
    if case .finished = event {
      let outcome = call.outcome
      counters.withLock { $0.add(outcome, at: Int(nanoseconds / 1_000_000_000)) }
      if let file, let record = record(of: call) {
        note(file.append(record) { state.calls.compactMap(self.record) })
      }
    }
    grow(by: grown)
  }

  /// The call as the file keeps it; nil if it has not ended, or nothing of it was kept.
  private func record(of call: RecordedCall) -> CallFile.Record? {
    let content = call.snapshot
    guard content.end != nil, !content.isDropped else { return nil }
    let entries = content.attempts(of: call, self).compactMap { $0.entry(redaction) }
    return entries.isEmpty ? nil : CallFile.Record(label: call.label, entries: entries)
  }

  /// Reports once why calls are not kept.
  private func note(_ problem: String?) {
    let isNew = fileProblem.withLock { known in
      defer { known = problem }
      return problem != nil && known == nil
    }
    if isNew, let problem { SystemCalls.report("Inspector: the calls are not kept: \(problem)") }
  }

  /// Why the last call is not in the file.
  var problem: String? { fileProblem.withLock { $0 } }

  private func grow(by grown: Int) {
    guard grown > 0, bytes.add(grown, ordering: .relaxed).newValue > byteLimit else { return }
    while bytes.load(ordering: .relaxed) > byteLimit, let oldest = ring.withLock({ $0.removeOldest() }) {
      drop(oldest)
    }
  }

  private func drop(_ call: RecordedCall) { bytes.subtract(call.drop(), ordering: .relaxed) }

  // MARK: - Reading

  /// The number of the last change.
  var revision: UInt64 { revisions.last }

  /// The calls, the oldest first, how many times calls were removed, and how many calls there were.
  var state: (calls: [RecordedCall], removals: Int, total: Int) {
    ring.withLock { ($0.calls, $0.removals, $0.total) }
  }

  /// Returns how many calls have ended, and the counters of each second from the given one on.
  func counters(since second: Int) -> (count: Int, seconds: [CallCounters.Second]) {
    counters.withLock { ($0.count, $0.since(second)) }
  }

  var heldBytes: Int { bytes.load(ordering: .relaxed) }

  func call(_ id: UInt64) -> RecordedCall? { ring.withLock { $0.call(id) } }

  // MARK: - Changing

  func pin(_ id: UInt64, _ isPinned: Bool) { call(id)?.pin(isPinned) }

  /// Removes all calls that are not pinned. Calls in progress are not recorded any further.
  func clear() {
    let removed = ring.withLock { ring in
      let removed = ring.calls.filter { !$0.isPinned }
      ring.removeAll { !$0.isPinned }
      return removed
    }
    removed.forEach(drop)
    if let file { note(file.keepOnly(state.calls.compactMap(record))) }
    _ = revisions.next()
  }

  /// Whether the log has ended: it records nothing more.
  var isClosed: Bool { closed.load(ordering: .relaxed) }

  func close() {
    closed.store(true, ordering: .relaxed)
    file?.close()
  }
}

/// Numbers the changes of a log.
final class RevisionCounter: Sendable {
  private let number = Atomic<UInt64>(0)

  var last: UInt64 { number.load(ordering: .relaxed) }

  func next() -> UInt64 { number.add(1, ordering: .relaxed).newValue }
}
