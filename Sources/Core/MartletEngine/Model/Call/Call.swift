package import MartletSemantics
import Synchronization

/// One call of a session's verb, with all its attempts. It is passed to every interceptor, transport and listener.
public final class Call: Work {
  /// Unique within the process, rising from 1.
  public let id: UInt64
  /// What runs the call; nil if a test made it.
  let runner: (any CallRunner)?
  /// What the request is for: ``RequestOptions/label``; nil if that is not set.
  public let label: String?
  /// The URL of the caller's request, before redirects and without user information; nil if a test made the call.
  package let askedURL: URL?
  /// The calls for which the code runs that made this one.
  private let parentContext: ParentContext
  private let listeners: [any EventListener]
  /// The events that at least one listener receives; none without listeners. A transport need not prepare others.
  public let events: EventKinds
  /// Those that every listener receives.
  private let commonEvents: EventKinds
  /// nil without a deadline, and after the end of the call.
  private let deadline: Mutex<Deadline?>
  /// Whether the call was made with a deadline.
  let hasDeadline: Bool
  private let responseTimeout: Duration?
  /// The number of the attempt that was reported last.
  private let attempt = Atomic(0)
  /// After `.finished` no event is reported, not even by work that a deadline has abandoned.
  private let isFinished = Atomic(false)
  static let lastID = Atomic<UInt64>(0)
  private let hasEnded = Atomic(false)
  /// There are few: a search takes less time than to hash an identifier.
  private let locals = Mutex<[(id: UniqueID, value: any AnyObject & Sendable)]>([])

  init(
    runner: (any CallRunner)?, asked: HTTPRequest?, listeners: [any EventListener], deadline: Deadline?,
    parent: CallContext = .current
  ) {
    self.runner = runner
    parentContext = ParentContext(parent)
    askedURL = (asked?.options.askedURL ?? asked?.url)?.replacingUserInformation(with: nil)
    label = asked?.options.label
    responseTimeout = asked?.options.responseTimeout
    self.deadline = Mutex(deadline)
    hasDeadline = deadline != nil
    id = Self.lastID.add(1, ordering: .relaxed).newValue
    self.listeners = listeners
    var (some, common) = (EventKinds(), EventKinds.all)
    for listener in listeners {
      let events = listener.events
      some.formUnion(events)
      common.formIntersection(events)
    }
    (events, commonEvents) = (some, common)
  }

  /// Makes a call for one of two requests that are sent for another call at the same time, with that one's deadline and
  /// values, and a listener of its own.
  convenience init(copying call: Call, listener: any EventListener) {
    self.init(
      runner: call.runner, asked: nil, listeners: [listener], deadline: call.activeDeadline, parent: call.parent)
    attempt.store(call.currentAttempt, ordering: .relaxed)
    takeLocals(of: call)
  }

  /// The time until ``RequestOptions/deadline``, never negative; nil without a deadline, and after the call's end. A
  /// delay that is longer, before a retry for example, should not begin.
  public var remainingTime: Duration? { activeDeadline?.remaining }

  /// The deadline; nil without one, and after the call's end.
  var activeDeadline: Deadline? { hasDeadline ? deadline.withLock { $0 } : nil }

  /// Awaits work that may not end at the call's deadline by itself, and throws `.deadlineExceeded` if it does not end in
  /// time. Without a deadline it is awaited as usual.
  package func holding<Value: Sendable>(_ work: @escaping @Sendable () async throws -> Value) async throws -> Value {
    guard let deadline = activeDeadline else { return try await work() }
    return try await deadline.holding(work)
  }

  /// Reports an event to the listeners that receive it, in the order in which they were added. Without listeners it is
  /// not evaluated.
  @inline(never)  // an event would have room in the frame of each asynchronous function that reports one
  public func emit(_ event: @autoclosure () -> Event) {
    guard !events.isEmpty, !isFinished.load(ordering: .relaxed) else { return }
    let event = event()
    switch event {
    case .attempt(let number, _): attempt.store(number, ordering: .relaxed)
    case .finished: if isFinished.exchange(true, ordering: .relaxed) { return }
    default: break
    }
    let kind = event.kind
    guard !events.isDisjoint(with: kind) else { return }
    let isCommon = !commonEvents.isDisjoint(with: kind)
    for listener in listeners where isCommon || !listener.events.isDisjoint(with: kind) {
      listener.receive(event, in: self)
    }
  }

  /// Ends the call, and reports that. Nothing waits for the call afterwards.
  package func end(_ error: HTTPError?) {
    hasEnded.store(true, ordering: .relaxed)
    if hasDeadline { _ = deadline.withLock { $0.take() } }
    emit(.finished(error))
  }

  /// The number of the attempt in progress; only if there are listeners.
  var currentAttempt: Int { attempt.load(ordering: .relaxed) }

  /// A value that is kept for this call, from one attempt to the next.
  public subscript<Value>(local: CallLocal<Value>) -> Value {
    get {
      let kept = locals.withLock { locals in locals.first { $0.id == local.id }?.value }
      // no other local has the identifier
      return kept.map { unsafeDowncast($0, to: CallLocal<Value>.Kept.self).value } ?? local.initialValue
    }
    set {
      let kept = CallLocal<Value>.Kept(newValue)
      // the earlier value is released outside the lock
      _ = locals.withLock { locals -> (any AnyObject & Sendable)? in
        guard let index = locals.firstIndex(where: { $0.id == local.id }) else {
          if locals.isEmpty { locals.reserveCapacity(4) }
          locals.append((local.id, kept))
          return nil
        }
        defer { locals[index].value = kept }
        return locals[index].value
      }
    }
  }

  /// Copies all values that are kept for another call, which sends the same request.
  func takeLocals(of other: Call) {
    let values = other.locals.withLock { $0 }
    locals.withLock { $0 = values }
  }
}

extension Call {
  /// The context for code that continues this call elsewhere, on a dispatch queue for example: requests that it makes
  /// within `perform` do not wait for this call. An interceptor has the same as ``CallContext/current``.
  public var context: CallContext { CallContext(self) }

  /// The error of an attempt without a response, for a listener that is told that the request is sent again
  /// (``Event/resend(_:after:reason:)``); nil if the attempt had a response, or if no listener receives that event.
  public internal(set) var lastFailure: HTTPError? {
    get { self[Self.failures] }
    set { self[Self.failures] = newValue }
  }

  private static let failures = CallLocal<HTTPError?>(nil)

  package var parent: CallContext { parentContext.live }

  package var isOver: Bool { hasEnded.load(ordering: .relaxed) }

  package var owner: UniqueID? { nil }

  /// The number of the call that began last.
  static var lastNumber: UInt64 { lastID.load(ordering: .relaxed) }

  /// The longest time that the call waits for work that may wait for the call itself without a sign of that: a multiple
  /// of the response timeout.
  func waitLimit(factor: Int) -> WaitLimit? {
    guard let responseTimeout, let clock = runner?.clock else { return nil }
    return WaitLimit(responseTimeout.bounded * factor, on: clock)
  }
}

/// What a call needs of the session that runs it.
protocol CallRunner: AnyObject, Sendable {
  var clock: any Clock<Duration> { get }
  var decoder: JSONDecoder { get }
}

/// A value that an interceptor or a transport keeps for each call: whether it has already sent the request again, an
/// identifier that is the same for all attempts.
///
/// The owner keeps the local as a property. Only it can access the values, which are released with their calls.
///
/// ```swift
/// struct OneMoreTry: Interceptor {
///   private let hasTried = CallLocal(false)
///
///   func review(_ outcome: Outcome, of attempt: Attempt, in call: Call) async throws -> Verdict {
///     guard case .failure = outcome, !call[hasTried] else { return .accept }
///     call[hasTried] = true
///     return .resend(attempt.request, reason: "one more try")
///   }
/// }
/// ```
public final class CallLocal<Value: Sendable>: Sendable {
  fileprivate let id = UniqueID()
  fileprivate let initialValue: Value

  /// A value in a call. It is an object, because the type of an object is checked in much less time than that of a value.
  fileprivate final class Kept: Sendable {
    let value: Value

    init(_ value: Value) { self.value = value }
  }

  /// Makes a local with the value that it has in a call before it is set.
  public init(_ initialValue: Value) { self.initialValue = initialValue }
}
