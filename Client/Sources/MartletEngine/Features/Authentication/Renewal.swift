import MartletSemantics
import Synchronization

/// A value that many calls use and one of them renews, such as an access token.
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
/// | One renewal at a time counts. The closure of the call that started it runs; other calls wait for its result. | all |
/// | It runs in its own task, without a limit, and goes on if all its waiters are cancelled: a server that issues a new token may have invalidated the old one. A cancelled caller starts none. | tokens, passwords, logins, SAP's passwords and certificates, authenticators of tasks |
/// | The task inherits the task-local values of the call that started it. | the beginning of SAP's logins, values of tasks |
/// | Its effects and the new state are there before its waiters continue. | logins |
/// | No closure is kept after its renewal; it may be released a little after the waiters continue. | logins and authenticators, whose closures hold their owner; SAP's observers, which must not retain the app's objects |
/// | While a renewal runs, callers wait for it, even if the last value is usable. | SAP's passwords and certificates, authenticators of tasks |
/// | A refused value is not used again, even if its renewal fails, or if it is refused while it is being renewed. The next renewal gets it as the last value. | all; tokens for the last value |
/// | If a renewal fails or returns nil, a value that was not refused stays usable. | tokens |
/// | A new value may equal the refused one: it has another number, and its caller counts how often it tries. | passwords |
/// | A value may be a failure: `Renewal<Result<…>>` keeps it, with a number, until it is refused. | authenticators of tasks |
/// | The number grows with each value, the initial one included, and is never used again. Without a value it is nil. `Renewal<Void>` counts logins by it. | logins, certificates, tokens, authenticators of tasks |
/// | A call never waits for a renewal that waits for the call; see ``CallContext``. It continues without the value. So does every call of the closure, also if the renewal was discarded meanwhile. | all |
/// | Each renewal is a shared work of its own, with an owner, in the context of its closure (``CallContext/sharedWork``). | CSRF tokens, which are not shared between the requests of a renewal and others |
/// | A call that began after the renewal waits at most its response timeout, after a refusal five times that, and then continues without the value. One that began before it waits without a limit. | the documentation of tokens and of SAP's logins |
/// | Once the mark is set, a call that began before it gets ``Answer/none`` and starts no renewal, whoever waits. | tokens, logins, SAP's passwords and certificates |
/// | ``use(_:)`` and ``forget()`` discard a running renewal: it is neither cancelled nor waited for, and another may run beside it. Before it stores anything, its closure looks at the ``SignOutMark``; `use` with a value sets none, so what it replaces may still be stored. | sign-outs, OAuth, SAP's tokens and logins; tokens in Redis are stored only over the number that was read |
/// | The closure of a discarded renewal may begin afterwards, with the value from before. ``Beginning/ofSharedWork`` is its beginning, if the closure reads it outside of other shared work: the renewal was decided on after that. | OAuth, SAP's tokens |
/// | All waiters get the error of the renewal. | tokens, logins, passwords, certificates |
/// | A call that waits notes "waits for" and the name first, and that another call has requested it if so; also if it then continues without the value. | the inspector, which shows it as the reason of a delay |
/// | After ``forget()`` and `use(nil)`, the next renewal gets no last value. | OAuth |
/// | ``use(_:)``, ``forget()`` and ``remove(where:)`` do not wait, and may be called by the closure. They resume the waiters, so call them outside of locks. | SAP's tokens, logins |
/// | ``remove(where:)`` leaves a running renewal alone. | SAP's passwords and certificates |
///
/// Tokens are renewed by ``TokenSource``, and through it by `OAuthClient` (MartletSignIn), `OAuth2Observer`
/// (SAPFoundation) and `RedisSharedToken` (MartletRedis); passwords by `AskedPasswords`; logins by `LoginInterceptor`
/// (MartletSignIn); SAP's passwords and certificates by `CredentialsByOrigin`, which `BasicCredentials` and
/// `UserIdentities` use (SAPFoundation); authenticators of tasks by `AuthenticatorSource` (MartletTasks). SAP's logins
/// (`SAMLObserver`, `OTPObserver`) are a `LoginInterceptor`; the tool's token is a ``TokenSource`` without a closure.
/// Applications do not see the type.
///
/// On a sign-out, the owner sets the mark, replaces or forgets the value, and sets the mark once more: a call may have
/// begun in between, and may use the former value.
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
    /// There is no value, or none for this call: it began before a sign-out.
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
  private let signOut: SignOutMark
  private let state: Mutex<State>

  /// Makes a renewal. Its owner keeps it as a property.
  ///
  /// - Parameters:
  ///   - value: the first value; nil if it has to be obtained.
  ///   - name: what calls wait for, in their notes: `the access token`.
  ///   - signOut: set when the user signs out; never set by default.
  public init(_ value: Value?, of name: String, signOut: SignOutMark = SignOutMark()) {
    self.name = name
    self.signOut = signOut
    state = Mutex(State(value))
  }

  /// The number of the current value, even if it was refused; nil if there is none. It may change at once.
  public var number: Int? { state.withLock { $0.number } }

  /// The running renewal; nil if there is none.
  var running: RunningWork<Version?>? { state.withLock { $0.runningWork } }

  /// Returns the value if the call can use it at once; nil if it has to be renewed or awaited, or belongs to the next
  /// user.
  func usable(by call: Call, where isUsable: (Version) -> Bool) -> Version? {
    guard !isRenewing(for: call), let usable = state.withLock({ $0.usable }), isUsable(usable) else { return nil }
    return signOut.isAfter(call.id) ? nil : usable  // looked at last: a sign-out sets the mark before the next value
  }

  /// Returns the value if it meets the condition, a new one otherwise.
  ///
  /// - Throws: the error of the renewal, to all that wait for it; a `CancellationError` to a cancelled caller.
  public func value(
    where isUsable: (Version) -> Bool, by call: Call, renew: @escaping Renew
  ) async throws -> Answer {
    guard !isRenewing(for: call) else { return .skipped }
    while true {
      let seen = state.withLock { $0.usable }
      if let seen, isUsable(seen) { return answer(seen, to: call) }
      try Task.checkCancellation()
      guard let decision = decide(for: call, unlessNewerThan: seen) else { continue }
      return try await result(of: decision, call, renew)
    }
  }

  /// Returns the value if it is not the refused one, a new one otherwise. The new one may equal it.
  ///
  /// A limited wait may last longer than in ``value(where:by:renew:)``: the request cannot succeed without the value,
  /// and a user may be signing in.
  ///
  /// - Parameter wasRefused: whether the server refused this value. Usually it compares the number.
  /// - Throws: the error of the renewal, to all that wait for it; a `CancellationError` to a cancelled caller.
  public func value(
    insteadOf wasRefused: (Version) -> Bool, by call: Call, renew: @escaping Renew
  ) async throws -> Answer {
    guard !isRenewing(for: call) else { return .skipped }
    while true {
      let (seen, isRunning) = state.withLock { ($0.accepted, $0.runningWork != nil) }
      if let seen {
        if wasRefused(seen) {
          guard state.withLock({ $0.refuse(seen) }) else { continue }
        } else if !isRunning {
          return answer(seen, to: call)
        }
      }
      try Task.checkCancellation()
      guard let decision = decide(for: call, unlessNewerThan: nil) else { continue }
      return try await result(of: decision, call, factor: Self.waitAfterRefusal, renew)
    }
  }

  /// Replaces the value. The result of a running renewal is discarded, and its waiters get this value.
  public func use(_ value: Value?) {
    let (ended, version) = change { $0.use(value) }
    ended?.discard(.success(version))
  }

  /// Removes the value because the user signs out. The result of a running renewal is discarded, and its waiters get
  /// ``HTTPError/signedOut``, or the value if it was obtained just before.
  public func forget() {
    let (ended, _) = change { $0.use(nil) }
    ended?.discard(.failure(HTTPError.signedOut))
  }

  /// Removes the value if it meets the condition and no renewal runs. A newer value, and one that is being obtained,
  /// are left alone.
  ///
  /// - Returns: the removed value; nil if nothing was removed.
  @discardableResult public func remove(where isRemoved: (Version) -> Bool) -> Version? {
    guard let seen = state.withLock({ $0.idle }), isRemoved(seen) else { return nil }
    return state.withLock { $0.remove(seen) } ? seen : nil
  }

  /// Whether the call is one of the closure.
  private func isRenewing(for call: Call) -> Bool { call.parent.contains(id) }

  /// Changes the value. The former one is released outside of the lock, because its deinitializer may be other code.
  private func change<Result>(_ body: (inout State) -> Result) -> Result {
    let (result, former) = state.withLock { state in
      let former = state.latest
      return (body(&state), former)
    }
    return withExtendedLifetime(former) { result }
  }

  private func answer(_ version: Version, to call: Call) -> Answer {
    signOut.isAfter(call.id) ? .none : .version(version)
  }

  /// Decides how a call gets a new value; nil if it has to look again.
  private func decide(for call: Call, unlessNewerThan seen: Version?) -> State.Decision? {
    let work = RunningWork<Version?>(owner: id)
    // The mark is read under the lock: a sign-out that is not seen here discards the renewal afterwards.
    return state.withLock { state in
      state.renew(unlessNewerThan: seen, work, hasSignedOut: signOut.isAfter(call.id))
    }
  }

  /// - Parameter factor: how many response timeouts the wait may last if the renewal may wait for the call.
  private func result(
    of decision: State.Decision, _ call: Call, factor: Int = 1, _ renew: @escaping Renew
  ) async throws -> Answer {
    let running: RunningWork<Version?>
    switch decision {
    case .leave: return .none
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
    return result.map { answer($0, to: call) } ?? .none
  }

  private func run(_ renewal: Int, _ work: RunningWork<Version?>, from old: Value?, _ renew: Renew) async {
    guard state.withLock({ $0.isRunning(renewal) }) else { return work.leave() }
    let result: Result<Value?, any Error>
    do { result = .success(try await renew(old)) } catch { result = .failure(error) }
    switch change({ $0.finish(renewal: renewal, with: (try? result.get()) ?? nil) }) {
    case .finished(let version): work.finish(result.map { _ in version })
    case .discarded: work.leave()  // The code that discarded it ends the waits, with the value that counts.
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
    /// It counts. The version is nil if there is no value.
    case finished(Version?)
    /// ``RenewalState/use(_:)`` has ended it before.
    case discarded
  }

  /// The value, even if it was refused.
  private(set) var latest: Version?
  private var isRefused = false
  private var running: (renewal: Int, work: Handle)?
  /// The last number of a renewal or of a version: both are counted together, so a version may skip numbers.
  private var lastNumber = 0

  /// The work of the running renewal; nil if none runs.
  var runningWork: Handle? { running?.work }

  /// Whether a renewal is in progress, and was not discarded.
  func isRunning(_ renewal: Int) -> Bool { running?.renewal == renewal }

  /// The number of the current value; nil if there is none.
  var number: Int? { latest?.number }

  init(_ value: Value?) { latest = value.map { Version(value: $0, number: 0) } }

  /// The value while no renewal runs; nil if there is none, or one runs.
  var idle: Version? { running == nil ? latest : nil }

  /// The value if it was not refused.
  var accepted: Version? { isRefused ? nil : latest }

  /// The value if it was not refused and no renewal runs.
  var usable: Version? { isRefused ? nil : idle }

  /// Decides how a caller gets a new value.
  ///
  /// - Parameters:
  ///   - seen: the value that the caller found usable and cannot use; nil if there was none.
  ///   - work: the work of the renewal if one has to be started.
  ///   - hasSignedOut: whether the caller's user has signed out.
  /// - Returns: nil if there is another usable value in the meantime: the caller looks again.
  mutating func renew(
    unlessNewerThan seen: Version?, _ work: Handle, hasSignedOut: Bool = false
  ) -> Decision? {
    if hasSignedOut { return .leave }
    if let usable, usable.number != seen?.number { return nil }
    if let running { return .wait(running.work) }
    lastNumber += 1
    running = (renewal: lastNumber, work: work)
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
    latest = nil
    return true
  }

  /// Ends a renewal.
  ///
  /// - Parameter value: its result; nil if there is none.
  mutating func finish(renewal: Int, with value: Value?) -> Ending {
    guard isRunning(renewal) else { return .discarded }
    running = nil
    return .finished(value.map { set($0) })
  }

  /// Replaces the value, and discards the result of the running renewal.
  ///
  /// - Returns: the work of that renewal, and the version for its waiters.
  mutating func use(_ value: Value?) -> (ended: Handle?, version: Version?) {
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
