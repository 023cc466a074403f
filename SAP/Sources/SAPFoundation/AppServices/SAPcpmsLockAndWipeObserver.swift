@_spi(Toolkit) import MartletEngine
import MartletSemantics

/// The error when an administrator of Mobile Services has locked or wiped the app of a user.
public enum LockWipePolicyError: Error, Sendable, Hashable {
  /// The app is locked.
  case trafficLocked
  /// The app's data have to be removed.
  case trafficWiped
}

extension LockWipePolicyError: LocalizedError {
  /// The message for the user.
  public var errorDescription: String? {
    switch self {
    case .trafficLocked: "The app is locked by its administrator."
    case .trafficWiped: "The app's data were removed by its administrator."
    }
  }
}

/// Recognizes responses with which Mobile Services locks or wipes the app, and fails the requests.
///
/// ```swift
/// let session = SAPURLSession()
/// LockAndWipeManager.shared.register(removal)              // removes the data
/// session.register(SAPcpmsLockAndWipeObserver(store: storage, backend: settings.backendURL))
/// ```
///
/// Such a response has status 403 and the field `x-message-code` with `TRAFFIC_REG_LOCKED` or `TRAFFIC_REG_WIPED`.
/// Every one fails its request with the ``LockWipePolicyError``. The first one notifies the manager; the next does so
/// only after the server has sent a response that neither locks nor wipes. Removing data is the work of the app's
/// ``LockAndWipeEventObserving``: this module removes nothing.
///
/// What SAP's observer stores is not published. This one stores the date of the last response that neither locks nor
/// wipes, because the policy for devices without contact counts from it: ``lastContact``.
public final class SAPcpmsLockAndWipeObserver: SAPURLSessionObserving {
  private struct State {
    /// The error that the manager was told of; nil after a response that neither locks nor wipes.
    var told: LockWipePolicyError?
    /// The date in the store; nil if it was not written yet.
    var stored: Date?
    var line = WorkLine()
  }

  private static let errors: [String: LockWipePolicyError] = [
    "TRAFFIC_REG_LOCKED": .trafficLocked, "TRAFFIC_REG_WIPED": .trafficWiped,
  ]
  private static let key = "SAPcpmsLockAndWipeObserver.lastContact"
  /// The policy counts days, so the store need not be written for every response.
  private static let precision: TimeInterval = 3_600

  private let store: Synchronized<any CodableStoring>
  private let origin: Origin?
  private let manager: any LockAndWipeManaging
  private let state = Locked(State())

  /// Makes an observer.
  ///
  /// - Parameters:
  ///   - store: stores the date of the last contact.
  ///   - backend: the URL whose origin is meant; by default every server, which third parties then are, too. (Not in
  ///     SAP's initializer.)
  ///   - manager: notifies the app of locks and wipes; the shared one by default. (Not in SAP's initializer.)
  public init(
    store: any CodableStoring, backend: URL? = nil, manager: any LockAndWipeManaging = LockAndWipeManager.shared
  ) {
    self.store = Synchronized(store)
    origin = backend.flatMap { Origin($0) }
    self.manager = manager
  }

  /// The date of the last response that neither locks nor wipes, to the hour; nil if there was none. It is that of the
  /// store, so it outlives the program.
  public var lastContact: Date? { store.call { try? $0.get(Date.self, for: Self.key) } }

  /// Fails the task if the response locks or wipes the app.
  public func sapURLSession(
    _ session: SAPURLSession, dataTask task: SAPURLSessionTask, didReceive response: URLResponse,
    completionHandler: @escaping @Sendable (SAPURLSession.ResponseDisposition) -> Void
  ) {
    guard let response = response as? HTTPURLResponse, !task.isAnsweredLocally,
      origin == nil || origin == response.url.flatMap({ Origin($0) })
    else { return completionHandler(.allow(response)) }
    let code = response.statusCode == 403 ? response.value(forHTTPHeaderField: "x-message-code") : nil
    guard let error = code.flatMap({ Self.errors[$0] }) else {
      noteContact()
      return completionHandler(.allow(response))
    }
    tellManager(error)
    completionHandler(.cancel(error))
  }

  private func tellManager(_ error: LockWipePolicyError) {
    let turn = state.withLock { state -> WorkLine.Turn? in
      guard state.told != error else { return nil }
      state.told = error
      return state.line.takeTurn()
    }
    guard let turn else { return }
    Task { [manager] in
      await turn.run {
        switch error {
        case .trafficLocked: await manager.lock()
        case .trafficWiped: await manager.wipe()
        }
      }
    }
  }

  private func noteContact() {
    let now = Date()
    let (isDue, earlier) = state.withLock { state -> (Bool, Date?) in
      state.told = nil
      let earlier = state.stored
      if let earlier, abs(now.timeIntervalSince(earlier)) < Self.precision { return (false, nil) }
      state.stored = now
      return (true, earlier)
    }
    guard isDue else { return }
    do { try store.call { try $0.put(now, for: Self.key) } } catch {
      // The next response tries again.
      state.withLock { state in
        if state.stored == now { state.stored = earlier }
      }
      SessionLog.write(.warning, "SAPcpmsLockAndWipeObserver", "the date of the contact was not stored: \(error)")
    }
  }
}

/// Tells others that the app is locked or wiped.
public protocol LockAndWipeManaging: Sendable {
  /// The app is locked.
  func lock() async

  /// The app's data have to be removed.
  func wipe() async
}

/// Receives that the app is locked or wiped: closes stores, removes data, shows a screen. All methods do nothing by
/// default. They are called one after another, on any thread.
///
/// A lock or wipe begins when all observers know of the one before it. If a method here locks or wipes the app, that
/// call returns at once, because the event in progress has to end first.
///
/// In SAP's releases before 2026 they are not `async`; such methods conform, too. SAP also allows structs, which could
/// not be unregistered here.
public protocol LockAndWipeEventObserving: AnyObject {
  /// The app is about to be locked.
  func willLock() async
  /// The app is locked.
  func didLock() async
  /// The app is about to be wiped.
  func willWipe() async
  /// The app is wiped.
  func didWipe() async
}

extension LockAndWipeEventObserving {
  /// Does nothing.
  public func willLock() async {}
  /// Does nothing.
  public func didLock() async {}
  /// Does nothing.
  public func willWipe() async {}
  /// Does nothing.
  public func didWipe() async {}
}

/// Tells registered observers, in the order of registration, that the app is locked or wiped: first that this is about
/// to happen, then that it has happened.
public final class LockAndWipeManager: LockAndWipeManaging, Sendable {
  /// The manager that observers use by default.
  public static let shared = LockAndWipeManager()

  private let observers = Locked<[UncheckedSendable<any LockAndWipeEventObserving>]>([])
  private let line = Locked(WorkLine())

  /// Makes a manager.
  public init() {}

  /// Adds an observer, unless it is registered. The manager holds it.
  public func register(_ observer: any LockAndWipeEventObserving) {
    let observer = UncheckedSendable(value: observer)
    observers.withLock { observers in
      if !observers.contains(where: { $0.value === observer.value }) { observers.append(observer) }
    }
  }

  /// Removes an observer.
  public func unregister(_ observer: any LockAndWipeEventObserving) {
    observers.withLock { observers in observers.removeAll { $0.value === observer } }
  }

  /// Tells the observers that the app is locked, after all earlier events. In one of these events it returns at once.
  public func lock() async { await end(of: addLock()) }

  /// Tells the observers that the app is wiped, after all earlier events. In one of these events it returns at once.
  public func wipe() async { await end(of: addWipe()) }

  /// Begins ``lock()``, and returns at once: the form of SAP's releases before 2026.
  public func Lock() { addLock() }

  /// Begins ``wipe()``, and returns at once: the form of SAP's releases before 2026.
  public func Wipe() { addWipe() }

  /// The manager whose event is in progress. Waiting there for another event of that manager would never end.
  @TaskLocal private static var current: ObjectIdentifier?

  private func end(of event: WorkLine.Turn) async {
    if Self.current != ObjectIdentifier(self) { await event.wait() }
  }

  @discardableResult
  private func addLock() -> WorkLine.Turn {
    add { observers in
      for observer in observers { await observer.value.willLock() }
      for observer in observers { await observer.value.didLock() }
    }
  }

  @discardableResult
  private func addWipe() -> WorkLine.Turn {
    add { observers in
      for observer in observers { await observer.value.willWipe() }
      for observer in observers { await observer.value.didWipe() }
    }
  }

  /// Adds an event for the observers that are registered when its turn comes.
  private func add(
    _ event: @escaping @Sendable ([UncheckedSendable<any LockAndWipeEventObserving>]) async -> Void
  ) -> WorkLine.Turn {
    let turn = line.withLock { $0.takeTurn() }
    Task {
      await turn.run {
        let observers = self.observers.withLock { $0 }
        await Self.$current.withValue(ObjectIdentifier(self)) { await event(observers) }
      }
    }
    return turn
  }
}
