#if os(Linux)
import MartletEngine
import MartletSemantics
import MartletSockets
import MartletTesting
import TestServers
import TestSupport
import Testing

/// The smallest and the largest values of settings, which are legal, stop neither the program nor a connection.
@Suite(.timeLimit(.minutes(5)))
struct ExtremeSettingsTests {
  struct Setup {
    var connection: ConnectionConfiguration
    var options = SocketTransport.Options()
    var request = RequestOptions()
  }

  typealias Row = ExtremeSetting<Setup>

  static let counts = [
    Row("connectionLimitPerHost") { $0.connection.connectionLimitPerHost = $1 },
    Row("webSocketLimitPerHost") { $0.connection.webSocketLimitPerHost = $1 },
    Row("connectionLimit") { $0.connection.connectionLimit = $1 },
    Row("idleConnectionLimit") { $0.connection.idleConnectionLimit = $1 },
    Row("readAhead") { $0.connection.readAhead = $1 },
    Row("bodyLimit") { $0.request.bodyLimit = Int64($1) },
    Row("decompressionRatioLimit") { $0.request.decompressionRatioLimit = $1 },
    Row("collectLimit") { $0.request.collectLimit = $1 },
    Row("headLimit") { $0.request.headLimit = $1 },
    Row("downloadResumptions") { $0.request.downloadResumptions = $1 },
    Row("retryPolicy.limit") { $0.request.retryPolicy.limit = $1 },
    Row("redirectPolicy.limit") { $0.request.redirectPolicy.limit = $1 },
  ]

  static let times = [
    Row(time: "connectTimeout") { $0.connection.connectTimeout = $1 },
    Row(time: "poolTimeout") { $0.connection.poolTimeout = $1 },
    Row(time: "idleLifetime") { $0.connection.idleLifetime = $1 },
    Row(time: "connectionLifetime") { $0.connection.connectionLifetime = $1 },
    Row(time: "resolverTimeout") { $0.options.resolverTimeout = $1 },
    Row(time: "blockingWait") { $0.options.blockingWait = $1 },
    Row(time: "silenceLimit") { $0.options.silenceLimit = $1 },
    Row(time: "probePatience") { $0.options.probePatience = $1 },
    Row(time: "probeTimeout") { $0.options.probeTimeout = $1 },
    Row(time: "acknowledgementTimeout") { $0.options.acknowledgementTimeout = $1 },
    Row(time: "lingeringTime") { $0.options.lingeringTime = $1 },
    Row(time: "responseTimeout") { $0.request.responseTimeout = $1 },
    Row(time: "idleTimeout") { $0.request.idleTimeout = $1 },
    Row(time: "pingInterval") { $0.request.pingInterval = $1 },
    Row(time: "deadline") { $0.request.deadline = $1 },
    Row(time: "continueTimeout") { $0.request.continueTimeout = $1 },
    Row(time: "retryPolicy.retryAfterLimit") { $0.request.retryPolicy.retryAfterLimit = $1 },
  ]

  @Test(arguments: counts + times, [ConnectionConfiguration.Versions.http1, .automatic])
  func anExtremeSettingStopsNothing(_ row: Row, _ versions: ConnectionConfiguration.Versions) async throws {
    let nginx = try Nginx.shared.get()
    for change in row.changes {
      var setup = Setup(connection: nginx.connection(versions))
      change(&setup)
      let session = HTTPSession(transport: SocketTransport(setup.connection, options: setup.options))
      try await use(session, setup.request, nginx)
    }
  }

  /// Makes requests that end in different ways. Errors are allowed.
  private func use(_ session: HTTPSession, _ options: RequestOptions, _ nginx: Nginx) async throws {
    let folder = try TemporaryFolder()
    _ = try? await session.data(for: HTTPRequest(.get, nginx.tls("/long.txt"), options: options))
    // Cancelled before its end: HTTP/2 resets the stream.
    if let body = try? await session.bytes(for: HTTPRequest(.get, nginx.tls("/zeros.bin"), options: options)).0 {
      var pieces = body.makeAsyncIterator()
      _ = try? await pieces.next()
      body.cancel()
    }
    let content = RequestBody.data(Data(count: 100_000))
    _ = try? await session.data(for: HTTPRequest(.post, nginx.tls("/put"), body: content, options: options))
    _ = try? await session.data(for: HTTPRequest(.get, nginx.tls("/moved"), options: options))
    _ = try? await session.resumableDownload(
      for: HTTPRequest(.get, nginx.tls("/hello.txt"), options: options), to: folder.file("hello.txt"))
  }
}
#endif
