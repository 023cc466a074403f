@_spi(Toolkit) import MartletSemantics
import Synchronization

/// A client for one OData service, V2 or V4, over a session with its observers: cookies, logins, CSRF tokens.
///
/// ```swift
/// let session = SAPURLSession()
/// session.register(CSRFTokenObserver(rootUrl: backend))
/// let provider = OnlineODataProvider(serviceName: "Shop", serviceRoot: backend, sapURLSession: session)
/// provider.serviceOptions.dataVersion = .v4
/// let page = try await provider.page(of: Order.self, in: "Orders", ODataQuery().top(20))
/// ```
///
/// It has the initializers and the options of SAP's class. The proxy classes that SAP's tools generate (`DataService`,
/// `EntityValue`) do not exist here: values are the caller's `Codable` types.
///
/// - Options may be changed at any time; a call uses the options that were set when it began.
/// - A refusal is an `ODataServiceError`, with three exceptions that have a remedy: see ``ODataError``. The session's
///   errors are passed on, among them `URLError.cancelled` when the Swift task was cancelled.
/// - A service that protects changes by CSRF tokens needs a session with a `CSRFTokenObserver` for its root.
public final class OnlineODataProvider: Sendable {
  private struct State {
    var session: SAPURLSession?
    var serviceOptions = ServiceOptions()
    var networkOptions = NetworkOptions()
    var tracing = ODataTracing()
  }

  /// The name of the service, for the app's own use.
  public let serviceName: String
  /// The URL of the service, with or without a slash at its end. Its query, such as `sap-client=100`, is sent with
  /// every request.
  public let serviceRoot: URL
  private let state: Mutex<State>

  /// Makes a client whose service has no name.
  public convenience init(serviceRoot: URL, sapURLSession: SAPURLSession = SAPURLSession()) {
    self.init(serviceName: "", serviceRoot: serviceRoot, sapURLSession: sapURLSession)
  }

  /// Makes a client. A root that is no http or https URL fails each call with ``ODataError/Kind/invalidRequest``.
  public init(serviceName: String, serviceRoot: URL, sapURLSession: SAPURLSession = SAPURLSession()) {
    (self.serviceName, self.serviceRoot) = (serviceName, serviceRoot)
    state = Mutex(State(session: sapURLSession))
  }

  /// The session. Without one, each call fails with ``ODataError/Kind/invalidRequest``.
  public var sapURLSession: SAPURLSession? {
    get { state.withLock { $0.session } }
    set { state.withLock { $0.session = newValue } }
  }

  /// The options of the protocol.
  public var serviceOptions: ServiceOptions {
    get { state.withLock { $0.serviceOptions } }
    set { state.withLock { $0.serviceOptions = newValue } }
  }

  /// The options of the network.
  public var networkOptions: NetworkOptions {
    get { state.withLock { $0.networkOptions } }
    set { state.withLock { $0.networkOptions = newValue } }
  }

  /// Whether method, URL and status of each request are logged, at level info, by the logger
  /// `SAP.OData.OnlineODataProvider`. Keys and values of queries are replaced. False by default.
  ///
  /// ```swift
  /// Logger.shared(named: "SAP.OData").logLevel = .info
  /// provider.traceRequests = true
  /// ```
  public var traceRequests: Bool {
    get { state.withLock { $0.tracing.isOn } }
    set { state.withLock { $0.tracing.isOn = newValue } }
  }

  /// Whether the trace has the bodies, too, up to 64 KiB of each: the data of users, for development only. Members with
  /// names of secrets, such as `password`, are replaced. False by default.
  public var traceWithData: Bool {
    get { state.withLock { $0.tracing.hasBodies } }
    set { state.withLock { $0.tracing.hasBodies = newValue } }
  }

  /// Whether the bodies in the trace are indented. False by default.
  public var prettyTracing: Bool {
    get { state.withLock { $0.tracing.isPretty } }
    set { state.withLock { $0.tracing.isPretty = newValue } }
  }

  /// Fetches a CSRF token now, so that the first change need not. The session's `CSRFTokenObserver` keeps the token; it
  /// fetches one by itself, too. Does nothing if ``ServiceOptions/requiresToken`` is empty, or the service issues none.
  ///
  /// - Throws: ``ODataError/Kind/tokenRequired`` if the service issues a token and the session has no such observer;
  ///   ``ODataError/Kind/invalidResponse`` if the answer is not the service's, but a login page.
  @concurrent public func acquireToken() async throws {
    let connection = try connection()
    let field = connection.options.requiresToken
    guard !field.isEmpty else { return }
    let fields = [(field, "Fetch"), ("Cache-Control", "no-cache")]  // A token in a stored response is outdated.
    let answer = try await connection.send(ODataOperation(.get, .root, fields: fields))
    let token = (try? FieldName(field)).flatMap { answer.head.fields[$0] }
    if token == nil, (try? answer.receipt) == nil {
      throw ODataError(.invalidResponse, "the answer is not the service's, but perhaps a login page: sign in first")
    }
    let hasObserver = connection.session.observers.contains { $0 is CSRFTokenObserver }
    if token != nil, !hasObserver { throw ODataError(.tokenRequired, ODataConnection.tokenRemedy) }
  }

  /// The session and the options, as they are now.
  func connection() throws(ODataError) -> ODataConnection {
    let state = state.withLock { $0 }
    let root = try ODataRoot(serviceRoot, followsLinksByPath: state.serviceOptions.followsLinksByPath)
    guard let session = state.session else {
      throw ODataError(.invalidRequest, "the provider has no session: set sapURLSession")
    }
    return ODataConnection(
      session: session, root: root, options: state.serviceOptions, network: state.networkOptions,
      tracing: state.tracing)
  }
}

/// The options of the protocol. Names and defaults are SAP's, as far as they have an effect here; the others do not
/// exist.
public struct ServiceOptions: Sendable {
  /// The version of the service; V2 by default.
  public var dataVersion = ODataVersion.v2
  /// Whether a response that names the other version than ``dataVersion`` is an error; true by default. Payloads of
  /// both versions are read either way.
  public var checkVersion = true
  /// Whether `Int64` and `Decimal` are strings in V4's JSON, in both directions, as they always are in V2. True by
  /// default, unlike in SAP's class: servers that compute with `Double` would lose digits otherwise. This module reads
  /// and writes numbers without loss in any case.
  public var ieee754Compatible = true
  /// The field for CSRF tokens; `X-CSRF-Token` by default. If it is empty, ``OnlineODataProvider/acquireToken()`` does
  /// nothing.
  public var requiresToken = "X-CSRF-Token"
  /// The format of batches; multipart by default. (Not in SAP's class.)
  public var batchFormat = BatchFormat.multipart
  /// Whether of a service's link with another origin only path and query are used, with the origin of the service's
  /// root. For a service behind a proxy that does not translate the URLs in responses, so that they begin with `http`
  /// or an inner host. False by default: such a link is an error, ``ODataError/Kind/foreignLink``. (Not in SAP's
  /// class.)
  public var followsLinksByPath = false
  /// The limits of the client. (Not in SAP's class.)
  public var limits = Limits()

  /// Makes the default options.
  public init() {}

  /// The format of a batch.
  public enum BatchFormat: Sendable, Hashable, CaseIterable {
    /// `multipart/mixed`, which every service has.
    case multipart
    /// JSON (OData 4.01): RAP and CAP have it, V2 has not.
    case json
  }

  /// The limits of the client.
  public struct Limits: Sendable, Hashable {
    /// The maximum number of bytes of a collected body; 64 MiB by default. Media have no limit: they are streams.
    public var responseBytes = 64 << 20
    /// The maximum number of pages of one read; 10,000 by default.
    public var pages = 10_000
    /// The maximum number of requests in one batch; 1,000 by default.
    public var batchRequests = 1_000
  }
}

/// The options of the network. Names and defaults are SAP's.
public struct NetworkOptions: Sendable {
  /// Whether responses may be compressed; true by default.
  public var compressResponses = true
  /// Without effect: a method in ``tunneledMethods`` is always sent as POST, and none by way of a batch. False by
  /// default.
  public var allowTunneling = false
  /// The methods that are sent as POST with the field `X-HTTP-Method`, because a proxy refuses them. None by default.
  ///
  /// ```swift
  /// provider.networkOptions.tunneledMethods.append("MERGE")
  /// ```
  public var tunneledMethods = StringList()

  /// Makes the default options.
  public init() {}
}

/// A list of texts, whose `append` also returns the list, as SAP's does.
public struct StringList: Sendable, Hashable, ExpressibleByArrayLiteral {
  /// The texts.
  public private(set) var elements: [String]
  public init(arrayLiteral elements: String...) { self.elements = elements }

  /// Adds a text at the end, and returns the list.
  @discardableResult public mutating func append(_ text: String) -> StringList {
    elements.append(text)
    return self
  }

  /// Whether the list has this text; upper and lower case count the same.
  public func contains(_ text: String) -> Bool { elements.contains { $0.lowercased() == text.lowercased() } }
}

extension OnlineODataProvider: CustomReflectable {
  /// A mirror without user information and query of the URL.
  public var customMirror: Mirror {
    Mirror(self, children: ["serviceName": serviceName, "serviceRoot": serviceRoot.redacted])
  }
}
