public import MartletSemantics
public import MartletTesting
import Synchronization

/// A small SAP Mobile Services with an SAP Gateway behind it, on 127.0.0.1: for tests of programs that use `SAPFoundation`.
///
/// ```swift
/// let service = try MobileServices(.init(users: ["anna": "secret"], media: ["coffee": Media(data)]))
/// let session = SAPURLSession()
/// session.register(CSRFTokenObserver(rootUrl: service.url))
/// …
/// service.expireTokens()                                   // the next POST is refused with "Required"
/// service.expireSessions(after: 3)                         // the fourth request from now on finds no session
/// service.block("anna", "TRAFFIC_BLOCKED")                 // 403 with x-message-code
/// service.answer("/backend/Orders", with: .odataError(.v4, status: 400, code: "M_/011", message: "No plant"))
/// ```
///
/// What it does, in this order:
/// 1. An answer that was given with ``answer(_:with:times:)`` comes first.
/// 2. With users, a request needs Basic credentials or the session cookie that they brought; otherwise it gets 401.
///    Every other request that comes without a session opens one, as with ABAP and Tomcat, whether it is then accepted or
///    refused: parallel requests without a cookie, or with one that has expired, bring as many sessions as they are.
/// 3. A blocked user gets 403 with `x-message-code`.
/// 4. With an application identifier, a request without it in `X-SMP-APPID` gets 403.
/// 5. `X-CSRF-Token: Fetch` on a GET or HEAD brings the token of the session; token and session cookie are one pair. Any
///    other method needs that token, or gets 403 with `X-CSRF-Token: Required`.
/// 6. `POST /mobileservices/sessions/logout` ends the session; `GET /mobileservices/application/ID/endpoints` lists the
///    destinations; `/backend/Images('key')/$value` is a picture with `ETag` and `max-age`. Writing anywhere else below
///    `/backend` works (201 or 204), reading anything else there is an OData error 404, in JSON or XML as `Accept` says.
///
/// It is made of the names and numbers that are published, and is no more faithful than those.
public final class MobileServices: Sendable {
  /// What a service is made of.
  public struct Settings: Sendable {
    /// Names and passwords; without any, nobody has to sign in.
    public var users: [String: String]
    /// What `X-SMP-APPID` has to say; nil, the default, asks for nothing.
    public var applicationID: String?
    /// Whether methods that change something need a token; true by default.
    public var protectsAgainstCSRF: Bool
    /// The status that refuses a token; 403 by default.
    public var tokenRefusal: HTTPStatus
    /// The names of destinations and their paths; `backend` at `/backend` by default.
    public var destinations: [String: String]
    /// The pictures of the entity set `Images`, by key.
    public var media: [String: Media]
    /// The longest that an answer is on its way. Each takes a time by chance, from none to this, so that answers to parallel
    /// requests overtake each other. Zero by default.
    public var latency: Duration

    /// Makes settings; by default those of a service without users and pictures, which wants CSRF tokens.
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
  private let desk: ServiceDesk

  /// Starts a service on a free port, or on this one.
  ///
  /// - Throws: `LoopbackServerError` if it cannot listen there.
  public init(_ settings: Settings = .init(), port: Int = 0) throws(LoopbackServerError) {
    let desk = ServiceDesk(settings)
    self.desk = desk
    let longest = Int(settings.latency / .microseconds(1))
    server = try LoopbackServer(port: port) { request in
      let reply = desk.state.withLock { $0.reply(to: request.received) }
      return longest > 0 ? reply.delayed(by: .microseconds(Int.random(in: 0...longest))) : reply
    }
  }

  /// Where it listens: `http://127.0.0.1:port`.
  public var url: URL { server.url }

  /// The port.
  public var port: Int { server.port }

  /// The URL of a target: `service.url("/backend/Orders")`. A target that makes no URL stops the program.
  public func url(_ target: String) -> URL { server.url(target) }

  /// Everything that was asked, in order.
  public var requests: [ReceivedRequest] { server.requests }

  /// What was asked of one path, in order.
  public func requests(to path: String) -> [ReceivedRequest] { requests.filter { $0.path == path } }

  /// Waits for the n-th request, counted from 1.
  ///
  /// - Throws: `CancellationError`, or `LoopbackServerError` if the service stops before.
  public func request(_ number: Int) async throws -> ReceivedRequest { try await server.request(number) }

  /// The answer to the next requests of a path, whoever asks: once, unless said otherwise. Answers for one path come in the
  /// order in which they were given. The path `*` means any.
  public func answer(_ path: String, with reply: Reply, times: Int = 1) {
    desk.state.withLock { $0.scripts.append(.init(path: path, reply: reply, left: times)) }
  }

  /// Forgets all sessions: cookies are worth nothing any more, and neither are tokens.
  public func expireSessions() { desk.state.withLock { $0.sessions = [:] } }

  /// Forgets all sessions when so many further requests have been answered: in the middle of parallel ones, for example.
  public func expireSessions(after requests: Int) { desk.state.withLock { $0.requestsToExpiry = requests } }

  /// Gives every session a new token; the cookies stay good.
  public func expireTokens() { desk.state.withLock { $0.renewTokens() } }

  /// How many sessions are open.
  public var sessionCount: Int { desk.state.withLock { $0.sessions.count } }

  /// Blocks a user, with this code in `x-message-code`; without a user's name, everybody.
  public func block(_ user: String? = nil, _ code: String = "TRAFFIC_BLOCKED") {
    desk.state.withLock { $0.blocked[user ?? ""] = code }
  }

  /// Lets everybody in again.
  public func unblock() { desk.state.withLock { $0.blocked = [:] } }

  /// Puts a picture in, or another in its place, or takes it away.
  public func setMedia(_ media: Media?, for key: String) { desk.state.withLock { $0.settings.media[key] = media } }

  /// Stops it: further connections are refused. Stopping twice does nothing.
  public func stop() { server.stop() }
}

/// What the connections' threads share.
final class ServiceDesk: Sendable {
  let state: Mutex<ServiceState>

  init(_ settings: MobileServices.Settings) { state = Mutex(ServiceState(settings)) }
}
