/// The state machine of a ``Renewal``, without locks and tasks: callers use the value, wait for the running renewal, or
/// start one.
///
/// If an old value is refused while a newer one is available, there is no renewal. Callers wait for a `Handle`: the
/// work of a renewal.
struct RenewalState<Value: Sendable, Handle: Sendable>: Sendable {
  typealias Version = RenewedValue<Value>

  enum Decision: Sendable {
    /// Leave without a value: the user has signed out.
    case leave
    /// Wait for the running renewal.
    case wait(Handle)
    /// Start a renewal and wait for it. `from` is the last value; nil if there was none.
    case start(Handle, renewal: Int, from: Value?)
  }

  /// The end of a renewal.
  enum Ending: Sendable {
    /// Its waiters get the version; nil if there is no value, or none for them.
    case finished(Version?)
    /// ``RenewalState/use(_:begun:)`` or ``RenewalState/forget()`` has ended it before.
    case discarded
  }

  /// The position of the last sign-out; the owner of the state sets it before each use. What began before it counts no
  /// more.
  var signOut: UInt64 = 0
  /// The value of the current or of the former user.
  private(set) var held: Version?
  /// When the value was set, or the work began that obtained it.
  private var begun: UInt64
  private var isRefused = false
  private var running: (renewal: Int, work: Handle, begun: UInt64)?
  /// Renewals of the former user that another one has replaced, while callers may wait for them.
  private var replaced: [(renewal: Int, work: Handle)] = []
  /// The last number of a renewal or of a version: both are counted together, so a version may skip numbers.
  private var lastNumber = 0

  /// The value, even if it was refused.
  var latest: Version? { begun < signOut ? nil : held }

  /// The work of the running renewal; nil if none runs.
  var runningWork: Handle? { running.flatMap { $0.begun < signOut ? nil : $0.work } }

  /// Whether a renewal is in progress, and was not discarded.
  func isRunning(_ renewal: Int) -> Bool { running?.renewal == renewal && runningWork != nil }

  /// The number of the current value; nil if there is none.
  var number: Int? { latest?.number }

  init(_ value: Value?, begun: UInt64 = 0) {
    held = value.map { Version(value: $0, number: 0) }
    self.begun = begun
  }

  /// The value while no renewal runs; nil if there is none, or one runs.
  var idle: Version? { runningWork == nil ? latest : nil }

  /// The value if it was not refused.
  var accepted: Version? { isRefused ? nil : latest }

  /// The value if it was not refused and no renewal runs.
  var usable: Version? { isRefused ? nil : idle }

  /// Decides how a caller gets a new value.
  ///
  /// - Parameters:
  ///   - seen: the value that the caller found usable and cannot use; nil if there was none.
  ///   - work: the work of the renewal if one has to be started.
  ///   - begun: when that work begins.
  ///   - hasSignedOut: whether the caller's user has signed out.
  /// - Returns: nil if there is another usable value in the meantime: the caller looks again.
  mutating func renew(
    unlessNewerThan seen: Version?, _ work: Handle, begun: UInt64 = 0, hasSignedOut: Bool = false
  ) -> Decision? {
    if hasSignedOut { return .leave }
    if let usable, usable.number != seen?.number { return nil }
    if let runningWork { return .wait(runningWork) }
    if let running { replaced.append((running.renewal, running.work)) }
    lastNumber += 1
    running = (renewal: lastNumber, work: work, begun: begun)
    return .start(work, renewal: lastNumber, from: latest?.value)
  }

  /// Notes that a value was refused, also while it is being renewed: that may fail. Returns false if it is not the
  /// current one any more.
  mutating func refuse(_ version: Version) -> Bool {
    guard latest?.number == version.number else { return false }
    isRefused = true
    return true
  }

  /// Removes a value, unless there is a newer one, or a renewal runs.
  ///
  /// - Returns: whether it was removed.
  mutating func remove(_ version: Version) -> Bool {
    guard idle?.number == version.number else { return false }
    held = nil
    return true
  }

  /// Ends a renewal.
  ///
  /// - Parameter value: its result; nil if there is none.
  mutating func finish(renewal: Int, with value: Value?) -> Ending {
    if let index = replaced.firstIndex(where: { $0.renewal == renewal }) {
      replaced.remove(at: index)
      return .finished(nil)
    }
    guard let finished = running, finished.renewal == renewal else { return .discarded }
    running = nil
    // Whoever waits for one from before a sign-out began before it, too.
    return .finished(finished.begun < signOut ? nil : value.map { set($0, begun: finished.begun) })
  }

  /// Replaces the value, and discards the result of the running renewal.
  ///
  /// - Parameter begun: when that happens, or when the work began that obtained the value.
  /// - Returns: the works whose waits end, and the version for the waiters.
  mutating func use(_ value: Value?, begun: UInt64 = 0) -> (ended: [Handle], version: Version?) {
    let ended = takeReplaced() + (running.take().map { [$0.work] } ?? [])
    if value == nil { held = nil }
    return (ended, value.map { set($0, begun: begun) })
  }

  /// Removes what began before the sign-out.
  ///
  /// - Returns: the works whose waits end.
  mutating func forget() -> [Handle] {
    var ended = takeReplaced()
    if runningWork == nil, let former = running.take() { ended.append(former.work) }
    if latest == nil { held = nil }
    return ended
  }

  private mutating func takeReplaced() -> [Handle] {
    defer { replaced = [] }
    return replaced.map(\.work)
  }

  private mutating func set(_ value: Value, begun: UInt64) -> Version {
    lastNumber += 1
    let version = Version(value: value, number: lastNumber)
    held = version
    self.begun = begun
    isRefused = false
    return version
  }
}
