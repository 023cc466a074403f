@_spi(Toolkit) public import MartletSemantics
@_spi(Toolkit) import MartletServer
@_spi(Toolkit) public import MartletTesting
import Synchronization

/// A ``MobileServices`` for people and programs: it runs until it is stopped, and each request chooses its faults.
///
/// ```swift
/// let gateway = try SAPGateway(.init(faults: [.csrfChanges]))
/// print(gateway.url("/odata/v4/Orders?sap-fault=unavailable"))
/// ```
///
/// - Requests need Basic credentials, a session cookie or a token. `/oauth2/api/v1/token` issues tokens; each refresh
///   token works once.
/// - `/odata/v2` and `/odata/v4` are an ``ODataService`` each, behind sessions and CSRF tokens. The services and the
///   media are those of ``MobileServices``, for one app only.
/// - A request names its ``Fault``s in the query (`sap-fault`) or in `X-SAP-Fault`, separated by commas. An unknown
///   name gets 400. A query makes another URL: use the field to test caches.
///
/// It keeps no requests, limits its clients, and answers only requests for this machine (`Host`). It has no TLS, so it
/// asks for no client certificates.
public final class SAPGateway: Sendable {
  /// The settings of a gateway.
  public struct Settings: Sendable {
    /// Names and passwords; by default `anna`, `ben`, `blocked`, `locked` and `wiped`, all with `secret`. The last
    /// three are what their names say.
    public var users: [String: String]
    /// The app; the services of any other are 404. `com.example.shop` by default.
    public var applicationID: String
    /// The pictures of `/backend/Images`, by key.
    public var media: [String: Media]
    /// The faults of all requests; none by default.
    public var faults: Set<Fault>

    /// Makes settings; by default for a gateway with its users and without pictures.
    public init(
      users: [String: String] = [
        "anna": "secret", "ben": "secret", "blocked": "secret", "locked": "secret", "wiped": "secret",
      ],
      applicationID: String = "com.example.shop", media: [String: Media] = [:], faults: Set<Fault> = []
    ) {
      self.users = users
      self.applicationID = applicationID
      self.media = media
      self.faults = faults
    }
  }

  private let server: LoopbackServer
  private let state: SharedGatewayState

  /// Starts a gateway.
  ///
  /// - Parameters:
  ///   - settings: the users, the app and the media.
  ///   - port: the port; 0, the default, lets the system choose a free one.
  ///   - report: receives a line for each request: method, target and status. It may be called on several threads.
  /// - Throws: `LoopbackServerError` if it cannot listen there.
  public init(
    _ settings: Settings = .init(), port: Int = 0, report: @escaping @Sendable (String) -> Void = { _ in }
  ) throws(LoopbackServerError) {
    let state = SharedGatewayState(settings)
    self.state = state
    server = try LoopbackServer(port: port, bodies: .collected(upTo: 16 << 20), limits: Self.limits) { request in
      let reply = state.value.withLock { $0.reply(to: request.received) }
      let target = Redaction.standard.redacted(reference: request.target)
      report("\(request.method) \(target) \(reply.status.code)")
      return reply
    }
  }

  /// The gateway's URL: `http://127.0.0.1:port`.
  public var url: URL { server.url }

  /// Returns the URL of a target: `gateway.url("/odata/v4/Orders")`. An invalid target stops the program.
  public func url(_ target: String) -> URL { server.url(target) }

  /// Ends all access tokens and all sessions, as time does. Refresh tokens stay valid.
  public func expireTokens() { state.value.withLock { $0.expireTokens() } }

  /// Stops the gateway: further connections are refused. Stopping twice does nothing.
  public func stop() { server.stop() }

  /// Room for some programs, but not for clients that only hold connections open.
  private static let limits = LoopbackServer.Limits(
    connections: 256, headTime: .seconds(60), bodyTime: .seconds(600), sendTime: .seconds(60), heldBytes: 128 << 20)
}

/// The state that the connections' threads share.
private final class SharedGatewayState: Sendable {
  let value: Mutex<GatewayState>

  init(_ settings: SAPGateway.Settings) { value = Mutex(GatewayState(settings)) }
}
