@_spi(Toolkit) public import MartletSemantics
import Synchronization

/// One call of a session's method, with all its attempts. It is passed to every interceptor, transport and listener.
public final class Call: Work {
  /// A number that is unique within the process, rising from 1.
  public let id: UInt64
  /// The session that runs the call; nil if a test made it.
  let runner: (any CallRunner)?
  /// The purpose of the request: ``RequestOptions/label``; nil if that is not set.
  public let label: String?
  /// The URL of the caller's request, before redirects and without user information; nil if a test made the call. An
  /// interceptor that adds a secret compares its origin with that of the attempt: after a redirect to another origin,
  /// the secret must not be sent.
  public let askedURL: URL?
  /// The purpose of the call, and what the caller does with the response.
  package let use: Use
  /// The call that this one is a part of; see ``part(reportingTo:measuredBy:)``.
  private let whole: Call?
  /// Measures the time since the request was sent; nil unless the call is a part of another one.
  let sendingClock: SendingClock?
  /// The context in which this call was made: the calls for which that code runs.
  private let parentContext: ParentContext
  private let reporter: EventReporter
  /// nil without a deadline, and after the end of the call.
  private let deadline: Mutex<Deadline?>
  /// Whether the call was made with a deadline.
  let hasDeadline: Bool
  private let responseTimeout: Duration?
  private let attempt = Atomic(0)
  /// The last number of a call or of a sign-out: both are in one order.
  private static let lastID = Atomic<UInt64>(0)
  private let endActions = EndActions()
  /// There are few: a search takes less time than hashing an identifier.
  private let locals = Mutex<[(id: UniqueID, value: any AnyObject & Sendable)]>([])

  init(
    runner: (any CallRunner)?, asked: HTTPRequest?, _ use: Use = .init(), listeners: [any EventListener],
    deadline: Deadline?
  ) {
    self.runner = runner
    (whole, sendingClock) = (nil, nil)
    parentContext = ParentContext(.current)
    self.use = use
    askedURL = (use.askedURL ?? asked?.url)?.replacingUserInformation(with: nil)
    // Read in their box: `asked?.options` would copy all of them.
    let options = asked?.sharedOptions.box
    label = options?.value.label
    responseTimeout = options?.value.responseTimeout
    self.deadline = Mutex(deadline)
    hasDeadline = deadline != nil
    // In the order of all sign-outs: whoever reads a mark afterwards and finds the former one began before the next.
    id = Self.lastID.add(1, ordering: .sequentiallyConsistent).newValue
    reporter = EventReporter(listeners)
  }

  private init(partOf whole: Call, reportingTo listener: (any EventListener)?, measuredBy clock: SendingClock) {
    (runner, id, use) = (whole.runner, whole.id, whole.use)
    (label, askedURL, responseTimeout) = (whole.label, whole.askedURL, whole.responseTimeout)
    deadline = Mutex(nil)
    hasDeadline = whole.hasDeadline
    (self.whole, sendingClock) = (whole.root, clock)
    parentContext = ParentContext(whole.parent)
    reporter = EventReporter(listener.map { [$0] } ?? [])
    attempt.store(whole.currentAttempt, ordering: .relaxed)
  }

  /// Returns this call with other listeners, for one of two requests that may be sent for it at the same time. It
  /// shares this call's properties, values, deadline and end.
  ///
  /// - Parameters:
  ///   - listener: the listener; nil for none.
  ///   - clock: measures the time since the request was sent.
  func part(reportingTo listener: (any EventListener)?, measuredBy clock: SendingClock) -> Call {
    Call(partOf: self, reportingTo: listener, measuredBy: clock)
  }

  /// The call that has the values, the deadline and the end: this one, unless it is a part.
  private var root: Call { whole ?? self }

  /// The time until ``RequestOptions/deadline``, never negative; nil without a deadline, and after the call's end. Do
  /// not begin a longer delay, for example before a retry.
  public var remainingTime: Duration? { activeDeadline?.remaining }

  /// The deadline; nil without one, and after the call's end.
  @_spi(Transports) public var activeDeadline: Deadline? { hasDeadline ? root.deadline.withLock { $0 } : nil }

  /// Awaits work that may not end at the call's deadline by itself, and throws `.deadlineExceeded` if it does not end
  /// in time. Without a deadline it is simply awaited.
  ///
  /// - Parameter discard: gets a value that arrives too late; it is dropped by default.
  @_spi(Transports) public func withinDeadline<Value: Sendable>(
    discarding discard: @escaping @Sendable (Value) -> Void = { _ in },
    _ work: @escaping @Sendable () async throws -> Value
  ) async throws -> Value {
    guard let deadline = activeDeadline else { return try await work() }
    return try await deadline.limiting(discarding: discard, work)
  }

  /// Waits for a result until the deadline, if there is one.
  func wait<Value: Sendable>(for result: OneShot<Value>) async throws -> Value {
    guard let deadline = activeDeadline else { return try await result.wait() }
    return try await deadline.wait(for: result)
  }

  /// Removes the deadline: the call has ended, or has opened a connection, which may last.
  func releaseDeadline() { if hasDeadline { _ = root.deadline.withLock { $0.take() } } }

  /// The events that at least one listener receives; none without listeners. A transport need not prepare other events.
  public var events: Event.Kinds { reporter.kinds }

  /// Reports an event to the listeners that receive it, in the order in which they were added. Without listeners it is
  /// not evaluated.
  @inline(never)  // Its event would take space in the frames of the functions that report it.
  public func emit(_ event: @autoclosure () -> Event) {
    if reporter.isOpen { reporter.report(event(), of: self) }
  }

  /// Ends the call and reports its end. Nothing waits for the call afterwards. The user of a connection that a call has
  /// opened calls it; see ``HTTPSession/upgrade(for:)``. Every other call ends by itself.
  @_spi(Transports) public func end(_ error: HTTPError?) {
    if let whole { return whole.end(error) }
    endActions.run()
    releaseDeadline()
    emit(.finished(error))
  }

  /// Runs an action once at the end of the call, however it ends; at once if it has ended. A call ends with its body,
  /// or with the connection that it has opened. The action should be quick: the end of the call waits for it.
  public func atEnd(_ action: @escaping @Sendable () -> Void) {
    root.endActions.add(action)
  }

  /// Notes that an attempt begins.
  func begin(attempt number: Int) { attempt.store(number, ordering: .relaxed) }

  /// The number of the attempt in progress, from 1; 0 before the first.
  package var currentAttempt: Int { attempt.load(ordering: .relaxed) }

  /// A value of this call that is kept from one attempt to the next.
  public subscript<Value>(local: CallLocal<Value>) -> Value {
    get {
      let kept = root.locals.withLock { locals in locals.first { $0.id == local.id }?.value }
      guard let kept else { return local.initialValue }
      return local.value(in: kept)
    }
    set {
      let kept = CallLocal<Value>.Kept(newValue)
      // The earlier value is released outside the lock.
      _ = root.locals.withLock { locals -> (any AnyObject & Sendable)? in
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

  /// Copies all values of another call, which sends the same request.
  func takeLocals(of other: Call) {
    let values = other.root.locals.withLock { $0 }
    root.locals.withLock { $0 = values }
  }
}

extension Call {
  /// The context for code that continues this call elsewhere, for example on a dispatch queue: requests that it makes
  /// within `perform` do not wait for this call. An interceptor's ``CallContext/current`` is the same.
  public var context: CallContext { CallContext(root) }

  /// The content codings that were decoded in the response of the current attempt, in the order in which they were
  /// applied; empty if it had none. They are set only if there are listeners.
  @_spi(Toolkit) public internal(set) var decodedCodings: [String] {
    get { self[Self.decodedCodings].codings(in: currentAttempt) }
    set { self[Self.decodedCodings] = DecodedCodings(attempt: currentAttempt, codings: newValue) }
  }

  private static let decodedCodings = CallLocal(DecodedCodings())

  private struct DecodedCodings: Sendable {
    var attempt = 0
    var codings: [String] = []

    func codings(in attempt: Int) -> [String] { attempt == self.attempt ? codings : [] }
  }

  /// The purpose of a call, and what its caller does with the response.
  package struct Use: Sendable {
    /// Whether the caller collects the body: a transport may then return a small body in one piece.
    package var collectsBody: Bool
    /// Whether the response may open a connection, which its user ends by ``Call/end(_:)``.
    package var opensConnection: Bool
    /// Whether the response may be stored in the cache.
    package var storesResponse: Bool
    /// Whether the call only renews a stored response, and has no caller.
    package var onlyRenewsCache: Bool
    /// The URL that the caller requested, for a request that continues another one; nil if it is the request's own.
    package var askedURL: URL?

    package init(
      collectsBody: Bool = false, opensConnection: Bool = false, storesResponse: Bool = true,
      onlyRenewsCache: Bool = false, askedURL: URL? = nil
    ) {
      (self.collectsBody, self.opensConnection) = (collectsBody, opensConnection)
      (self.storesResponse, self.onlyRenewsCache, self.askedURL) = (storesResponse, onlyRenewsCache, askedURL)
    }
  }

  @_spi(Toolkit) public var parent: CallContext { parentContext.live }

  package var isOver: Bool { root.endActions.haveRun }

  package var owner: UniqueID? { nil }

  package var position: UInt64 { id }

  /// The last number of a call or of a sign-out: a call with a greater one began later.
  @_spi(Credentials) public static var lastPosition: UInt64 { lastID.load(ordering: .sequentiallyConsistent) }

  /// Takes the next number, for a sign-out: calls with a smaller one began before it.
  static func takeNextPosition() -> UInt64 { lastID.add(1, ordering: .sequentiallyConsistent).newValue }

  /// The maximum time that the call waits for work that may itself be waiting for the call, although no context shows
  /// it: a multiple of the response timeout.
  @_spi(Toolkit) public func waitLimit(factor: Int = 1) -> WaitLimit? {
    guard let responseTimeout, let clock = runner?.clock else { return nil }
    return WaitLimit(responseTimeout.bounded * factor, on: clock)
  }
}

extension CallContext {
  /// The calls, from the innermost outwards, without the work between them that several callers share.
  var calls: [Call] { works.compactMap { $0 as? Call } }
}

/// The properties that a call needs of its session.
protocol CallRunner: AnyObject, Sendable {
  var clock: any Clock<Duration> { get }
  /// The maximum number of attempts of a call.
  var attemptLimit: Int { get }
  var decoder: JSONDecoder { get }
}

extension Call: CustomReflectable {
  /// A mirror with number, label and URL, without the query of the URL.
  public var customMirror: Mirror {
    Mirror(self, children: ["id": id, "label": label as Any, "askedURL": askedURL?.redacted as Any])
  }
}

/// A value that an interceptor or a transport keeps for each call, for example whether it has already sent the request
/// again, or an identifier common to all attempts.
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

  /// A value in a call. It is an object, because checking the type of an object takes much less time than that of a
  /// value.
  fileprivate final class Kept: Sendable {
    let value: Value

    init(_ value: Value) { self.value = value }
  }

  /// Makes a local with its initial value in each call.
  public init(_ initialValue: Value) { self.initialValue = initialValue }

  /// Returns the value in the object of a call: no other local has its identifier.
  fileprivate func value(in kept: any AnyObject & Sendable) -> Value { unsafeDowncast(kept, to: Kept.self).value }
}
