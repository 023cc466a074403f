@_spi(Toolkit) import MartletEngine
@_spi(Credentials) import SAPFoundation

/// Opens the session of a user with a flow, locks and unlocks it, and removes the user.
///
/// ```swift
/// let manager = OnboardingSessionManager<OnboardingSession>(
///   presentationDelegate: NoApplicationUI(), flowProvider: flows, delegate: errors)
/// manager.open { error in
///   if let error { print("not opened:", error) } else { print(manager.onboardingSession?.onboardingID as Any) }
/// }
/// ```
///
/// An app usually declares `shared` in an extension. What is called while something else is being done waits for it;
/// only ``removeSession(completionHandler:)`` ends an ``open(completionHandler:)`` that is running. Completion handlers
/// are called once, on a thread of the manager, which they may block. Each function has an `async` form. Any thread may
/// use the manager.
public final class OnboardingSessionManager<T: OnboardingSession>: Sendable {
  /// What the manager has. (SAP publishes the name of the type, and not the cases.)
  @nonexhaustive public enum State: Sendable, Hashable {
    /// There is no session.
    case closed
    /// A flow is running.
    case opening
    /// The session can be used.
    case opened
    /// The encrypted store of the user is closed.
    case locked
    /// The user is being asked for the passcode.
    case unlocking
    /// The data of the user are being removed.
    case removing
  }

  private struct Content {
    var state = State.closed
    var session: T?
    var flow: OnboardingFlow?
    var presentation: any ApplicationUIManaging
    /// The handlers of `open` that wait for the flow that is running or about to run; nil if there is none.
    var waiting: [@Sendable ((any Error)?) -> Void]?
    /// The running flow, and what it opens.
    var opening: (task: Task<OnboardingFlow, any Error>, sessions: SessionOpening)?
    /// Whether the next flow must not run, because the user was removed in the meantime.
    var isRemoved = false
    /// How often opening has failed in a row, and the time since the last failure: an app may open again at once.
    var failures = RetryPlan()
    var lastFailure: Stopwatch?
    var pausing: Task<Void, any Error>?
    /// The user of the last flow.
    var user: UUID?
  }

  /// Runs the flows.
  public let onboardingController: OnboardingController
  private let content: Locked<Content>
  private let calls: ForeignCalls
  private let jobs: AsyncStream<@Sendable () async -> Void>.Continuation

  /// Makes a manager, without opening anything.
  ///
  /// - Parameters:
  ///   - onboardingController: runs the flows.
  ///   - presentationDelegate: shows and hides the app.
  public convenience init(
    onboardingController: OnboardingController, presentationDelegate: any ApplicationUIManaging
  ) { self.init(onboardingController, presentationDelegate, ForeignCalls()) }

  init(
    _ onboardingController: OnboardingController, _ presentationDelegate: any ApplicationUIManaging,
    _ calls: ForeignCalls
  ) {
    (self.onboardingController, self.calls) = (onboardingController, calls)
    content = Locked(Content(presentation: presentationDelegate))
    let (stream, jobs) = AsyncStream.makeStream(of: (@Sendable () async -> Void).self)
    self.jobs = jobs
    Task { for await job in stream { await job() } }
  }

  /// Makes a manager with a controller of its own.
  ///
  /// - Parameters:
  ///   - presentationDelegate: shows and hides the app.
  ///   - flowProvider: gives the flows.
  ///   - onboardingIDManager: knows the users; by default a manager of one user.
  ///   - delegate: decides about flows; held weakly; none by default, which stops at the first error.
  public convenience init(
    presentationDelegate: any ApplicationUIManaging, flowProvider: any OnboardingFlowProviding,
    onboardingIDManager: any OnboardingIDManaging = SingleUserOnboardingIDManager(),
    delegate: (any OnboardingControllerDelegate)? = nil
  ) {
    let controller = OnboardingController(
      flowProvider: flowProvider, onboardingIDManager: onboardingIDManager, delegate: delegate)
    self.init(onboardingController: controller, presentationDelegate: presentationDelegate)
  }

  deinit { jobs.finish() }

  /// The session; nil until it is open.
  public var onboardingSession: T? { content.withLock { $0.session } }

  /// What the manager has.
  public var state: State { content.withLock { $0.state } }

  /// Shows and hides the app.
  public var presentationDelegate: any ApplicationUIManaging {
    get { content.withLock { $0.presentation } }
    set { content.withLock { $0.presentation = newValue } }
  }

  // MARK: - Opening

  /// Opens the session: runs the flow that the user needs, and shows the app. Does nothing if it is open, and unlocks
  /// it if it is locked. All calls in the meantime get the result of the one flow.
  ///
  /// - Parameter completionHandler: gets nil, or the error with which the delegate stopped. It is
  ///   ``OnboardingFlowError/removed`` if the user was removed in the meantime. A handler that opens again finds pauses
  ///   from the second time on, from 0.1 to 30 seconds, for which other functions wait, too.
  public func open(completionHandler: @escaping @Sendable ((any Error)?) -> Void) {
    open(inBackground: false, completionHandler: completionHandler)
  }

  /// Opens the session.
  ///
  /// - Parameters:
  ///   - inBackground: whether the app stays hidden.
  ///   - completionHandler: see ``open(completionHandler:)``.
  public func open(inBackground: Bool, completionHandler: @escaping @Sendable ((any Error)?) -> Void) {
    let isFirst = content.withLock { content in
      let isFirst = content.waiting == nil
      content.waiting = (content.waiting ?? []) + [completionHandler]
      return isFirst
    }
    guard isFirst else { return }
    jobs.yield { [self] in
      var failure: (any Error)?
      do {
        try await pauseAfterFailures()
        try await openNow(inBackground)
      } catch { failure = error }
      // Outside of the lock, because the clock may be other code.
      let stopwatch = Stopwatch(calls.clock)
      let waiting = content.withLock { content in
        let counts = failure != nil && !content.isRemoved
        (content.opening, content.isRemoved) = (nil, false)
        content.lastFailure = counts ? stopwatch : nil
        if !counts { content.failures = RetryPlan() }
        return content.waiting.take() ?? []
      }
      calls.perform { [failure] in for handler in waiting { handler(failure) } }
    }
  }

  /// Pauses like the retries of a flow. It never gives up: how often an app opens is its own decision.
  ///
  /// - Throws: ``OnboardingFlowError/removed`` if the user was removed in the meantime, whose last flow failed.
  private func pauseAfterFailures() async throws {
    guard state != .opened else { return }
    guard let elapsed = content.withLock({ $0.lastFailure })?.elapsed else { return }
    let pause = content.withLock { content in
      if elapsed > RetryPlan.longest { content.failures = RetryPlan() }
      return content.failures.pause(after: elapsed) ?? max(.zero, RetryPlan.longest - elapsed)
    }
    guard pause > .zero else { return }
    ForeignCalls.log.warn("the session could not be opened several times in a row: a pause of \(pause)")
    let pausing = Task { [clock = calls.clock] in try await clock.sleep(for: pause) }
    let isRemoved = content.withLock { content in
      content.pausing = pausing
      return content.isRemoved
    }
    if isRemoved { pausing.cancel() }
    defer { content.withLock { $0.pausing = nil } }
    do { try await pausing.value } catch {
      let user = content.withLock { $0.state == .closed ? $0.user.take() : nil }
      if let user { try? await onboardingController.resetFlow(for: user) }
      throw OnboardingFlowError.removed
    }
  }

  private func openNow(_ isInBackground: Bool) async throws {
    switch state {
    case .opened: return
    case .locked: return try await unlockNow()
    default: break
    }
    set(.opening)
    do {
      if !isInBackground {
        try await show("showSplashScreenForOnboarding") { $0.showSplashScreenForOnboarding(completionHandler: $1) }
      }
      let flow = try await runFlow()
      let session = UncheckedSendable(value: T(flow: flow))
      let isRemoved = content.withLock { content in
        guard !content.isRemoved else { return true }
        (content.session, content.flow, content.state) = (session.value, flow, .opened)
        return false
      }
      guard !isRemoved else {
        try? await onboardingController.resetFlow(for: flow.context.onboardingID)
        throw OnboardingFlowError.removed
      }
    } catch {
      set(.closed)
      throw error
    }
    if !isInBackground {
      try await show("showApplicationScreen") { $0.showApplicationScreen(scene: nil, completionHandler: $1) }
    }
  }

  private func runFlow() async throws -> OnboardingFlow {
    let sessions = SessionOpening()
    let task = Task { [onboardingController, content] in
      try await onboardingController.openFlow(part: sessions) { type in
        content.withLock { $0.user = type.onboardingID }
      }
    }
    let isRemoved = content.withLock { content in
      content.opening = (task, sessions)
      return content.isRemoved
    }
    if isRemoved { task.cancel() }
    do {
      let flow = try await task.value
      sessions.complete()
      return flow
    } catch {
      guard content.withLock({ $0.isRemoved }) else { throw error }
      if let user = content.withLock({ $0.user }) { try? await onboardingController.resetFlow(for: user) }
      throw OnboardingFlowError.removed
    }
  }

  // MARK: - Locking

  /// Locks the session: hides the app, and closes the encrypted store of the user. Does nothing if no session is open.
  ///
  /// Tasks go on with the token, the password or the cookies that the session has in memory. The store cannot be read
  /// until it is unlocked, and no login page opens: whoever signed in there would replace the user. A task that needs
  /// that fails with `SecureStorageError.closed`. A token that is refreshed in the meantime is stored afterwards.
  public func lock(completionHandler: @escaping @Sendable ((any Error)?) -> Void) {
    run(completionHandler) { manager in
      guard manager.state == .opened else { return }
      manager.set(.locked)
      let context = manager.content.withLock { $0.flow?.context }
      let store = context?.persistentStoreManger.store
      context?.sapURLSession.refusesLogins = true
      store?.close()
      (context?.persistentStoreManger as? PersistentStoreManager)?.set(nil)
      try await manager.show("hideApplicationScreen") { $0.hideApplicationScreen(scene: nil, completionHandler: $1) }
    }
  }

  /// Unlocks the session: asks for the passcode, opens the store and shows the app. Does nothing if it is not locked.
  ///
  /// - Parameter completionHandler: gets nil, or the error of the step that opens the store; then it stays locked.
  public func unlock(completionHandler: @escaping @Sendable ((any Error)?) -> Void) {
    run(completionHandler) { try await $0.unlockNow() }
  }

  private func unlockNow() async throws {
    guard let flow = content.withLock({ $0.state == .locked ? $0.flow : nil }) else { return }
    set(.unlocking)
    do {
      try await show("showSplashScreenForUnlock") { $0.showSplashScreenForUnlock(completionHandler: $1) }
      let steps = flow.steps.flatMap { ($0 as? CompositeStep)?.allSteps ?? [$0] }.filter { $0 is StoreManagerStep }
      _ = try await FlowRun(.restore, steps, calls: ForeignCalls()).run(from: flow.context)
    } catch {
      set(.locked)
      throw error
    }
    flow.context.sapURLSession.refusesLogins = false
    set(.opened)
    try await show("showApplicationScreen") { $0.showApplicationScreen(scene: nil, completionHandler: $1) }
  }

  // MARK: - Ending

  /// Removes the user: ends the session and its tasks, removes its data, resets all steps and forgets the identifier. A
  /// flow that is running is ended first. The next ``open(completionHandler:)`` onboards.
  ///
  /// - Parameter completionHandler: gets nil, or the error of the flow provider if it has no flow that resets.
  public func removeSession(completionHandler: @escaping @Sendable ((any Error)?) -> Void) {
    let (opening, pausing) = content.withLock { content in
      if content.waiting != nil { content.isRemoved = true }
      return (content.opening, content.pausing)
    }
    pausing?.cancel()
    opening?.task.cancel()
    opening?.sessions.end()
    run(completionHandler) { manager in
      let (session, flow) = manager.content.withLock { content in
        (UncheckedSendable(value: content.session.take()), content.flow.take())
      }
      guard let session = session.value else { return }
      manager.set(.removing)
      defer { manager.set(.closed) }
      session.sapURLSession.clearCredentials()
      session.sapURLSession.invalidateAndCancel()
      (flow?.context.persistentStoreManger as? PersistentStoreManager)?.set(nil)
      try await manager.onboardingController.resetFlow(for: session.onboardingID)
    }
  }

  /// Closes the session without removing the user, whom the next ``open(completionHandler:)`` restores. Its tasks end.
  public func close(completionHandler: @escaping @Sendable ((any Error)?) -> Void = { _ in }) {
    run(completionHandler) { manager in
      let (session, flow) = manager.content.withLock { content in
        content.state = .closed
        return (UncheckedSendable(value: content.session.take()), content.flow.take())
      }
      guard let session = session.value else { return }
      session.sapURLSession.invalidateAndCancel()
      if session.credentialStore.persistentStore != nil { session.credentialStore.releasePersistentStore() }
      flow?.context.persistentStoreManger.store?.close()
    }
  }

  // MARK: - One thing at a time

  private func run(
    _ completionHandler: @escaping @Sendable ((any Error)?) -> Void,
    _ work: @escaping @Sendable (OnboardingSessionManager) async throws -> Void
  ) {
    jobs.yield { [self] in
      var failure: (any Error)?
      do { try await work(self) } catch { failure = error }
      calls.perform { [failure] in completionHandler(failure) }
    }
  }

  private func set(_ state: State) { content.withLock { $0.state = state } }

  private func show(
    _ method: StaticString,
    _ call: @escaping (any ApplicationUIManaging, @escaping @Sendable ((any Error)?) -> Void) -> Void
  ) async throws {
    let screens = UncheckedSendable(value: presentationDelegate)
    let error: (any Error)? = try await calls.answer(of: .init(screens.value, method)) { call(screens.value, $0) }
    if let error { throw error }
  }
}

// MARK: - Async forms

extension OnboardingSessionManager {
  /// Opens the session, and returns it; see ``open(completionHandler:)``. Cancelling the task does not end the flow.
  public func open(inBackground: Bool = false) async throws -> sending T {
    try await result { open(inBackground: inBackground, completionHandler: $0) }
    guard let session = onboardingSession else { throw OnboardingFlowError.removed }
    return UncheckedSendable(value: session).value
  }

  /// Locks the session; see ``lock(completionHandler:)``.
  public func lock() async throws { try await result { lock(completionHandler: $0) } }

  /// Unlocks the session; see ``unlock(completionHandler:)``.
  public func unlock() async throws { try await result { unlock(completionHandler: $0) } }

  /// Removes the user; see ``removeSession(completionHandler:)``.
  public func removeSession() async throws { try await result { removeSession(completionHandler: $0) } }

  /// Closes the session; see ``close(completionHandler:)``.
  public func close() async throws { try await result { close(completionHandler: $0) } }

  private func result(_ call: (@escaping @Sendable ((any Error)?) -> Void) -> Void) async throws {
    let error = await withCheckedContinuation { continuation in call { continuation.resume(returning: $0) } }
    if let error { throw error }
  }
}
