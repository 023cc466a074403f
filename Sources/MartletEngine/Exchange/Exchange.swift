package import MartletSemantics
import Synchronization

/// What one call knows about itself. It is passed down the stack, never looked up.
public final class Exchange: Sendable {
  /// Unique within the process, rising from 1.
  public let id: UInt64
  /// The session that runs the exchange, for an interceptor that has to ask for something first: a token, say. nil where
  /// a test made the exchange. See ``StepAside`` for how not to wait for oneself.
  public let session: HTTPSession?
  /// The URL that the caller asked for, whatever redirects lead to, without user information; nil where a test made the
  /// exchange.
  package let askedURL: URL?
  private let listeners: [any EventListener]
  private let deadline: Deadline?
  /// Whether anybody wants to see the bytes of bodies.
  let wantsBodies: Bool
  /// The number of the attempt that was told last.
  private let attempt = Atomic(0)
  /// After `.finished` there is silence, also from work that a deadline left behind.
  private let isFinished = Atomic(false)
  private static let lastID = Atomic<UInt64>(0)
  private let locals = Mutex<[ObjectIdentifier: any Sendable]>([:])

  /// Makes the exchange of one call. A session does this; tests of a transport may do it too.
  public convenience init(session: HTTPSession? = nil, listeners: [any EventListener] = []) {
    self.init(session: session, askedURL: nil, listeners: listeners, deadline: nil)
  }

  init(session: HTTPSession?, askedURL: URL?, listeners: [any EventListener], deadline: Deadline?) {
    self.session = session
    self.askedURL = askedURL?.replacingUserInformation(with: nil)
    self.deadline = deadline
    id = Self.lastID.add(1, ordering: .relaxed).newValue
    self.listeners = listeners
    wantsBodies = listeners.contains(where: \.wantsBodies)
  }

  /// The time that is left until ``RequestOptions/deadline``, never below zero; nil without one. What waits, a retry say,
  /// should not begin to wait for longer.
  public var remainingTime: Duration? { deadline?.remaining }

  /// Whether anybody watches: a transport that has none to tell can save itself the work of telling.
  public var isObserved: Bool { !listeners.isEmpty }

  /// Tells every listener, in the order of registration. Where nobody watches, the event is not even made.
  public func emit(_ event: @autoclosure () -> Event) {
    guard isObserved, !isFinished.load(ordering: .relaxed) else { return }
    let event = event()
    if case .finished = event, isFinished.exchange(true, ordering: .relaxed) { return }
    switch event {
    case .bytes: for listener in listeners where listener.wantsBodies { listener.receive(event, in: self) }
    case .attempt(let number, _):
      attempt.store(number, ordering: .relaxed)
      fallthrough
    default: for listener in listeners { listener.receive(event, in: self) }
    }
  }

  /// The number of the attempt that is under way, where somebody watches.
  var currentAttempt: Int { attempt.load(ordering: .relaxed) }

  /// What somebody remembers of this exchange from one attempt to the next.
  public subscript<Value>(local: ExchangeLocal<Value>) -> Value {
    get { locals.withLock { $0[ObjectIdentifier(local)] as? Value } ?? local.initialValue }
    set { locals.withLock { $0[ObjectIdentifier(local)] = newValue } }
  }
}

/// A value that an interceptor or a transport keeps for each exchange: whether it has resent already, an identifier that
/// stays the same over all attempts.
///
/// The owner keeps the local as a property; nobody else can see the values, which end with their exchanges.
///
/// ```swift
/// struct OneMoreTry: Interceptor {
///   private let hasTried = ExchangeLocal(false)
///
///   func review(_ outcome: Outcome, of attempt: Attempt, in exchange: Exchange) async throws -> Verdict {
///     guard case .failure = outcome, !exchange[hasTried] else { return .accept }
///     exchange[hasTried] = true
///     return .resend(attempt.request, reason: "one more try")
///   }
/// }
/// ```
public final class ExchangeLocal<Value: Sendable>: Sendable {
  fileprivate let initialValue: Value

  /// Makes a local that has this value in every exchange that has not set another.
  public init(_ initialValue: Value) { self.initialValue = initialValue }
}
