#if os(Linux)
import Dispatch
import Foundation
import MartletEngine
import MartletSemantics
import MartletSockets
import MartletTesting
import Synchronization
import TestServers
import TestSupport
import Testing

@testable import MartletWebSocket

/// The program's code runs on no thread that serves connections: code that blocks delays its own call only.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct ProgramThreadTests {
  /// Notes which code has run on which threads.
  private final class Threads: Sendable {
    private let seen = Mutex<[String: Set<String>]>([:])

    func note(_ code: String) {
      let name = try? String(contentsOfFile: "/proc/thread-self/comm", encoding: .utf8)
      let thread = (name ?? "").trimmingCharacters(in: .newlines)
      _ = seen.withLock { $0[code, default: []].insert(thread) }
    }

    var codes: Set<String> { Set(seen.withLock { $0.keys }) }

    /// The code that has run on a thread of the transport.
    var onTransport: [String] {
      seen.withLock { $0.filter { $0.value.contains("martlet-sockets") }.keys.sorted() }
    }
  }

  private struct Watcher: EventListener {
    let threads: Threads
    let events = Event.Kinds.all

    func receive(_ event: Event, in call: Call) { threads.note("\(event.kind.rawValue)") }
  }

  private struct Pieces: AsyncSequence, AsyncIteratorProtocol, Sendable {
    let threads: Threads
    var count = 0

    func makeAsyncIterator() -> Pieces { self }

    mutating func next() async -> Data? {
      threads.note("body")
      count += 1
      return count > 20 ? nil : Data(count: 10_000)
    }
  }

  private func session(_ threads: Threads, _ versions: ConnectionConfiguration.Versions) throws -> HTTPSession {
    var connection = ConnectionConfiguration()
    (connection.proxy, connection.versions) = (.direct, versions)
    connection.tls.authorities = try Nginx.shared.get().authority.certificate
    connection.tls.originSettings = { _ in
      threads.note("originSettings")
      return nil
    }
    connection.tls.serverTrustCheck = { _, _ in threads.note("serverTrustCheck") }
    var options = SocketTransport.Options()
    options.resolver = { _ in
      threads.note("resolver")
      return ["127.0.0.1"]
    }
    var configuration = SessionConfiguration()
    configuration.listeners = [Watcher(threads: threads)]
    configuration.options.redirectDecision = { next, _, _ in
      threads.note("redirectDecision")
      return next
    }
    configuration.options.storageDecision = { answer in
      threads.note("storageDecision")
      return answer
    }
    return HTTPSession(transport: SocketTransport(connection, options: options), configuration: configuration)
  }

  @Test(arguments: [ConnectionConfiguration.Versions.http1, .automatic])
  func noVerbRunsTheProgramsCodeOnTheTransportsThread(_ versions: ConnectionConfiguration.Versions) async throws {
    let nginx = try Nginx.shared.get()
    let threads = Threads()
    let session = try session(threads, versions)
    let folder = try TemporaryFolder()
    func request(_ path: String, _ method: HTTPMethod = .get, _ body: RequestBody = .empty) -> HTTPRequest {
      let url = nginx.tls(path).absoluteString.replacing("127.0.0.1", with: "localhost")
      return HTTPRequest(method, url, body: body)
    }

    _ = try await session.data(for: request("/fresh"))
    _ = try await session.data(for: request("/moved"))
    _ = try await session.text(for: request("/long.txt"))
    for try await _ in try await session.bytes(for: request("/zeros.bin")).0 {}
    _ = try await session.upload(
      for: request("/put", .post), from: .stream(length: nil) { Pieces(threads: threads) })
    _ = try await session.download(for: request("/zeros.bin"), to: folder.file("zeros.bin"))
    _ = try? await session.value(of: [String].self, for: request("/hello.txt"))
    _ = try? await session.data(for: HTTPRequest(.get, "https://127.0.0.1:1/"))
    let named = nginx.plain("/hello.txt").absoluteString.replacing("127.0.0.1", with: "name.example")
    _ = try await session.data(for: HTTPRequest(.get, named))

    #expect(threads.codes.isSuperset(of: ["body", "originSettings", "serverTrustCheck", "storageDecision"]))
    #expect(threads.codes.isSuperset(of: ["redirectDecision", "resolver", "\(Event.Kinds.finished.rawValue)"]))
    #expect(threads.onTransport == [])
  }

  private final class Tokens: ProxyTokens {
    let threads: Threads
    let scheme = "Negotiate"

    init(_ threads: Threads) { self.threads = threads }

    func token(for host: String) async throws -> String {
      threads.note("proxy token")
      return "YQ=="
    }
  }

  private struct Item: Decodable {
    static let threads = CodingUserInfoKey(rawValue: "threads")

    init(from decoder: any Decoder) throws {
      let threads = Self.threads.flatMap { decoder.userInfo[$0] } as? Threads
      threads?.note("decoder of \(try decoder.singleValueContainer().decode(String.self))")
    }
  }

  /// A proxy that requires a token, and the servers behind it, which require another token or a password.
  private static func proxy() throws -> LoopbackServer {
    try LoopbackServer { request in
      guard request.fields.contains(.proxyAuthorization) else {
        return .status(.proxyAuthenticationRequired, fields: [.proxyAuthenticate: "Negotiate"])
      }
      let scheme = request.fields[.authorization]?.prefix { $0 != " " }
      return switch request.path {
      case "/token" where scheme != "Bearer": .status(.unauthorized, fields: [.wwwAuthenticate: "Bearer"])
      case "/password" where scheme != "Basic": .status(.unauthorized, fields: [.wwwAuthenticate: "Basic realm=r"])
      case "/events": .data(Data("data: a\n\n".utf8), type: "text/event-stream")
      case "/lines": .data(Data("\"line\"\n\"line\"\n".utf8), type: "application/jsonl")
      default: .json("\"\(request.path.dropFirst())\"").with(.setCookie, "a=b")
      }
    }
  }

  private static func session(_ threads: Threads, through proxy: LoopbackServer) -> HTTPSession {
    var connection = ConnectionConfiguration()
    connection.proxy = .http("127.0.0.1", port: proxy.port).authenticated(by: Tokens(threads))
    var configuration = SessionConfiguration()
    configuration.listeners = [Watcher(threads: threads)]
    configuration.cookies = CookieJar(now: {
      threads.note("clock")
      return .now
    })
    configuration.credentials = [
      TokenSource(for: .matching { $0.host == "token.example" }) { _ in
        threads.note("token")
        return AccessToken("a")
      },
      PasswordSource(for: .any) { _ in
        threads.note("password")
        return Credential(user: "a", password: "b")
      },
    ]
    return HTTPSession(transport: SocketTransport(connection), configuration: configuration)
  }

  @Test func noSourceOfCredentialsAndNoDecoderRunsOnTheTransportsThread() async throws {
    let (server, threads) = (try Self.proxy(), Threads())
    let session = Self.session(threads, through: server)
    let decoder = JSONDecoder()
    if let key = Item.threads { decoder.userInfo[key] = threads }
    func request(_ url: String) -> HTTPRequest { HTTPRequest(.get, URL(string: "http://\(url)") ?? server.url) }

    _ = try await session.value(of: Item.self, for: request("token.example/token"), decoder: decoder)
    _ = try await session.value(of: Item.self, for: request("password.example/password"), decoder: decoder)
    for try await _ in session.pages(of: Item.self, for: request("a.example/page"), decoder: decoder) {}
    let (body, _) = try await session.bytes(for: request("a.example/lines"))
    for try await _ in body.values(of: Item.self, decoder: decoder) {}
    for try await _ in session.events(for: request("a.example/events")) { break }

    let decoders = ["token", "password", "page", "line"].map { "decoder of \($0)" }
    #expect(threads.codes.isSuperset(of: ["proxy token", "token", "password", "clock"] + decoders))
    #expect(threads.onTransport == [])
  }

  /// A WebSocket, and the answers to other requests of its session.
  struct Bed: CustomTestStringConvertible, Sendable {
    let testDescription: String
    var compression: WebSocket.Compression?
    /// Opens a session and returns the URL of the WebSocket and of other requests.
    let open: @Sendable () throws -> (HTTPSession, socket: URL, other: URL, server: any Sendable)

    static let all = [plain("HTTP/1.1", nil), plain("HTTP/1.1, compressed", WebSocket.Compression()), tunnel]

    private static func plain(_ name: String, _ compression: WebSocket.Compression?) -> Bed {
      Bed(testDescription: name, compression: compression) {
        let server = try LoopbackServer { request in
          request.path == "/other"
            ? .text("ok")
            : .webSocket { socket in while let message = try socket.receive() { try socket.send(message) } }
        }
        let other = server.url("/other")
        return (HTTPSession(transport: SocketTransport()), server.url("/"), other, server)
      }
    }

    private static let tunnel = Bed(testDescription: "HTTP/2") {
      let server = try TunnelServer(["200"], settings: "8=1,frames")
      var connection = ConnectionConfiguration()
      connection.tls.authorities = server.authority.certificate
      return (HTTPSession(transport: SocketTransport(connection)), server.url, server.url, server)
    }
  }

  /// The listener blocks its thread until another request over the same transport has its response.
  @Test(arguments: Bed.all, [Event.Kinds.message, .finished])
  func aListenerOfAWebSocketThatBlocksDelaysNoOtherRequest(_ bed: Bed, _ kind: Event.Kinds) async throws {
    let (session, url, other, server) = try bed.open()
    defer { withExtendedLifetime(server) {} }
    #expect(try await session.data(for: HTTPRequest(.get, other)).0 == Data("ok".utf8))
    let blocked = Gate()
    let release = DispatchSemaphore(value: 0)
    let wasReleased = Mutex<Bool?>(nil)
    let isMessage = kind == .message
    let listener = EventHandler(kind) { event, _ in
      if case .message(let message) = event, message.direction == .sent { return }
      guard !blocked.isOpen else { return }
      blocked.open()
      let isInTime = release.wait(timeout: .now() + 20) == .success
      wasReleased.withLock { $0 = isInTime }
    }
    var request = HTTPRequest(.get, url)
    request.options.listeners = [listener]
    var options = WebSocket.Options()
    options.compression = bed.compression
    let socket = try await session.webSocket(for: request, options: options)

    async let use: Void = {
      try await socket.send(.string("hello"))
      if isMessage { _ = try await socket.receive() } else { await socket.close() }
    }()
    try await blocked.wait()
    // On a thread of its own: the listener blocks one of the pool, and other tests may block the rest.
    let answer = try await withTaskExecutorPreference(SocketTransport().taskExecutor) {
      defer { release.signal() }
      return try await session.data(for: HTTPRequest(.get, other)).0
    }
    try await use

    #expect(answer == Data("ok".utf8))
    try await until { wasReleased.withLock { $0 } != nil }
    #expect(wasReleased.withLock { $0 } == true)
  }
}
#endif
