@_spi(Toolkit) import MartletEngine

/// An observer or the delegate, with the facts about it that the session needs at every request.
///
/// SAFETY: it is called on the session's serial delegate queue and nowhere else; the other properties are constants.
struct SessionEventHandler: @unchecked Sendable {
  let events: any SAPURLSessionEvents
  /// The observer; nil for the delegate.
  let observer: (any SAPURLSessionObserving)?
  /// The delegate; nil for an observer.
  let delegate: (any SAPURLSessionDelegate)?
  /// The interceptor of an observer that works in the engine's terms; nil for all others.
  let intercepting: (any InterceptingObserver)?
  /// The listener of an observer that has one.
  let listener: (any EventListener)?
  /// Whether it may refuse a server. This module's own observers never do; subclasses of them may.
  let mayRefuseServers: Bool
  /// Whether it may override callbacks that this module's interceptors stand for: it is of a subclass of an app's.
  let mayOverride: Bool
  /// Whether it gets no more calls. All copies share this.
  private let hasLeft = Locked(false)

  init(_ observer: any SAPURLSessionObserving) { self.init(observer, observer, nil) }

  init(_ delegate: any SAPURLSessionDelegate) { self.init(delegate, nil, delegate) }

  private init(
    _ events: any SAPURLSessionEvents, _ observer: (any SAPURLSessionObserving)?,
    _ delegate: (any SAPURLSessionDelegate)?
  ) {
    self.events = events
    self.observer = observer
    self.delegate = delegate
    intercepting = observer as? any InterceptingObserver
    listener = (observer as? any ListeningObserver)?.listener
    let isOwn = Self.neverRefuseServers.contains(ObjectIdentifier(type(of: events)))
    mayRefuseServers = !isOwn
    mayOverride = !isOwn && observer is BuiltInObserver
  }

  /// Whether it is still called: false after it was unregistered, and after its last call, that the session is invalid.
  /// A list of handlers that was read before may still have it.
  var isCurrent: Bool { !hasLeft.value }

  /// Ends the calls, including queued calls.
  func leave() { _ = hasLeft.replace(by: true) }

  /// The observers that accept what the system decides about a server. A class that is missing here is asked, and so is
  /// a subclass of one that is not.
  private static let neverRefuseServers: Set<ObjectIdentifier> = [
    ObjectIdentifier(APIKeyAuthenticationObserver.self), ObjectIdentifier(ApplicationVersionObserver.self),
    ObjectIdentifier(BasicAuthenticationObserver.self),
    ObjectIdentifier(CSRFTokenObserver.self), ObjectIdentifier(CorrelationObserver.self),
    ObjectIdentifier(LanguageObserver.self), ObjectIdentifier(NetworkActivityIndicatorObserver.self),
    ObjectIdentifier(OAuth2Observer.self), ObjectIdentifier(OTPObserver.self), ObjectIdentifier(SAMLObserver.self),
    ObjectIdentifier(SAPPassportObserver.self), ObjectIdentifier(SAPcpmsLockAndWipeObserver.self),
    ObjectIdentifier(SAPcpmsObserver.self),
    ObjectIdentifier(SAPcpmsUserBlockedObserver.self), ObjectIdentifier(UserIdentityObserver.self),
  ]
}

extension SAPURLSession {
  /// The observers in their order, then the delegate.
  var eventHandlers: [SessionEventHandler] { state.withLock { $0.handlers } }

  /// Calls one handler, on the delegate queue, and returns its first answer; nil if the handler has left before the
  /// call. Cancelling the current task ends the wait. Requests that the handler makes count as made for the current
  /// calls.
  ///
  /// - Parameters:
  ///   - method: the name of the method that is called, for a warning if there is no answer.
  ///   - task: the task that waits for the answer.
  func ask<Answer: Sendable>(
    _ handler: SessionEventHandler, _ method: StaticString, of task: SAPURLSessionTask,
    _ call: @escaping @Sendable (any SAPURLSessionEvents, @escaping @Sendable (Answer) -> Void) -> Void
  ) async throws -> Answer? {
    let answer = OneShot<Answer?>()
    let context = CallContext.current
    let question = ObserverWatchdog.Question(to: handler, method, of: task)
    watchdog.add(question)
    defer { watchdog.remove(question) }
    callbacks.add {
      guard handler.isCurrent else {
        answer.answer(.success(nil))
        return
      }
      question.watch { context.perform { call(handler.events) { answer.answer(.success($0)) } } }
    }
    return try await answer.wait()
  }

  /// Calls all handlers, on the delegate queue, without waiting.
  func notify(_ event: @escaping @Sendable (any SAPURLSessionEvents) -> Void) {
    let handlers = eventHandlers
    guard !handlers.isEmpty else { return }
    callbacks.add { for handler in handlers where handler.isCurrent { event(handler.events) } }
  }

  /// Calls a completion handler of a task on the delegate queue, and waits until it returns.
  func callOnQueue(in context: CallContext, _ handler: @escaping @Sendable () -> Void) async throws {
    let returned = OneShot<Void>()
    callbacks.add {
      context.perform(handler)
      returned.answer(.success(()))
    }
    try await returned.wait()
  }
}

extension SAPURLSessionTask {
  /// Calls the handlers one after another, each with the value that the previous one returned, until one gives a final
  /// answer.
  ///
  /// - Parameters:
  ///   - first: the answer if there are no handlers; it holds the value for the first handler.
  ///   - method: the name of the method that is called, for a warning if there is no answer.
  /// - Throws: exactly the error of a handler that fails the task.
  func resolve<Answer: Disposition>(
    _ first: Answer, _ method: StaticString,
    _ question:
      @escaping @Sendable (any SAPURLSessionEvents, Answer.Value, @escaping @Sendable (Answer) -> Void) -> Void
  ) async throws -> Answer {
    var answer = first
    for handler in session.eventHandlers where handler.isCurrent {
      guard case .next(let value) = answer.resolution else { break }
      let given: Answer? = try await session.ask(handler, method, of: self) { question($0, value, $1) }
      answer = given ?? answer
      if case .fail(let error) = answer.resolution { throw fail(error) }
    }
    return answer
  }

  /// Calls the handlers for the answer to a challenge, until one gives another answer than `.performDefaultHandling`.
  /// Foundation and SAP's guide have several methods for challenges; each handler is called by all of them.
  func resolve(_ challenge: URLAuthenticationChallenge) async throws -> SAPURLSession.AuthChallengeDisposition {
    let methods = ChallengeMethod.methods(for: challenge.protectionSpace)
    for handler in session.eventHandlers {
      for method in methods where handler.isCurrent {
        let reply: SAPURLSession.AuthChallengeDisposition? = try await session.ask(handler, method.name, of: self) {
          [self] events, done in method.call(events, with: challenge, of: self, done)
        }
        guard let answer = reply else { continue }
        switch answer.resolution {
        case .next: continue
        case .final: return answer
        case .fail(let error): throw fail(error)
        }
      }
    }
    return .performDefaultHandling
  }
}

/// The methods of ``SAPURLSessionEvents`` that answer challenges.
private enum ChallengeMethod: CaseIterable {
  /// The session's method, for challenges of a connection.
  case session
  case task
  /// The task's method as the guide names it.
  case dataTask
  /// The task's method as the guide spells it.
  case labelled

  /// The methods to call, in order. As in Foundation, the session's method comes first, and only for challenges of a
  /// connection.
  static func methods(for space: URLProtectionSpace) -> [ChallengeMethod] {
    let requestMethods = [
      NSURLAuthenticationMethodDefault, NSURLAuthenticationMethodHTTPBasic, NSURLAuthenticationMethodHTTPDigest,
      NSURLAuthenticationMethodHTMLForm,
    ]
    return allCases.filter { $0 != .session || !requestMethods.contains(space.authenticationMethod) }
  }

  var name: StaticString {
    switch self {
    case .session: "sapURLSession(_:didReceive:completionHandler:)"
    case .task: "sapURLSession(_:task:didReceive:completionHandler:)"
    case .dataTask: "sapURLSession(_:dataTask:didReceive:completionHandler:) (challenge)"
    case .labelled: "sapURLSession(session:dataTask:didReceive:completionHandler:)"
    }
  }

  func call(
    _ events: any SAPURLSessionEvents, with challenge: URLAuthenticationChallenge, of task: SAPURLSessionTask,
    _ done: @escaping @Sendable (SAPURLSession.AuthChallengeDisposition) -> Void
  ) {
    let session = task.session
    switch self {
    case .session: events.sapURLSession(session, didReceive: challenge, completionHandler: done)
    case .task: events.sapURLSession(session, task: task, didReceive: challenge, completionHandler: done)
    case .dataTask: events.sapURLSession(session, dataTask: task, didReceive: challenge, completionHandler: done)
    case .labelled:
      events.sapURLSession(session: session, dataTask: task, didReceive: challenge, completionHandler: done)
    }
  }
}
