public import Foundation
package import MartletEngine

#if canImport(FoundationNetworking)
public import FoundationNetworking
#endif

/// Makes tasks that run through observers: SAP's documented session, on Martlet's engine.
///
/// ```swift
/// let session = SAPURLSession()
/// session.register(CorrelationObserver())
/// session.dataTask(with: url) { data, response, error in print(data?.count ?? 0) }.resume()
/// ```
///
/// - The configuration is read once, when the session is made: later changes to it have no effect.
/// - Handlers, observers and the delegate are called on ``delegateQueue``.
/// - A session that starts tasks stays alive until they are over. Its delegate is held strongly until the session was
///   invalidated and its last task is over, as Foundation does.
/// - `streamTask` is not offered, and neither are background sessions.
public final class SAPURLSession: Sendable, FoundationConfigured {
  /// The configuration as it was when the session was made.
  let foundationConfiguration: URLSessionConfiguration
  /// Where the session keeps its cookies; nil for nowhere.
  let cookieStorage: SAPHTTPCookieStorage?
  /// Foundation's face of the session's cache; nil where there is none.
  let urlCache: SessionURLCache?
  /// Where handlers, observers and the delegate are called: one after another, on a queue of the session's own unless it was
  /// given one.
  public let delegateQueue: OperationQueue
  let state: Locked<State>
  private let marks = ContextValues()
  let engine: HTTPSession
  let wire: SAPTransport
  /// The most bytes that a task collects for its handler: the engine's own limit.
  let collectLimit = RequestOptions().collectLimit

  struct State {
    var isValid = true
    var delegate: (any SAPURLSessionDelegate)?
    var description: String?
    var observers: [any SAPURLSessionObserving] = []
    var running: [UUID: SAPURLSessionTask] = [:]
    var lastNumber = 0
  }

  /// Makes a session.
  ///
  /// - Parameters:
  ///   - configuration: read once and copied; `.default` by default.
  ///   - delegate: told after the observers; held strongly until the session is invalidated. None by default.
  ///   - delegateQueue: where all callbacks run; it has to be serial. One of the session's own by default.
  public convenience init(
    configuration: URLSessionConfiguration = .default, delegate: (any SAPURLSessionDelegate)? = nil,
    delegateQueue: OperationQueue? = nil
  ) {
    let wire = SAPTransport.wire(for: configuration)
    self.init(configuration: configuration, delegate: delegate, delegateQueue: delegateQueue, wire: wire)
  }

  /// Makes a session on a transport of the engine's: a mock, in tests.
  package init(
    configuration: URLSessionConfiguration = .default, delegate: (any SAPURLSessionDelegate)? = nil,
    delegateQueue: OperationQueue? = nil, wire: any Transport
  ) {
    foundationConfiguration = configuration.copy() as? URLSessionConfiguration ?? configuration
    cookieStorage = configuration.sessionCookies
    urlCache = configuration.sessionCache
    self.delegateQueue = delegateQueue ?? Self.makeQueue()
    state = Locked(State(delegate: delegate))
    self.wire = SAPTransport(base: wire)
    let stepIn = InternalRequests()
    engine = HTTPSession(
      transport: self.wire,
      configuration: SessionConfiguration(configuration, cookies: cookieStorage, cache: urlCache, stepIn))
    stepIn.serve(self)
  }

  private static func makeQueue() -> OperationQueue {
    let queue = OperationQueue()
    queue.name = "SAP.Foundation.SAPURLSession"
    queue.maxConcurrentOperationCount = 1
    return queue
  }

  /// Whether the session can start tasks: true until it is invalidated.
  public var isValid: Bool { state.withLock { $0.isValid } }

  /// The delegate; nil if there is none, or not any more.
  public var delegate: (any SAPURLSessionDelegate)? { state.withLock { $0.delegate } }

  /// A name for people; nil by default.
  public var sessionDescription: String? {
    get { state.withLock { $0.description } }
    set { state.withLock { $0.description = newValue } }
  }

  /// What an app wants to remember with the session. It may be used from any thread; what is in it has to allow that too.
  public var context: [String: Any] {
    get { marks.all }
    _modify { yield &marks.all }
  }
}
