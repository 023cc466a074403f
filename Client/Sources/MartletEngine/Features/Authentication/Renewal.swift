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
/// | The task inherits the task-local values of the call that started it. | the beginning of SAP's logins and tokens, values of tasks |
/// | Its effects and the new state are there before its waiters continue, unless ``use(_:begun:)`` or ``forget(failingWaiters:)`` ends the wait before. | logins, tokens, SAP's certificates, authenticators of tasks |
/// | No closure is kept after its renewal; it may be released a little after the waiters continue. | logins and authenticators, whose closures hold their owner; SAP's observers, which must not retain the app's objects |
/// | While a renewal runs, callers wait for it, even if the last value is usable. | SAP's passwords and certificates, authenticators of tasks |
/// | A refused value is not used again, even if its renewal fails, or if it is refused while it is being renewed. The next renewal gets it as the last value. | all; tokens for the last value |
/// | If a renewal fails or returns nil, a value that was not refused stays usable. | tokens |
/// | A new value may equal the refused one: it has another number, and its caller counts how often it tries. | passwords, also SAP's, which refuse by value; logins and authenticators of tasks, whose values are always equal |
/// | The result of a renewal, and a value of ``use(_:begun:)``, is not tested by the condition of those that wait for it. | tokens, also SAP's: an app's closure may return one that has expired, and a test would renew it forever |
/// | A value may be a failure: `Renewal<Result<…>>` keeps it, with a number, until it is refused. | authenticators of tasks |
/// | The number grows with each value, the initial one included, and is never used again by the same renewal; two renewals may use the same. It can be read while the value is refused; without a value it is nil. `Renewal<Void>` counts logins by it. | logins, SAP's certificates (`SAPClientCertificate.version`), tokens, authenticators of tasks |
/// | A call never waits for a renewal that waits for the call; see ``CallContext``. It continues without the value. So does every call of the closure, also if the renewal was discarded meanwhile, and the call that started it, if the closure asks with it; in a detached task that takes as long as the limit of the wait. | all |
/// | Each renewal is a shared work of its own, with an owner, in the context of its closure (``CallContext/sharedWork``). | CSRF tokens, which are not shared between the requests of a renewal and others |
/// | A call that began after the renewal waits at most its response timeout, in ``value(insteadOf:by:renew:)`` five times that, and then continues without the value. One that began before it, or has no response timeout, waits without a limit. | the documentation of tokens, and of SAP's logins, passwords and certificates |
/// | Once the mark is set, a call that began before it gets no value, starts no renewal and refuses none: it gets ``Answer/none``, ``Answer/skipped``, or the error of the renewal for which it waits. Calls that began after it never meet what began before: a value, or the result of a renewal. | tokens, logins, SAP's passwords and certificates |
/// | ``use(_:begun:)`` and ``forget(failingWaiters:)`` discard a running renewal, unless it began after the mark, or what is used began before it: it is neither cancelled nor waited for, and another may run beside it. Its waiters get the new value or none; after ``forget(failingWaiters:)``, ``HTTPError/signedOut`` or none. Before it stores anything, its closure looks at the ``SignOutMark``; `use` with a value sets none, so what it replaces may still be stored. | sign-outs, OAuth, SAP's tokens and logins; tokens in Redis are stored only over the number that was read |
/// | The closure of a discarded renewal may begin afterwards, with the value from before. ``Beginning/ofSharedWork`` is its beginning, if the closure reads it outside of other shared work: the renewal was decided on after that. | OAuth; SAP's tokens, logins, passwords, certificates, cookies and log uploads (`Beginning.current`) |
/// | All waiters get the error of the renewal. | tokens, logins, passwords, SAP's passwords and certificates |
/// | A call that waits notes "waits for" and the name first, and that another call has requested it if so; also if it then continues without the value. | the inspector, which shows it as the reason of a delay |
/// | After ``forget(failingWaiters:)``, `use(nil)` and ``remove(where:)``, the next renewal gets no last value. | OAuth |
/// | ``forget(failingWaiters:)`` sets the mark again: all renewals that share it lose what began since it was set before. | sign-outs that forget one renewal after the other |
/// | ``use(_:begun:)`` with a beginning does nothing after a later sign-out. Without one, its value counts from now on. | SAP's tokens, which other code may change in the app's store |
/// | Former values are released outside of its lock. | values with code of the app in their deinitializers |
/// | ``Answer/none`` and ``Answer/skipped`` differ: only the first is an answer. | tokens, which try once more after a wait that was skipped |
/// | ``use(_:begun:)``, ``forget(failingWaiters:)`` and ``remove(where:)`` do not wait, and may be called by the closure. They resume the waiters, so call them outside of locks. | SAP's tokens, logins |
/// | ``remove(where:)`` leaves a running renewal alone. | SAP's passwords and certificates |
///
/// Tokens are renewed by ``TokenSource``, and through it by `OAuthClient` (MartletSignIn), `OAuth2Observer`
/// (SAPFoundation) and `RedisSharedToken` (MartletRedis); passwords by `AskedPasswords`; logins by `LoginInterceptor`
/// (MartletSignIn); SAP's passwords and certificates by `CredentialsByOrigin`, which `BasicCredentials` and
/// `UserIdentities` use (SAPFoundation); authenticators of tasks by `AuthenticatorSource` (MartletTasks). SAP's logins
/// (`SAMLObserver`, `OTPObserver`) are a `LoginInterceptor`; the tool's token is a ``TokenSource`` without a closure.
/// Within the engine, ``TokenSource`` also uses `usable`, for requests that need not suspend, `accepted`, for a token
/// that expires soon, and `running`, as does `AskedPasswords`, which keeps the passwords in use. Applications do not
/// see the type. Its tests are `RenewalTests`, `RenewalSignOutTests`, `RenewalStateTests` and `CircularTokenTests`.
///
/// On a sign-out, the mark alone separates the users, for all renewals that share it: setting it is the step in which
/// they all lose what began before. Afterwards the owner calls ``forget(failingWaiters:)``, which ends the waits.
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
    state = Mutex(State(value, begun: Call.lastPosition))
  }

  /// The number of the current value, even if it was refused; nil if there is none. It may change at once.
  public var number: Int? { locked { $0.number } }

  /// The running renewal; nil if there is none.
  var running: RunningWork<Version?>? { locked { $0.runningWork } }

  /// Returns the value if the call can use it at once; nil if it has to be renewed or awaited, or belongs to the next
  /// user.
  func usable(by call: Call, where isUsable: (Version) -> Bool) -> Version? {
    found(locked { $0.usable }, by: call, where: isUsable)
  }

  /// Returns the value if it was not refused, even while it is being renewed; nil also if it belongs to the next user.
  func accepted(by call: Call, where isUsable: (Version) -> Bool) -> Version? {
    found(locked { $0.accepted }, by: call, where: isUsable)
  }

  private func found(_ version: Version?, by call: Call, where isUsable: (Version) -> Bool) -> Version? {
    guard !isRenewing(for: call), let version, isUsable(version) else { return nil }
    return signOut.isAfter(call.id) ? nil : version  // looked at last: a sign-out sets the mark before the next value
  }

  /// Returns the value if it meets the condition, a new one otherwise.
  ///
  /// - Throws: the error of the renewal, to all that wait for it; a `CancellationError` to a cancelled caller.
  public func value(
    where isUsable: (Version) -> Bool, by call: Call, renew: @escaping Renew
  ) async throws -> Answer {
    guard !isRenewing(for: call), !CallContext.current.contains(id) else { return .skipped }
    while true {
      let seen = locked { $0.usable }
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
    guard !isRenewing(for: call), !CallContext.current.contains(id) else { return .skipped }
    while true {
      let (seen, isRunning) = locked { ($0.accepted, $0.runningWork != nil) }
      if let seen {
        if wasRefused(seen) {
          // The mark is read in the same step: the next user's value may equal the refused one.
          guard let isRefused = locked({ signOut.isAfter(call.id) ? nil : $0.refuse(seen) }) else { return .none }
          guard isRefused else { continue }
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
  ///
  /// - Parameter begun: when the work began that obtained the value; nothing happens if there was a sign-out since.
  ///   nil, the default, if the value counts in any case.
  /// - Returns: whether the value counts.
  @discardableResult public func use(_ value: Value?, begun: Beginning? = nil) -> Bool {
    let replaced = change { state -> (ended: [RunningWork<Version?>], version: Version?)? in
      // In the same step: a sign-out sets the mark before the next value.
      if let begun, signOut.isAfter(begun) { return nil }
      return state.use(value, begun: begun?.position ?? Call.lastPosition)
    }
    for work in replaced?.ended ?? [] { work.discard(.success(replaced?.version)) }
    return replaced != nil
  }

  /// Removes the value because the user signs out, and sets the mark. The result of a running renewal is discarded.
  /// What calls begin afterwards, for the next user, stays.
  ///
  /// - Parameter failsWaiters: whether the waiters get ``HTTPError/signedOut``, unless the value was obtained just
  ///   before; otherwise they get no value.
  public func forget(failingWaiters failsWaiters: Bool = true) {
    signOut.set()
    let ended = change { $0.forget() }
    for work in ended { work.discard(failsWaiters ? .failure(HTTPError.signedOut) : .success(nil)) }
  }

  /// Removes the value if it meets the condition and no renewal runs. A newer value, and one that is being obtained,
  /// are left alone.
  ///
  /// - Returns: the removed value; nil if nothing was removed.
  @discardableResult public func remove(where isRemoved: (Version) -> Bool) -> Version? {
    guard let seen = locked({ $0.idle }), isRemoved(seen) else { return nil }
    return locked { $0.remove(seen) } ? seen : nil
  }

  /// Whether the call is one of the closure.
  private func isRenewing(for call: Call) -> Bool { call.parent.contains(id) }

  /// Works with the state as it is since the last sign-out.
  private func locked<Result>(_ body: (inout State) -> Result) -> Result {
    state.withLock { state in
      state.signOut = signOut.last
      return body(&state)
    }
  }

  /// Changes the value. The former one is released outside of the lock, because its deinitializer may be other code.
  private func change<Result>(_ body: (inout State) -> Result) -> Result {
    let (result, former) = locked { state in
      let former = state.held
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
    // The mark is read under the lock: a renewal that begins before a sign-out does not count after it.
    return locked { state in
      state.renew(
        unlessNewerThan: seen, work, begun: work.position, hasSignedOut: signOut.isAfter(call.id))
    }
  }

  /// - Parameter factor: how many response timeouts the wait may last if the renewal may wait for the call.
  private func result(
    of decision: State.Decision, _ call: Call, factor: Int = 1, _ renew: @escaping Renew
  ) async throws -> Answer {
    let running: RunningWork<Version?>
    var limit: WaitLimit?
    switch decision {
    case .leave: return .none
    case .wait(let work):
      running = work
      // The closure may have passed the call that started it to a detached task.
      let isStarter = (work.parent.work as? Call)?.id == call.id
      limit = isStarter ? call.waitLimit(factor: factor) : work.limit(for: call, factor: factor)
      call.emit(.note("waits for \(name), which another call has requested"))
    case .start(let work, let renewal, let old):
      running = work
      call.emit(.note("waits for \(name)"))
      work.context.perform { _ = Task { await run(renewal, work, from: old, renew) } }
    }
    guard let result = try await running.result(in: call.context, within: limit) else { return .skipped }
    return result.map { answer($0, to: call) } ?? .none
  }

  private func run(_ renewal: Int, _ work: RunningWork<Version?>, from old: Value?, _ renew: Renew) async {
    guard locked({ $0.isRunning(renewal) }) else {
      // If only the mark has ended it, which may be another owner's doing, no other code ends the waits.
      if case .finished = change({ $0.finish(renewal: renewal, with: nil) }) { return work.finish(.success(nil)) }
      return work.leave()
    }
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

extension RenewedValue: CustomReflectable {
  /// A mirror without children, because the value may be a password, a token or a key.
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}
