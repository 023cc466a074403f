import MartletSemantics
import Synchronization

/// A value that many calls use and one task at a time renews, such as an access token.
///
/// A renewal runs in its own task, and goes on even if all its waiters are cancelled: a server that issues a new token
/// may have invalidated the old one, so the result must not be lost. It is kept for the next caller.
@_spi(Credentials) public final class Renewal<Value: Sendable>: Sendable {
  public typealias Version = RenewedValue<Value>
  /// Makes a new value. It gets the last one; nil if there was none.
  public typealias Renew = @Sendable (Value?) async throws -> Value?
  private typealias State = RenewalState<Value, RunningWork<Version?>>

  /// The result of a request for the value.
  public enum Answer: Sendable {
    case version(Version)
    /// There is no value.
    case none
    /// The caller did not wait, or stopped waiting, because the running renewal waits for the caller or may do so. The
    /// caller continues without the value.
    case skipped

    public var isSkipped: Bool { if case .skipped = self { true } else { false } }

    public var version: Version? { if case .version(let version) = self { version } else { nil } }
  }

  /// How many times longer a request may wait if its value was refused.
  private static var waitAfterRefusal: Int { 5 }
  private let id = UniqueID()
  private let name: String
  private let state: Mutex<State>

  /// - Parameter name: what calls wait for, in their notes: `the access token`.
  public init(_ value: Value?, of name: String) {
    self.name = name
    state = Mutex(State(value))
  }

  /// The number of the current value, and the running renewal; each is nil if there is none.
  public var current: (number: Int?, running: RunningWork<Version?>?) {
    state.withLock { ($0.number, $0.runningWork) }
  }

  /// Returns the value if it can be used at once; nil if it has to be renewed or awaited.
  func usable(where isUsable: (Version) -> Bool) -> Version? { state.withLock { $0.usable(where: isUsable) } }

  /// Returns the value if it meets the condition, a new one otherwise.
  public func value(
    where isUsable: (Version) -> Bool, by call: Call, renew: @escaping Renew
  ) async throws -> Answer {
    let decision = state.withLock { $0.value(where: isUsable, RunningWork(owner: id)) }
    return try await result(of: decision, call, renew)
  }

  /// Returns a value other than the refused one.
  ///
  /// A limited wait may last longer than in ``value(where:by:renew:)``: the request cannot succeed without the value,
  /// and a user may be signing in.
  public func value(
    insteadOf wasRefused: (Version) -> Bool, by call: Call, renew: @escaping Renew
  ) async throws -> Answer {
    let decision = state.withLock { $0.replacement(where: wasRefused, RunningWork(owner: id)) }
    return try await result(of: decision, call, factor: Self.waitAfterRefusal, renew)
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

  /// - Parameter factor: how many response timeouts the wait may last if the renewal may wait for the call.
  private func result(
    of decision: State.Decision, _ call: Call, factor: Int = 1, _ renew: @escaping Renew
  ) async throws -> Answer {
    let running: RunningWork<Version?>
    switch decision {
    case .use(let version): return .version(version)
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
    let version = state.withLock { $0.finish(renewal: renewal, with: (try? result.get()) ?? nil) }
    work.finish(result.map { _ in version })
  }
}

/// A value of a ``Renewal`` and its number. Newer values have higher numbers.
@_spi(Credentials) public struct RenewedValue<Value: Sendable>: Sendable {
  public let value: Value
  public let number: Int
}

/// The state machine of a ``Renewal``, without locks and tasks: callers use the value, wait for the running renewal, or
/// start one.
///
/// If an old value is refused while a newer one is available, there is no renewal. A `Handle` is what callers wait for:
/// the work of a renewal.
package struct RenewalState<Value: Sendable, Handle: Sendable>: Sendable {
  package typealias Version = RenewedValue<Value>

  package enum Decision: Sendable {
    case use(Version)
    /// Wait for the running renewal.
    case wait(Handle)
    /// Start a renewal and wait for it. `from` is the last value; nil if there was none.
    case start(Handle, renewal: Int, from: Value?)
  }

  private var latest: Version?
  private var isRefused = false
  private var running: (renewal: Int, work: Handle)?
  private var lastNumber = 0

  /// The work of the running renewal; nil if none runs.
  package var runningWork: Handle? { running?.work }

  /// The number of the current value; nil if there is none.
  package var number: Int? { latest?.number }

  package init(_ value: Value?) { latest = value.map { Version(value: $0, number: 0) } }

  /// Decides how a caller gets a value that meets the condition.
  ///
  /// - Parameter work: the work of the renewal if one has to be started.
  package mutating func value(where isUsable: (Version) -> Bool, _ work: @autoclosure () -> Handle) -> Decision {
    usable(where: isUsable).map(Decision.use) ?? waitOrStart(work)
  }

  /// Returns the value if it can be used at once.
  func usable(where isUsable: (Version) -> Bool) -> Version? {
    guard running == nil, !isRefused, let latest, isUsable(latest) else { return nil }
    return latest
  }

  /// Decides how a caller gets a value other than the refused one, which meets the condition.
  ///
  /// - Parameter work: the work of the renewal if one has to be started.
  package mutating func replacement(
    where wasRefused: (Version) -> Bool, _ work: @autoclosure () -> Handle
  ) -> Decision {
    if running == nil, let latest {
      if wasRefused(latest) { isRefused = true }
      if !isRefused { return .use(latest) }
    }
    return waitOrStart(work)
  }

  /// Ends a renewal.
  ///
  /// - Parameter value: its result; nil if there is none.
  /// - Returns: the new version; nil if there is none, or if the result is discarded because ``use(_:)`` has replaced
  ///   it.
  package mutating func finish(renewal: Int, with value: Value?) -> Version? {
    guard running?.renewal == renewal else { return nil }
    running = nil
    return value.map { set($0) }
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

  private mutating func waitOrStart(_ work: () -> Handle) -> Decision {
    if let running { return .wait(running.work) }
    lastNumber += 1
    let new = (renewal: lastNumber, work: work())
    running = new
    return .start(new.work, renewal: new.renewal, from: latest?.value)
  }
}
