@_spi(Toolkit) import MartletEngine
@_spi(Credentials) import SAPFoundation

/// Gives the flow for each purpose. An app writes it; it answers with a new flow each time.
public protocol OnboardingFlowProviding: AnyObject {
  /// Provides a flow. Call the handler once, with a flow or an error; neither is an error, too
  /// (``OnboardingFlowError/noFlow(_:)``).
  func flow(
    for controller: any OnboardingControlling, flowType: OnboardingFlow.FlowType,
    completionHandler: @escaping @Sendable (OnboardingFlow?, (any Error)?) -> Void)
}

/// Opens flows and resets them.
public protocol OnboardingControlling: AnyObject {
  /// Runs flows until one succeeds, or until the delegate stops. The handler gets the finished flow, or the error.
  func openFlow(_ completionHandler: @escaping @Sendable (OnboardingFlow?, (any Error)?) -> Void)

  /// Removes what the steps have stored of a user, and the user's identifier. The handler gets the error, if any.
  func resetFlow(for onboardingID: UUID, completionHandler: @escaping @Sendable ((any Error)?) -> Void)
}

/// What happens after a flow has failed.
public enum OnboardingErrorDisposition: Sendable {
  /// It ends with this error.
  case stop(any Error)
  /// The next flow begins, for the user whom the manager of identifiers then names. The first retry begins at once;
  /// later ones pause, from 0.1 to 30 seconds. After twenty in a row, the error is final.
  case retry
}

/// Decides about flows. All methods have defaults.
public protocol OnboardingControllerDelegate: AnyObject {
  /// A flow begins. Answer with it, with another one, or with an error. By default it begins unchanged.
  func onboardingController(
    _ controller: any OnboardingControlling, willStart flow: OnboardingFlow,
    completionHandler: @escaping @Sendable (OnboardingFlow?, (any Error)?) -> Void)

  /// A flow has succeeded. Answer with it, with another one, or with an error, which makes it a failure. By default it
  /// stays unchanged.
  func onboardingController(
    _ controller: any OnboardingControlling, didComplete flow: OnboardingFlow,
    completionHandler: @escaping @Sendable (OnboardingFlow?, (any Error)?) -> Void)

  /// A flow has failed. By default it stops with the error.
  func onboardingController(
    _ controller: any OnboardingControlling, didFail flow: OnboardingFlow, with error: any Error,
    completionHandler: @escaping @Sendable (OnboardingErrorDisposition) -> Void)
}

extension OnboardingControllerDelegate {
  public func onboardingController(
    _ controller: any OnboardingControlling, willStart flow: OnboardingFlow,
    completionHandler: @escaping @Sendable (OnboardingFlow?, (any Error)?) -> Void
  ) { completionHandler(flow, nil) }

  public func onboardingController(
    _ controller: any OnboardingControlling, didComplete flow: OnboardingFlow,
    completionHandler: @escaping @Sendable (OnboardingFlow?, (any Error)?) -> Void
  ) { completionHandler(flow, nil) }

  public func onboardingController(
    _ controller: any OnboardingControlling, didFail flow: OnboardingFlow, with error: any Error,
    completionHandler: @escaping @Sendable (OnboardingErrorDisposition) -> Void
  ) { completionHandler(.stop(error)) }
}

/// Runs the flow that the user needs: for a new user, or for one who returns.
///
/// ```swift
/// let controller = OnboardingController(flowProvider: flows, delegate: errors)
/// let flow = try await controller.openFlow()
/// print("opened", flow.context.onboardingID)
/// ```
///
/// It asks the manager of identifiers for the purpose, the provider for the flow, and the delegate; then it runs the
/// steps. When the last step of an onboarding has succeeded, the identifier is stored. An onboarding that fails at any
/// point until then resets all steps; a flow of another purpose that fails changes nothing. The order is SAP's as far
/// as it is published; where the identifier is stored is not.
///
/// SAFETY: the provider, the manager and the delegate are an app's own; they are called one at a time within a flow,
/// and may be used on any thread, as their documentation says.
public final class OnboardingController: OnboardingControlling, @unchecked Sendable {
  private struct Weak {
    weak var delegate: (any OnboardingControllerDelegate)?
  }

  /// Gives the flows.
  public let flowProvider: any OnboardingFlowProviding
  /// Knows the users who have onboarded.
  public let onboardingIDManager: any OnboardingIDManaging
  private let current: Locked<Weak>
  private let clock: any Clock<Duration>
  private let records: OnboardingRecords

  /// Makes a controller.
  ///
  /// - Parameters:
  ///   - flowProvider: gives the flows.
  ///   - onboardingIDManager: knows the users; by default a manager of one user.
  ///   - delegate: decides about flows; held weakly; none by default, which stops at the first error.
  public convenience init(
    flowProvider: any OnboardingFlowProviding,
    onboardingIDManager: any OnboardingIDManaging = SingleUserOnboardingIDManager(),
    delegate: (any OnboardingControllerDelegate)? = nil
  ) {
    self.init(flowProvider, onboardingIDManager, delegate, records: .shared)
  }

  init(
    _ flowProvider: any OnboardingFlowProviding, _ onboardingIDManager: any OnboardingIDManaging,
    _ delegate: (any OnboardingControllerDelegate)?, records: OnboardingRecords = .shared,
    clock: any Clock<Duration> = ContinuousClock()
  ) {
    (self.flowProvider, self.onboardingIDManager) = (flowProvider, onboardingIDManager)
    (self.records, self.clock) = (records, clock)
    current = Locked(Weak(delegate: delegate))
  }

  /// Decides about flows; held weakly.
  public var delegate: (any OnboardingControllerDelegate)? {
    get { current.withLock { $0.delegate } }
    set { current.withLock { $0.delegate = newValue } }
  }

  // MARK: - Opening

  public func openFlow(_ completionHandler: @escaping @Sendable (OnboardingFlow?, (any Error)?) -> Void) {
    let calls = ForeignCalls()
    Task {
      do {
        let flow = try await openFlow(part: nil)
        calls.perform { completionHandler(flow, nil) }
      } catch { calls.perform { completionHandler(nil, error) } }
    }
  }

  /// Runs flows until one succeeds, or until the delegate stops.
  ///
  /// - Throws: the error with which the delegate stopped; ``OnboardingError/cancelled(error:)`` if the task was
  ///   cancelled, after an onboarding has been reset.
  public func openFlow() async throws -> OnboardingFlow { try await openFlow(part: nil) }

  /// - Parameters:
  ///   - opening: the sign-in of which the flows are a part.
  ///   - note: gets the purpose of each flow before its first step.
  func openFlow(
    part opening: SessionOpening?, note: @Sendable (OnboardingFlow.FlowType) -> Void = { _ in }
  ) async throws -> OnboardingFlow {
    var calls = ForeignCalls()
    (calls.opening, calls.clock) = (opening, clock)
    var retries = RetryPlan()
    do {
      while true {
        let flow = try await nextFlow(calls)
        note(flow.flowType)
        do { return try await complete(flow, calls) } catch {
          try Task.checkCancellation()
          let stopwatch = Stopwatch(clock)
          guard case .retry = try await disposition(flow, error, calls) else { throw error }
          guard let pause = retries.pause(after: stopwatch.elapsed) else {
            ForeignCalls.log.warn("a flow failed \(RetryPlan.limit + 1) times in a row, and is not tried again")
            throw error
          }
          if pause > .zero { try await clock.sleep(for: pause) }
        }
      }
    } catch is CancellationError { throw OnboardingError.cancelled(error: CancellationError()) }
  }

  /// Returns the flow for the purpose that the manager of identifiers names.
  private func nextFlow(_ calls: ForeignCalls) async throws -> OnboardingFlow {
    let manager = UncheckedSendable(value: onboardingIDManager)
    let type: OnboardingFlow.FlowType = try await calls.answer(of: .init(manager.value, "flowToStart")) { done in
      manager.value.flowToStart(completionHandler: done)
    }
    let flow = try await flow(type, calls)
    guard let delegate else { return flow }
    return try await Self.flow(type, calls, .init(delegate, "onboardingController(_:willStart:)")) { [self] done in
      delegate.onboardingController(self, willStart: flow, completionHandler: done)
    }
  }

  private func flow(_ type: OnboardingFlow.FlowType, _ calls: ForeignCalls) async throws -> OnboardingFlow {
    let provider = UncheckedSendable(value: flowProvider)
    let flow = try await Self.flow(type, calls, .init(provider.value, "flow(for:flowType:)")) { [self] done in
      provider.value.flow(for: self, flowType: type, completionHandler: done)
    }
    guard type.onboardingID == nil || type.onboardingID == flow.context.onboardingID else {
      throw OnboardingControllerError.mismatchingOnboardingIDs
    }
    return flow
  }

  /// Calls code that answers with a flow or an error.
  private static func flow(
    _ type: OnboardingFlow.FlowType, _ calls: ForeignCalls, _ callee: ForeignCalls.Callee,
    _ call: @escaping (@escaping @Sendable (OnboardingFlow?, (any Error)?) -> Void) -> Void
  ) async throws -> OnboardingFlow {
    let result: Result<OnboardingFlow, any Error> = try await calls.answer(of: callee) { done in
      call { flow, error in
        done(error.map { .failure($0) } ?? flow.map { .success($0) } ?? .failure(OnboardingFlowError.noFlow(type.name)))
      }
    }
    return try result.get()
  }

  /// Runs the steps of a flow, and stores the identifier of a new user.
  private func complete(_ flow: OnboardingFlow, _ calls: ForeignCalls) async throws -> OnboardingFlow {
    var flow = flow
    let operation = flow.flowType.operation
    let run = FlowRun(operation, flow.steps, calls: calls)
    try await calls.slowly { [self, flow] in separateUsers(flow) }
    flow.context = try await OnboardingFlowController.present(run, operation, flow.context)
    var stored: UUID?
    do {
      if let id = flow.flowType.onboardingID, id != flow.context.onboardingID {
        throw OnboardingControllerError.mismatchingOnboardingIDs
      }
      if operation == .onboard {
        try await store(flow.context.onboardingID, calls)
        stored = flow.context.onboardingID
      }
      try await calls.slowly { [records, id = flow.context.onboardingID] in try? records.setLastUser(id) }
      flow = try await confirmed(flow, calls)
      await run.finish(flow.context)
      return flow
    } catch {
      if operation == .onboard { await run.resetAll(with: flow.context) }
      if let stored { await remove(stored) }
      throw error
    }
  }

  /// Removes the cookies and responses of another user from the stores that sessions of the default configuration
  /// share. Otherwise the next user would be signed in as the previous one.
  private func separateUsers(_ flow: OnboardingFlow) {
    let user = flow.flowType.onboardingID
    guard user == nil || (try? records.lastUser()) != user else { return }
    flow.context.sapURLSession.clearCredentials()
  }

  private func confirmed(_ flow: OnboardingFlow, _ calls: ForeignCalls) async throws -> OnboardingFlow {
    guard let delegate else { return flow }
    let callee = ForeignCalls.Callee(delegate, "onboardingController(_:didComplete:)")
    return try await Self.flow(flow.flowType, calls, callee) { [self] done in
      delegate.onboardingController(self, didComplete: flow, completionHandler: done)
    }
  }

  private func disposition(
    _ flow: OnboardingFlow, _ error: any Error, _ calls: ForeignCalls
  ) async throws -> OnboardingErrorDisposition {
    guard let delegate else { return .stop(error) }
    let callee = ForeignCalls.Callee(delegate, "onboardingController(_:didFail:with:)")
    let answer: OnboardingErrorDisposition = try await calls.answer(of: callee) { [self] done in
      delegate.onboardingController(self, didFail: flow, with: error, completionHandler: done)
    }
    if case .stop(let final) = answer { throw final }
    return answer
  }

  private func store(_ id: UUID, _ calls: ForeignCalls) async throws {
    let manager = UncheckedSendable(value: onboardingIDManager)
    let error: (any Error)? = try await calls.answer(of: .init(manager.value, "store(onboardingID:)")) { done in
      manager.value.store(onboardingID: id, completionHandler: done)
    }
    if let error { throw error }
  }

  /// Removes an identifier, even if the task was cancelled.
  private func remove(_ id: UUID) async {
    let manager = UncheckedSendable(value: onboardingIDManager)
    await Task {
      do {
        let _: Void = try await ForeignCalls().answer(of: .init(manager.value, "remove(onboardingID:)")) { done in
          manager.value.remove(onboardingID: id) { done(()) }
        }
      } catch { ForeignCalls.log.warn("an identifier was not removed", error: error) }
    }.value
  }

  // MARK: - Resetting

  public func resetFlow(for onboardingID: UUID, completionHandler: @escaping @Sendable ((any Error)?) -> Void) {
    let calls = ForeignCalls()
    Task {
      do {
        try await resetFlow(for: onboardingID)
        calls.perform { completionHandler(nil) }
      } catch { calls.perform { completionHandler(error) } }
    }
  }

  /// Removes the user's identifier, and what the steps have stored of the user.
  ///
  /// - Throws: the error of the flow provider, if it has no flow for it; then nothing is removed.
  public func resetFlow(for onboardingID: UUID) async throws {
    var calls = ForeignCalls()
    calls.clock = clock
    let flow = try await flow(.reset(onboardingID: onboardingID), calls)
    try await calls.slowly { [records] in try? records.beginRemoval(of: onboardingID) }
    await remove(onboardingID)
    _ = try await FlowRun(.reset, flow.steps, calls: calls).run(from: flow.context)
    try await calls.slowly { [records] in
      flow.context.sapURLSession.clearCredentials()
      flow.context.sapURLSession.invalidateAndCancel()
      try? records.set(nil, .unfinished, of: onboardingID)
    }
  }
}
