@_spi(Credentials) public import MartletEngine

// The path of a data task: `dataTask(with:completionHandler:)` makes a `SAPURLSessionTask`, whose `resume()` starts a
// `TaskRun`. That makes one call of the engine, in which an `ObserverInterceptor` calls the observers and the delegate.

/// Makes tasks that run through observers: SAP's documented session, on Martlet's engine.
///
/// ```swift
/// let session = SAPURLSession()
/// session.register(CorrelationObserver())
/// session.dataTask(with: url) { data, response, error in print(data?.count ?? 0) }.resume()
/// ```
///
/// - The configuration is read once, when the session is made: later changes to it have no effect.
/// - Completion handlers, observers and the delegate are called on ``delegateQueue``. They may start tasks of the
///   session and answer when those have completed. As with Foundation's session, code that blocks the queue until a
///   task completes causes a deadlock.
/// - A session stays in memory until its running tasks have completed. Its delegate is held strongly until the session
///   is invalidated and its last task has completed, as in Foundation.
/// - `streamTask` and background sessions are not supported.
public final class SAPURLSession: Sendable {
  /// A copy of the configuration that the session was made with.
  let foundationConfiguration: URLSessionConfiguration
  /// Whether tasks wait for a connection that cannot be made: a property of the configuration that takes long to read.
  let waitsForConnectivity: Bool
  /// The session's cookies; nil if it has none.
  let cookieStorage: SAPHTTPCookieStorage?
  /// The session's cache as a `URLCache`; nil if it has none.
  let urlCache: SAPURLCache?
  /// The serial queue on which completion handlers, observers and the delegate are called; by default one of the
  /// session's own. One operation makes all calls that wait. While the queue is suspended, no call is made.
  public let delegateQueue: OperationQueue
  /// The callbacks for ``delegateQueue``.
  let callbacks: CallbackQueue
  let state: Locked<State>
  private let contextValues = ContextValues()
  let engine: HTTPSession
  let transport: SAPTransport
  /// Warns about observers and delegates that do not answer.
  let watchdog: ObserverWatchdog
  /// The credentials that were given for the whole session.
  let credentials = SessionCredentials()
  /// The sign-outs: tasks that began before the last one send no more requests.
  let signOut = SignOutMark()
  /// The passwords that servers have accepted. Later requests carry them without a challenge.
  let acceptedPasswords = AcceptedPasswords()
  /// The maximum number of bytes that a task collects for its completion handler: the engine's own limit.
  let collectLimit = RequestOptions().collectLimit
  /// The options of a request that leaves everything to the configuration.
  private let standardOptions: RequestOptions

  struct State {
    var isValid = true
    var refusesLogins = false
    /// The registered observers, in order.
    var observers: [SessionEventHandler] = [] { didSet { updateHandlers() } }
    var delegate: SessionEventHandler? { didSet { updateHandlers() } }
    /// The observers in their order, then the delegate.
    private(set) var handlers: [SessionEventHandler] = []
    /// The observers of the invalidated session that are still to be notified of that.
    var leaving: [SessionEventHandler] = []
    /// The credentials of unregistered observers, which the next sign-out removes, too.
    var formerKeepers: [any CredentialKeeper] = []
    var description: String?
    var running: [ObjectIdentifier: SAPURLSessionTask] = [:]
    var lastNumber = 0

    init(delegate: SessionEventHandler?) {
      self.delegate = delegate
      updateHandlers()
    }

    private mutating func updateHandlers() { handlers = observers + (delegate.map { [$0] } ?? []) }

    /// Keeps the credentials of an observer that was unregistered for ``SAPURLSession/clearCredentials()``.
    mutating func retire(_ observer: SessionEventHandler) {
      guard let keeper = (observer.events as? any CredentialHolder)?.keeper,
        !formerKeepers.contains(where: { $0 === keeper })
      else { return }
      formerKeepers.append(keeper)
    }
  }

  /// Makes a session.
  ///
  /// ```swift
  /// var connection = ConnectionConfiguration()
  /// connection.tls.additionalAuthorities = URL(filePath: "/etc/ssl/company.pem")
  /// let session = SAPURLSession(connection: connection)
  /// ```
  ///
  /// - Parameters:
  ///   - configuration: read once and copied; `.default` by default.
  ///   - connection: TLS, proxy, versions and limits. Its proxy, its connections per host and its service class
  ///     override `connectionProxyDictionary`, `httpMaximumConnectionsPerHost` and `networkServiceType` of
  ///     `configuration` if they differ from the defaults. A request's own `networkServiceType` overrides both. Some
  ///     sessions run on Foundation's URLSession, which ignores all of these settings: every session on Apple's
  ///     platforms, and one whose configuration has `protocolClasses`. Then the log has a warning for each setting that
  ///     is not the default.
  ///   - credentials: sources for schemes that challenges to observers and delegate do not support, such as the
  ///     `NegotiateSource` of the product `MartletKerberos`. For the origins in its scope, a source is asked first. If
  ///     it has no answer, observers and the delegate are called. None by default.
  ///   - delegate: called after the observers; held strongly until the session is invalidated. None by default.
  ///   - delegateQueue: the queue of all callbacks; it has to be serial. One of the session's own by default.
  public convenience init(
    configuration: URLSessionConfiguration = .default, connection: ConnectionConfiguration = .init(),
    credentials: [any CredentialSource] = [], delegate: (any SAPURLSessionDelegate)? = nil,
    delegateQueue: OperationQueue? = nil
  ) {
    let transport = SAPTransport.transport(for: configuration, connection)
    self.init(
      configuration: configuration, credentials: credentials, delegate: delegate, delegateQueue: delegateQueue,
      in: Environment(transport: transport))
  }

  /// The network and the time, which tests replace.
  struct Environment {
    let transport: any Transport
    let clock: any Clock<Duration>

    init(transport: any Transport, clock: any Clock<Duration> = ContinuousClock()) {
      (self.transport, self.clock) = (transport, clock)
    }
  }

  /// Makes a session in any environment.
  init(
    configuration: URLSessionConfiguration = .default, credentials: [any CredentialSource] = [],
    delegate: (any SAPURLSessionDelegate)? = nil, delegateQueue: OperationQueue? = nil, in environment: Environment
  ) {
    foundationConfiguration = configuration.copy() as? URLSessionConfiguration ?? configuration
    waitsForConnectivity = foundationConfiguration.waitsForConnectivity
    standardOptions = Self.options(nil, foundationConfiguration)
    cookieStorage = configuration.sessionCookies
    urlCache = configuration.sessionCache
    self.delegateQueue = delegateQueue ?? Self.makeQueue()
    callbacks = CallbackQueue(self.delegateQueue)
    state = Locked(State(delegate: delegate.map { SessionEventHandler($0) }))
    self.transport = SAPTransport(base: environment.transport)
    watchdog = ObserverWatchdog(environment.clock)
    let internalRequests = InternalRequests()
    var settings = SessionConfiguration(configuration, cookies: cookieStorage, cache: urlCache, internalRequests)
    settings.credentials = credentials + [ChallengeSource(acceptedPasswords)]
    settings.clock = environment.clock
    engine = HTTPSession(transport: self.transport, configuration: settings)
    internalRequests.setSession(self)
    SessionOpening.current?.add(self)
  }

  private static func makeQueue() -> OperationQueue {
    let queue = OperationQueue()
    queue.name = "SAP.Foundation.SAPURLSession"
    queue.maxConcurrentOperationCount = 1
    return queue
  }

  /// The calls for which the current code runs. Code of an observer, an authenticator or a handler may continue on
  /// another queue and make requests there for which the call waits. Pass the context to such code: see
  /// `MartletEngine.CallContext`.
  public typealias CallContext = MartletEngine.CallContext

  /// Whether the session can start tasks: true until it is invalidated.
  public var isValid: Bool { state.withLock { $0.isValid } }

  /// The delegate; nil if there is none, and after the session was invalidated and its last task has completed.
  public var delegate: (any SAPURLSessionDelegate)? { state.withLock { $0.delegate?.delegate } }

  /// A description for people; nil by default.
  public var sessionDescription: String? {
    get { state.withLock { $0.description } }
    set { state.withLock { $0.description = newValue } }
  }

  /// Values that an app keeps with the session. Any thread may use this property, so the values must be safe to use
  /// from any thread, too.
  public var context: [String: Any] {
    get { contextValues.all }
    _modify { yield &contextValues.all }
  }

  /// Returns the options of a task's call. Making new ones takes longer than checking that the request has none of its
  /// own.
  func options(for request: URLRequest) -> RequestOptions {
    let isStandard =
      request.hasStandardTimeout && request.cachePolicy == .useProtocolCachePolicy && request.httpShouldHandleCookies
    return isStandard ? standardOptions : Self.options(request, foundationConfiguration)
  }

  /// - Parameter request: nil for one with Foundation's defaults.
  private static func options(_ request: URLRequest?, _ configuration: URLSessionConfiguration) -> RequestOptions {
    var options = RequestOptions()
    options.apply(request ?? URLRequest(url: URL(filePath: "/")), configuration)
    options.redirectDecision = { next, response, call in
      guard let task = call[SAPURLSessionTask.ofCall] else { return next }
      return try await task.resolveRedirect(to: next, after: response)
    }
    return options
  }

  /// Returns the number of the next backing task.
  func nextNumber() -> Int {
    state.withLock { state in
      state.lastNumber += 1
      return state.lastNumber
    }
  }
}

// MARK: - Observers

extension SAPURLSession {
  /// The registered observers in their order. This is a copy that later changes do not affect.
  public var observers: [any SAPURLSessionObserving] { state.withLock { $0.observers.compactMap(\.observer) } }

  /// Adds an observer after the registered observers.
  ///
  /// It takes part from now on, in running tasks too. Registering the same object twice has no effect except a warning
  /// in the log. (SAP's session ends the program.)
  public func register(_ observer: any SAPURLSessionObserving) {
    let handler = SessionEventHandler(observer)
    let isNew = state.withLock { state in
      let isNew = !state.observers.contains { $0.events === observer }
      if isNew { state.observers.append(handler) }
      return isNew
    }
    if !isNew {
      SessionLog.write(
        .warning, nil, "an observer of type \(type(of: observer)) is already registered; nothing was changed")
    }
  }

  /// Removes an observer. It is not called any more from now on: callbacks that wait in the queue are dropped, and only
  /// one that is running continues. For an observer that is not registered, this has no effect, now and at a sign-out:
  /// its store may belong to another session. You may call it from within a callback. The session releases the observer
  /// when the tasks that are calling it have ended. It keeps the observer's store until the next sign-out, because
  /// ``clearCredentials()`` still removes the user's data there.
  public func unregister(_ observer: any SAPURLSessionObserving) {
    let wasRegistered = state.withLock { state in
      for handler in state.leaving where handler.events === observer { handler.leave() }
      guard let index = state.observers.firstIndex(where: { $0.events === observer }) else { return false }
      let handler = state.observers.remove(at: index)
      handler.leave()
      state.retire(handler)
      return true
    }
    // The session must not send the observer's passwords any more.
    if wasRegistered, observer is any CredentialHolder { acceptedPasswords.removeAll() }
  }

  /// Whether this object is registered.
  public func isRegistered(_ observer: any SAPURLSessionObserving) -> Bool {
    state.withLock { state in state.observers.contains { $0.events === observer } }
  }
}

// MARK: - Invalidation

extension SAPURLSession {
  /// Starts no more tasks, and lets running tasks complete. Then it notifies and releases observers and the delegate.
  public func finishTasksAndInvalidate() { invalidate { _ in } }

  /// Starts no more tasks, and cancels running tasks. When they have completed, it notifies and releases observers and
  /// the delegate.
  public func invalidateAndCancel() { invalidate { $0.cancel() } }

  private func invalidate(_ end: (SAPURLSessionTask) -> Void) {
    let (wasValid, running) = state.withLock { state in
      defer { state.isValid = false }
      return (state.isValid, state.running)
    }
    for task in running.values { end(task) }
    if wasValid, running.isEmpty { didBecomeInvalid() }
  }

  /// Adds a task to the running ones. Returns false if the session was invalidated.
  func didBegin(_ task: SAPURLSessionTask) -> Bool {
    state.withLock { state in
      if state.isValid { state.running[ObjectIdentifier(task)] = task }
      return state.isValid
    }
  }

  /// Removes a task that has completed.
  func didComplete(_ task: SAPURLSessionTask) {
    let isLast = state.withLock { state in
      state.running.removeValue(forKey: ObjectIdentifier(task)) != nil && state.running.isEmpty && !state.isValid
    }
    if isLast { didBecomeInvalid() }
  }

  /// Calls observers and delegate one after another without waiting for their completion handlers.
  private func didBecomeInvalid() {
    let (observers, delegate) = state.withLock { state in
      defer {
        for observer in state.observers { state.retire(observer) }
        (state.leaving, state.observers, state.delegate) = (state.observers, [], nil)
      }
      return (state.observers, state.delegate)
    }
    callbacks.add { [self] in
      for handler in observers where handler.isCurrent {
        handler.observer?.sapURLSession(self, didBecomeInvalidWithError: nil) {}
        handler.leave()
      }
      delegate?.delegate?.sapURLSession(self, didBecomeInvalidWithError: nil)
      delegate?.leave()
      state.withLock { $0.leaving = [] }
    }
  }
}

extension SAPURLSession {
  /// The sink for the log of all sessions. By default these are the loggers below `SAP.Foundation.SAPURLSession`, whose
  /// levels and handlers determine what is written (see ``Logger``). A sink that the app sets gets all levels that it
  /// has enabled, whatever the levels of the loggers.
  ///
  /// Every line in a sink begins with `SAP.Foundation.SAPURLSession`. Lines contain no secrets: tokens, cookies, values
  /// of queries and keys of entities are replaced.
  public static var logSink: any LogSink {
    get { SessionLog.sink }
    set { SessionLog.sink = newValue }
  }
}

extension SAPURLSession: CustomReflectable {
  /// A mirror without the configuration, whose fields may be secrets, and without the session's own state.
  public var customMirror: Mirror { Mirror(self, children: ["sessionDescription": sessionDescription as Any]) }
}
