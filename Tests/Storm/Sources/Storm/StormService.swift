package import Foundation
package import Martlet
import MartletImages
import MartletTesting
import MartletWebSocket
import MartletTasks
import MartletSignIn
import MartletSQLite
import SAPFoundation
import Synchronization

/// The server of a storm, and the sessions whose operations it cancels. All operations of a storm share them.
package final class StormService: Sendable {
  private let base: URL
  /// Keeps the server.
  private let server: LoopbackServer?
  /// Whether there are only the paths that a foreign server has, too.
  package let isForeign: Bool
  private let lastNumber = Atomic<Int>(0)
  let folder: TemporaryFolder
  let configuration: SessionConfiguration
  let connection: ConnectionConfiguration
  let transport: SocketTransport
  let session: HTTPSession
  /// Shares equal requests and stores their responses in SQLite.
  let cached: HTTPSession
  let cache: HTTPCache
  /// Admits few requests at once, and hedges.
  let limited: HTTPSession
  /// Fetches CSRF tokens for its writes.
  let protected: HTTPSession
  /// Replaces its connections all the time.
  let aging: HTTPSession
  /// Waits for no delay.
  let hasty: HTTPSession
  let strict: StrictTransportSecurity
  let share = RateShare(bytesPerSecond: 200_000_000)
  let sap: SAPURLSession
  let tasks: StandardNetworkSession
  let images: ImageLoader
  let values: SQLiteKeyValueStore
  let jar: CookieJar

  /// Makes a service with a server of its own.
  package convenience init() throws {
    let picture = try ImageEncoder.encode(
      Bitmap(size: PixelSize(width: 24, height: 24), pixels: Array(repeating: 90, count: 24 * 24 * 4)), as: .png)
    let server = try LoopbackServer(recording: .nothing) { request in Self.reply(to: request, picture: picture) }
    try self.init(base: server.url("/"), server: server)
  }

  /// Makes a service with another server, which answers `/uri` with the target of the request.
  package convenience init(at base: URL, connection: ConnectionConfiguration) throws {
    try self.init(base: base, server: nil, connection: connection)
  }

  private init(base: URL, server: LoopbackServer?, connection: ConnectionConfiguration = .init()) throws {
    (self.base, self.server, self.connection, isForeign) = (base, server, connection, server == nil)
    folder = try TemporaryFolder()
    var plain = SessionConfiguration()
    (plain.cache, plain.options.cachePolicy) = (nil, .reloadIgnoringCacheData)
    plain.options.responseTimeout = .seconds(50)
    configuration = plain
    transport = SocketTransport(connection)
    session = HTTPSession(transport: transport, configuration: plain)
    values = try SQLiteKeyValueStore(at: folder.file("values.sqlite"))
    jar = CookieJar(store: try SQLiteCookieStore(at: folder.file("cookies.sqlite"), sessionCookies: .persistent))
    var caching = SessionConfiguration()
    cache = HTTPCache(store: try SQLiteCacheStore(at: folder.file("responses.sqlite"), capacity: 1 << 20))
    caching.cache = cache
    caching.cookies = jar
    cached = HTTPSession(connection: connection, configuration: caching)
    var limits = plain
    limits.limits.concurrency = ConcurrencyLimit(3)
    limits.limits.hedging = Hedging()
    limited = HTTPSession(connection: connection, configuration: limits)
    var protecting = plain
    protecting.interceptors = [CSRFInterceptor(tokenURL: base)]
    protected = HTTPSession(transport: transport, configuration: protecting)
    var aged = connection
    aged.connectionLifetime = .milliseconds(2)
    aging = HTTPSession(connection: aged, configuration: plain)
    var hurrying = plain
    hurrying.clock = HastyClock()
    hasty = HTTPSession(transport: transport, configuration: hurrying)
    strict = StrictTransportSecurity(store: try SQLiteKeyValueStore(at: folder.file("hosts.sqlite")))
    sap = SAPURLSession(configuration: .ephemeral, connection: connection)
    images = ImageLoader(session: session)
    tasks = StandardNetworkSession(environment: { NetworkEnvironment(baseURL: base) })
  }

  func nextNumber() -> Int { lastNumber.add(1, ordering: .relaxed).newValue }

  func url(_ target: String) -> URL { URL(string: target, relativeTo: base)?.absoluteURL ?? base }

  private static func reply(to request: LoopbackRequest, picture: Data) -> Reply {
    let target = Reply.text(request.target)
    switch request.path {
    case "/fresh": return target.with(.cacheControl, "max-age=60")
    case "/cookie": return target.with(.setCookie, "a=1; Max-Age=60")
    case "/json": return .json("{\"target\": \"\(request.target)\"}")
    case "/long": return .repeating(Data(request.target.utf8), length: Int64(request.target.utf8.count) * 4_000)
    case "/moved": return .redirect(to: request.target.replacing("/moved", with: "/uri"))
    case "/events": return .text("data: \(request.target)\n\n").with(.contentType, "text/event-stream")
    case "/late-events":
      return Bool.random()
        ? .status(.serviceUnavailable)
        : .text("data: \(request.target)\n\n").with(.contentType, "text/event-stream")
    case "/lines": return .data(Data([0x93, 0xFA, 0x0A] + Array("\(request.target)\n".utf8)), type: "text/plain")
    case "/picture": return .data(picture, type: "image/png")
    case "/token":
      return .json(
        "{\"access_token\": \"\(request.target.replacing("/token?", with: ""))\", \"token_type\": \"Bearer\"}")
    case let path where path.hasPrefix("/.well-known/oauth-authorization-server/"):
      let issuer =
        "http://\(request.fields[.host] ?? "")" + path.dropFirst("/.well-known/oauth-authorization-server".count)
      return .json(#"{"issuer": "\#(issuer)", "token_endpoint": "\#(issuer)/token"}"#)
    case "/guarded":
      let isKnown = request.fields[.authorization]?.hasPrefix("Bearer good") == true
      return isKnown ? target : .status(.unauthorized, fields: [.wwwAuthenticate: "Bearer"])
    case "/write":
      let isProtected = request.fields["X-CSRF-Token"] == "token"
      return isProtected ? target : .status(.forbidden, fields: ["X-CSRF-Token": "Required"])
    case "/": return target.with("X-CSRF-Token", "token")
    case "/socket":
      return .webSocket { [target = request.target] socket in
        try socket.send(.string(target))
        while let message = try socket.receive() { try socket.send(message) }
      }
    default: return target
    }
  }
}
