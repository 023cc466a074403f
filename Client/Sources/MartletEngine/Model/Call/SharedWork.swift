import MartletSemantics
import Synchronization

/// Work that runs once at a time for each key, and is shared by all callers that need it in the meantime: fetching a
/// token or a settings document.
///
/// ```swift
/// struct TokenInterceptor: Interceptor {
///   private let tokens = SharedWork<URL, String>()
///
///   func prepare(_ request: HTTPRequest, in call: Call) async throws -> Preparation {
///     let token = try await tokens.value(for: tokenURL, by: call) { try await fetchToken(call.session) }
///     var request = request
///     request.fields["X-Token"] = token        // nil for the requests of `fetchToken` themselves
///     return .send(request)
///   }
/// }
/// ```
///
/// The work runs in its own task, so one caller's cancellation does not affect the others: a cancelled caller returns
/// at once, and the work continues. The result is not kept: the next caller after the end starts the work again. A call
/// never waits for itself; see ``CallContext``.
public final class SharedWork<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  private let id = UniqueID()
  private let running = Mutex<[Key: RunningWork<Value>]>([:])

  /// Makes shared work; none is running yet. Its owner keeps it as a property.
  public init() {}

  /// Waits for the result of the work that runs for the key, or starts this work if there is none.
  ///
  /// - Returns: the result; nil if the running work already waits for the caller: the caller runs as part of it, or of
  ///   other work that it waits for.
  /// - Throws: the error of the work, to all callers; a `CancellationError` to a cancelled caller.
  public func value(for key: Key, _ work: @escaping @Sendable () async throws -> Value) async throws -> Value? {
    try Task.checkCancellation()
    return try await join(key, in: .current, work).result(in: .current)
  }

  /// Returns the result like ``value(for:_:)``, for a call. If the work itself may have begun the call, for example in
  /// a detached task, the wait is limited to ``RequestOptions/responseTimeout``: it also returns nil after that time.
  public func value(
    for key: Key, by call: Call, _ work: @escaping @Sendable () async throws -> Value
  ) async throws -> Value? {
    try Task.checkCancellation()
    let running = join(key, in: call.context, work)
    return try await running.result(in: call.context, within: running.limit(for: call))
  }

  /// Whether the current code runs as part of this object's work. If so, send its requests as they are.
  public var isCurrent: Bool { isDoing(.current) }

  /// Whether work of this object is part of the context.
  @_spi(Toolkit) public func isDoing(_ context: CallContext) -> Bool {
    context.contains(id)
  }

  /// The number of callers that wait for the work of a key; 0 if none runs.
  package func waiterCount(for key: Key) -> Int { running.withLock { $0[key] }?.waiting ?? 0 }

  private func join(
    _ key: Key, in context: CallContext, _ work: @escaping @Sendable () async throws -> Value
  ) -> RunningWork<Value> {
    let (shared, isNew) = running.withLock { running in
      if let shared = running[key] { return (shared, false) }
      let shared = RunningWork<Value>(owner: id, for: context)
      running[key] = shared
      return (shared, true)
    }
    guard isNew else { return shared }
    shared.context.perform {
      _ = Task {
        let result: Result<Value, any Error>
        do { result = .success(try await work()) } catch { result = .failure(error) }
        running.withLock { $0[key] = nil }
        shared.finish(result)
      }
    }
    return shared
  }
}

/// Work in progress, and the callers that wait for its result. The code that does the work finishes it, once.
@_spi(Toolkit) public final class RunningWork<Value: Sendable>: Work {
  private let parentContext: ParentContext
  package let owner: UniqueID?
  /// The call that does the work; nil for work in a separate task.
  private let call: Call?
  /// The number of the last call that began before the work did.
  package let position = Call.lastPosition
  private let state = Mutex(State())

  private struct State {
    /// nil while callers wait for it.
    var result: Result<Value, any Error>?
    /// Whether the code that does the work has ended, too.
    var isOver = false
    var waiters: [ObjectIdentifier: Waiter] = [:]
  }

  private struct Waiter {
    let answer: OneShot<Value?>
    let wait: Wait
  }

  /// Makes work that an owner does in a separate task, in the work's ``Work/context``.
  public init(owner: UniqueID, for parent: CallContext = .current) {
    parentContext = ParentContext(parent)
    self.owner = owner
    call = nil
  }

  /// Makes work that a call does in its own task.
  public init(by call: Call) {
    parentContext = ParentContext(call.parent)
    owner = nil
    self.call = call
  }

  package var parent: CallContext { parentContext.live }

  package var isOver: Bool { state.withLock { $0.isOver } }

  /// The number of callers that wait.
  package var waiting: Int { state.withLock { $0.waiters.count } }

  /// Ends the work and all waits for it, and resumes the callers. Only the first result counts.
  public func finish(_ result: Result<Value, any Error>) {
    end(with: result, isOver: true)
  }

  /// Ends all waits for the work and resumes the callers, although its code goes on, because its result does not count:
  /// the calls of that code still belong to the work, until ``leave()``.
  func discard(_ result: Result<Value, any Error>) { end(with: result, isOver: false) }

  /// Ends work that is discarded, now or in a moment, without a result: it is for the code that discards it to end the
  /// waits.
  func leave() { state.withLock { $0.isOver = true } }

  private func end(with result: Result<Value, any Error>, isOver: Bool) {
    let waiters = state.withLock { state in
      if isOver { state.isOver = true }
      guard state.result == nil else { return [:] as [ObjectIdentifier: Waiter] }
      state.result = result
      defer { state.waiters = [:] }
      return state.waiters
    }
    for waiter in waiters.values {
      // The wait ends here and not in the caller's task: before that task runs, this call may begin to wait for the
      // caller.
      waiter.wait.end()
      waiter.answer.answer(result.map(Optional.some))
    }
  }

  /// The context of code that does this work.
  public var context: CallContext { CallContext(self) }

  /// Waits for something that this work provides, other than its result. Returns nil at once if the wait would never
  /// end.
  public func wait<Result>(
    in context: CallContext, _ wait: () async throws -> Result
  ) async rethrows -> Result? {
    let edge = Wait(of: context, for: self)
    guard edge.begin() else { return nil }
    defer { edge.end() }
    return try await wait()
  }

  /// Waits for the result.
  ///
  /// - Parameters:
  ///   - context: the calls for which the caller waits.
  ///   - limit: the maximum wait; nil for no limit.
  /// - Returns: the result; nil if the caller would wait for itself, or the time is up: the caller then continues
  ///   without it.
  /// - Throws: the error of the work; a `CancellationError` at once if the caller is cancelled.
  public func result(in context: CallContext, within limit: WaitLimit? = nil) async throws -> Value? {
    let wait = Wait(of: context, for: call ?? self as any Work)
    let waiter = OneShot<Value?>()
    // The wait begins under the lock, so that `finish` ends every wait that has begun.
    let (early, hasBegun) = state.withLock { state in
      guard state.result == nil, wait.begin() else { return (state.result, false) }
      state.waiters[ObjectIdentifier(waiter)] = Waiter(answer: waiter, wait: wait)
      return (nil, true)
    }
    if let early { return try early.get() }
    guard hasBegun else { return nil }
    let alarm = limit.map { Alarm(after: $0.duration, on: $0.clock) { waiter.answer(.success(nil)) } }
    defer {
      alarm?.cancel()
      wait.end()
      state.withLock { $0.waiters[ObjectIdentifier(waiter)] = nil }
    }
    return try await waiter.wait()
  }

  /// Whether a call began after the work did. The work may then have made the call, in a task without the work's
  /// context.
  package func mayHaveBegun(_ call: Call) -> Bool { call.id > position }

  /// The maximum time that a call waits for this work; nil, for no limit, if the call began before the work did.
  ///
  /// - Parameter factor: the multiple of the call's response timeout.
  package func limit(for call: Call, factor: Int = 1) -> WaitLimit? {
    mayHaveBegun(call) ? call.waitLimit(factor: factor) : nil
  }
}
