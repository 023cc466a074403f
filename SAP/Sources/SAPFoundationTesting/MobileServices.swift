@_spi(Toolkit) public import MartletSemantics
public import MartletTesting
import Synchronization

/// A small SAP Mobile Services with an SAP Gateway behind it, on 127.0.0.1: for testing programs that use
/// `SAPFoundation`.
///
/// ```swift
/// let service = try MobileServices(.init(users: ["anna": "secret"], media: ["coffee": Media(data)]))
/// let session = SAPURLSession()
/// session.register(CSRFTokenObserver(rootUrl: service.url))
/// …
/// service.expireTokens()                                   // the next POST is refused with "Required"
/// service.expireSessions(after: 3)                         // the fourth request from now has no session
/// service.block("anna", "TRAFFIC_BLOCKED")                 // 403 with x-message-code
/// service.answer("/backend/Orders", with: .odataError(.v4, status: 400, code: "M_/011", message: "No plant"))
/// ```
///
/// It handles a request in this order:
/// 1. A reply that was set with ``answer(_:with:times:)`` comes first.
/// 2. If there are users, a request needs Basic credentials or the session cookie that was set for them; otherwise it
///    gets 401. Any other request without a session opens one, as with ABAP and Tomcat, whether it is accepted or
///    refused. So each of several parallel requests without a cookie, or with an expired one, opens its own session.
/// 3. A blocked user gets 403 with `x-message-code`.
/// 4. If there is an application identifier, a request without it in `X-SMP-APPID` gets 403.
/// 5. `X-CSRF-Token: Fetch` on a GET or HEAD returns the session's token, which is valid with the session cookie only.
///    Any other method needs that token, or gets 403 with `X-CSRF-Token: Required`.
/// 6. The services of an app take logs, settings and registrations for push, and describe the user; their paths are the
///    published ones.
/// 7. `POST /mobileservices/sessions/logout` ends the session; `GET /mobileservices/application/ID/endpoints` lists the
///    destinations; `/backend/Images('key')/$value` is a picture with `ETag` and `max-age`. Writing anywhere else below
///    `/backend` succeeds (201 or 204); reading anything else there is an OData error 404, in JSON or XML depending on
///    `Accept`.
///
/// It follows the published documentation and imitates nothing beyond it.
public final class MobileServices: Sendable {
  /// The settings of a service.
  public struct Settings: Sendable {
    /// Names and passwords; if empty, no sign-in is required.
    public var users: [String: String]
    /// The required value of `X-SMP-APPID`; nil, the default, requires none.
    public var applicationID: String?
    /// Whether unsafe methods need a CSRF token; true by default.
    public var protectsAgainstCSRF: Bool
    /// The status for a missing or invalid token; 403 by default.
    public var tokenRefusal: HTTPStatus
    /// The names of destinations and their paths; `backend` at `/backend` by default.
    public var destinations: [String: String]
    /// The pictures of the entity set `Images`, by key.
    public var media: [String: Media]
    /// The maximum delay of replies. Each reply is delayed by a random time up to this one, so that replies to parallel
    /// requests overtake each other. Zero by default.
    public var latency: Duration

    /// Makes settings; by default for a service without users and pictures that requires CSRF tokens.
    public init(
      users: [String: String] = [:], applicationID: String? = nil, protectsAgainstCSRF: Bool = true,
      tokenRefusal: HTTPStatus = .forbidden, destinations: [String: String] = ["backend": "/backend"],
      media: [String: Media] = [:], latency: Duration = .zero
    ) {
      self.users = users
      self.applicationID = applicationID
      self.protectsAgainstCSRF = protectsAgainstCSRF
      self.tokenRefusal = tokenRefusal
      self.destinations = destinations
      self.media = media
      self.latency = latency
    }
  }

  private let server: LoopbackServer
  let state: SharedState

  /// Starts a service on a port; by default on a free one.
  ///
  /// - Throws: `LoopbackServerError` if it cannot listen there.
  public init(_ settings: Settings = .init(), port: Int = 0) throws(LoopbackServerError) {
    let state = SharedState(settings)
    self.state = state
    let longest = Int(settings.latency.bounded / .microseconds(1))
    server = try LoopbackServer(port: port) { request in
      let reply = state.value.withLock { $0.reply(to: request.received) }
      return longest > 0 ? reply.delayed(by: .microseconds(Int.random(in: 0...longest))) : reply
    }
  }

  /// The service's URL: `http://127.0.0.1:port`.
  public var url: URL { server.url }

  /// The port that it listens on.
  public var port: Int { server.port }

  /// Returns the URL of a target: `service.url("/backend/Orders")`. An invalid target stops the program.
  public func url(_ target: String) -> URL { server.url(target) }

  /// All requests so far, in order.
  public var requests: [ReceivedRequest] { server.requests }

  /// Returns the requests to a path, in order.
  public func requests(to path: String) -> [ReceivedRequest] { requests.filter { $0.path == path } }

  /// Waits for the n-th request, counted from 1, and returns it.
  ///
  /// - Throws: `CancellationError`, or `LoopbackServerError` if the service is stopped first.
  public func request(_ number: Int) async throws -> ReceivedRequest { try await server.request(number) }

  /// Sets the reply to the next requests to a path, whatever their session; once by default. Replies for one path are
  /// used in the order in which they were set. The path `*` means any.
  public func answer(_ path: String, with reply: Reply, times: Int = 1) {
    state.value.withLock { $0.scripts.append(.init(path: path, reply: reply, left: times)) }
  }

  /// Ends all sessions: their cookies and tokens become invalid.
  public func expireSessions() { state.value.withLock { $0.sessions = [:] } }

  /// Ends all sessions after this many further requests, for example in the middle of parallel ones.
  public func expireSessions(after requests: Int) { state.value.withLock { $0.requestsToExpiry = requests } }

  /// Gives every session a new token; the cookies stay valid.
  public func expireTokens() { state.value.withLock { $0.renewTokens() } }

  /// The number of open sessions.
  public var sessionCount: Int { state.value.withLock { $0.sessions.count } }

  /// Blocks a user, with this code in `x-message-code`; without a name, all users.
  public func block(_ user: String? = nil, _ code: String = "TRAFFIC_BLOCKED") {
    state.value.withLock { $0.blocked[user ?? ""] = code }
  }

  /// Ends all blocks.
  public func unblock() { state.value.withLock { $0.blocked = [:] } }

  /// Sets the picture for a key, or removes it.
  public func setMedia(_ media: Media?, for key: String) { state.value.withLock { $0.settings.media[key] = media } }

  /// Stops the service: further connections are refused. Stopping twice does nothing.
  public func stop() { server.stop() }
}

/// A picture or other media of the entity set `Images`.
public struct Media: Sendable, Hashable {
  /// The bytes.
  public var content: Data
  /// The media type; `image/jpeg` by default.
  public var type: String
  /// `Cache-Control`; `private, max-age=86400`, a day, by default; nil sends none.
  public var cacheControl: String?
  /// The entity tag, with its quotes; computed from the bytes by default.
  public var entityTag: String

  /// Makes a picture.
  public init(
    _ content: Data, type: String = "image/jpeg", cacheControl: String? = "private, max-age=86400",
    entityTag: String? = nil
  ) {
    self.content = content
    self.type = type
    self.cacheControl = cacheControl
    self.entityTag = entityTag ?? "\"\(content.count)-\(Self.sum(content))\""
  }

  /// Computes FNV-1a, which is the same in every process, unlike `Hashable`.
  private static func sum(_ data: Data) -> UInt64 {
    data.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
  }
}

/// A server of another origin, to test that nothing confidential is sent to it.
///
/// ```swift
/// let stranger = try ThirdParty()
/// service.answer("/backend/x", with: .redirect(to: stranger.url.absoluteString))
/// …
/// #expect(stranger.values(of: "X-SMP-APPID").isEmpty)
/// ```
public final class ThirdParty: Sendable {
  private let server: LoopbackServer

  /// Starts a server on a free port, which makes it a separate origin. It answers every request with this reply; by
  /// default with the text `elsewhere`.
  ///
  /// - Throws: `LoopbackServerError` if it cannot listen.
  public init(_ reply: Reply = .text("elsewhere")) throws(LoopbackServerError) {
    server = try LoopbackServer { _ in reply }
  }

  /// The server's URL.
  public var url: URL { server.url("/") }

  /// All requests so far, in order.
  public var requests: [ReceivedRequest] { server.requests }

  /// Returns a field's values, over all requests.
  public func values(of field: FieldName) -> [String] { requests.flatMap { $0.fields[values: field] } }
}

/// The state that the connections' threads share.
final class SharedState: Sendable {
  let value: Mutex<ServiceState>

  init(_ settings: MobileServices.Settings) { value = Mutex(ServiceState(settings)) }
}
