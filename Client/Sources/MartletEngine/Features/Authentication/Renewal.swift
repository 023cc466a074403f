import MartletSemantics
import Synchronization

/// A value that many calls use and one task at a time renews, such as an access token.
///
/// Each renewed value has a number. A call keeps the number of the value that it has sent, and names it if the server
/// refuses the value: ``value(insteadOf:by:renew:)`` then renews the value once for all calls that name the same
/// number, and gives calls with an older number the newer value. How often one call tries is a rule of the caller: keep
/// it in a ``CallLocal``, because a server may refuse every value.
///
/// `Tests/Consumer/Sources/extending/RenewedKeyRing.swift` is a source of credentials that uses it.
///
/// | promise | who relies on it |
/// | --- | --- |
/// | One renewal runs at a time. The closure of the call that started it runs; other calls wait for its result. | all |
/// | It runs in its own task, and goes on if all its waiters are cancelled: a server that issues a new token may have invalidated the old one. | token sources |
/// | While a renewal runs, callers wait for it, even if the last value is usable. | SAP's passwords and certificates, authenticators of tasks |
/// | A refused value is not used again, even if its renewal fails. The next renewal gets it as the last value. | token sources |
/// | A value may be a failure: `Renewal<Result<…>>` keeps it, with a number, until it is refused. | authenticators of tasks |
/// | The number is nil before the first value, and grows with each one. `Renewal<Void>` counts logins by it. | logins |
/// | A call never waits for a renewal that waits for the call; see ``CallContext``. It then continues without the value. | all |
/// | After ``use(_:)``, ``forget()`` and a removal, the result of a renewal that was running is discarded. | sign-outs |
///
/// The conditions may be called several times. They run outside of its lock, and may use the same object.
@_spi(Credentials) public final class Renewal<Value: Sendable>: Sendable {
  public typealias Version = RenewedValue<Value>
  /// Makes a new value. It gets the last one; nil if there was none. It returns nil if there is no value.
  public typealias Renew = @Sendable (Value?) async throws -> Value?
  private typealias State = RenewalState<Value, RunningWork<Version?>>

  /// The result of a request for the value.
  public enum Answer: Sendable {
    /// A value with its number.
    case version(Version)
    /// There is no value.
    case none
    /// The caller did not wait, or stopped waiting, because the running renewal waits for the caller or may do so. The
    /// caller continues without the value.
    case skipped

    /// Whether the caller did not wait.
    public var isSkipped: Bool { if case .skipped = self { true } else { false } }

    /// The value with its number; nil if there is none, or if the caller did not wait.
    public var version: Version? { if case .version(let version) = self { version } else { nil } }
  }

  /// How many times longer a request may wait if its value was refused.
  private static var waitAfterRefusal: Int { 5 }
  private let id = UniqueID()
  private let name: String
  private let state: Mutex<State>

  /// Makes a renewal. Its owner keeps it as a property.
  ///
  /// - Parameters:
  ///   - value: the first value; nil if it has to be obtained.
  ///   - name: what calls wait for, in their notes: `the access token`.
  public init(_ value: Value?, of name: String) {
    self.name = name
    state = Mutex(State(value))
  }

  /// The number of the current value, even if it was refused; nil if there is none. It may change at once.
  public var number: Int? { state.withLock { $0.number } }

  /// The running renewal; nil if there is none.
  var running: RunningWork<Version?>? { state.withLock { $0.runningWork } }

  /// Returns the value if it can be used at once; nil if it has to be renewed or awaited.
  func usable(where isUsable: (Version) -> Bool) -> Version? {
    guard let usable = state.withLock({ $0.usable }), isUsable(usable) else { return nil }
    return usable
  }

  /// Returns the value if it meets the condition, a new one otherwise.
  ///
  /// - Throws: the error of the renewal, to all that wait for it; a `CancellationError` to a cancelled caller.
  public func value(
    where isUsable: (Version) -> Bool, by call: Call, renew: @escaping Renew
  ) async throws -> Answer {
    while true {
      let seen = state.withLock { $0.usable }
      if let seen, isUsable(seen) { return .version(seen) }
      let work = RunningWork<Version?>(owner: id)
      guard let decision = state.withLock({ $0.renew(unlessNewerThan: seen, work) }) else { continue }
      return try await result(of: decision, call, renew)
    }
  }

  /// Returns a value other than the refused one.
  ///
  /// A limited wait may last longer than in ``value(where:by:renew:)``: the request cannot succeed without the value,
  /// and a user may be signing in.
  ///
  /// - Parameter wasRefused: whether the server refused this value. Usually it compares the number.
  /// - Throws: the error of the renewal, to all that wait for it; a `CancellationError` to a cancelled caller.
  public func value(
    insteadOf wasRefused: (Version) -> Bool, by call: Call, renew: @escaping Renew
  ) async throws -> Answer {
    while true {
      if let seen = state.withLock({ $0.usable }) {
        guard wasRefused(seen) else { return .version(seen) }
        guard state.withLock({ $0.refuse(seen) }) else { continue }
      }
      let work = RunningWork<Version?>(owner: id)
      guard let decision = state.withLock({ $0.renew(unlessNewerThan: nil, work) }) else { continue }
      return try await result(of: decision, call, factor: Self.waitAfterRefusal, renew)
    }
  }

  /// Replaces the value. The result of a running renewal is discarded, and its waiters get this value.
  public func use(_ value: Value?) {
    let (ended, version) = state.withLock { $0.use(value) }
    ended?.finish(.success(version))
  }

  /// Removes the value because the user signs out. The result of a running renewal is discarded, and its waiters get
  /// ``HTTPError/signedOut``.
  public func forget() {
    let (ended, _) = state.withLock { $0.use(nil) }
    ended?.finish(.failure(HTTPError.signedOut))
  }

  /// Removes the value if it meets the condition and no renewal runs. A newer value, and one that is being obtained,
  /// are left alone.
  public func remove(where isRemoved: (Version) -> Bool) {
    guard let seen = state.withLock({ $0.idle }), isRemoved(seen) else { return }
    state.withLock { $0.remove(seen) }
  }

  /// - Parameter factor: how many response timeouts the wait may last if the renewal may wait for the call.
  private func result(
    of decision: State.Decision, _ call: Call, factor: Int = 1, _ renew: @escaping Renew
  ) async throws -> Answer {
    let running: RunningWork<Version?>
    switch decision {
    case .wait(let work):
      running = work
      call.emit(.note("waits for \(name), which another call has requested"))
    case .start(let work, let renewal, let old):
      running = work
      call.emit(.note("waits for \(name)"))
      work.context.perform { _ = Task { await run(renewal, work, from: old, renew) } }
    }
    let limit = running.limit(for: call, factor: factor)
    guard let result = try await running.result(in: call.context, within: limit) else { return .skipped }
    return result.map(Answer.version) ?? .none
  }

  private func run(_ renewal: Int, _ work: RunningWork<Version?>, from old: Value?, _ renew: Renew) async {
    let result: Result<Value?, any Error>
    do { result = .success(try await renew(old)) } catch { result = .failure(error) }
    switch state.withLock({ $0.finish(renewal: renewal, with: (try? result.get()) ?? nil) }) {
    case .finished(let version): work.finish(result.map { _ in version })
    case .discarded: break  // The code that discarded it ends the waits, with the value that counts.
    }
  }
}

/// A value of a ``Renewal`` and its number.
@_spi(Credentials) public struct RenewedValue<Value: Sendable>: Sendable {
  /// The value.
  public let value: Value
  /// Newer values have higher numbers. There may be gaps.
  public let number: Int
}

/// The state machine of a ``Renewal``, without locks and tasks: callers use the value, wait for the running renewal, or
/// start one.
///
/// If an old value is refused while a newer one is available, there is no renewal. Callers wait for a `Handle`: the
/// work of a renewal.
package struct RenewalState<Value: Sendable, Handle: Sendable>: Sendable {
  package typealias Version = RenewedValue<Value>

  package enum Decision: Sendable {
    /// Wait for the running renewal.
    case wait(Handle)
    /// Start a renewal and wait for it. `from` is the last value; nil if there was none.
    case start(Handle, renewal: Int, from: Value?)
  }

  /// The end of a renewal.
  package enum Ending: Sendable {
    /// It counts. The version is nil if there is no value.
    case finished(Version?)
    /// ``RenewalState/use(_:)`` has ended it before.
    case discarded
  }

  private var latest: Version?
  private var isRefused = false
  private var running: (renewal: Int, work: Handle)?
  /// The last number of a renewal or of a version: both are counted together, so a version may skip numbers.
  private var lastNumber = 0

  /// The work of the running renewal; nil if none runs.
  package var runningWork: Handle? { running?.work }

  /// The number of the current value; nil if there is none.
  package var number: Int? { latest?.number }

  package init(_ value: Value?) { latest = value.map { Version(value: $0, number: 0) } }

  /// The value while no renewal runs; nil if there is none, or one runs.
  package var idle: Version? { running == nil ? latest : nil }

  /// The value if it was not refused and no renewal runs.
  package var usable: Version? { isRefused ? nil : idle }

  /// Decides how a caller gets a new value.
  ///
  /// - Parameters:
  ///   - seen: the value that the caller found usable and cannot use; nil if there was none.
  ///   - work: the work of the renewal if one has to be started.
  /// - Returns: nil if there is another usable value in the meantime: the caller looks again.
  package mutating func renew(unlessNewerThan seen: Version?, _ work: Handle) -> Decision? {
    if let usable, usable.number != seen?.number { return nil }
    if let running { return .wait(running.work) }
    lastNumber += 1
    running = (renewal: lastNumber, work: work)
    return .start(work, renewal: lastNumber, from: latest?.value)
  }

  /// Notes that a value was refused. Returns false if it is not the current one any more, or if a renewal runs.
  package mutating func refuse(_ version: Version) -> Bool {
    guard let idle, idle.number == version.number else { return false }
    isRefused = true
    return true
  }

  /// Removes a value, unless there is a newer one, or a renewal runs.
  package mutating func remove(_ version: Version) { if idle?.number == version.number { latest = nil } }

  /// Ends a renewal.
  ///
  /// - Parameter value: its result; nil if there is none.
  package mutating func finish(renewal: Int, with value: Value?) -> Ending {
    guard running?.renewal == renewal else { return .discarded }
    running = nil
    return .finished(value.map { set($0) })
  }

  /// Replaces the value, and discards the result of the running renewal.
  ///
  /// - Returns: the work of that renewal, and the version for its waiters.
  package mutating func use(_ value: Value?) -> (ended: Handle?, version: Version?) {
    let ended = running?.work
    running = nil
    if value == nil { latest = nil }
    return (ended, value.map { set($0) })
  }

  private mutating func set(_ value: Value) -> Version {
    lastNumber += 1
    let version = Version(value: value, number: lastNumber)
    latest = version
    isRefused = false
    return version
  }
}
