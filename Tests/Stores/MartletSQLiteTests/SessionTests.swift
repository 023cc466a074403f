import MartletEngine
import MartletSQLite
import MartletSemantics
import MartletTesting
import Testing

/// The stores of a session, in a program that is started twice.
@Suite(.timeLimit(.minutes(5)))
struct SessionTests {
  private let folder: TemporaryFolder
  private let wire = RecordingTransport(
    around: MockTransport { request in
      var fields: HTTPFields = ["Cache-Control": "max-age=3600"]
      if request.url.path == "/login" {
        fields = ["Set-Cookie": "id=1; Path=/; Max-Age=3600", "Cache-Control": "no-store"]
      }
      return MockResponse(fields: fields, content: bytes(request.url.path == "/large" ? 500_000 : 10))
    })

  init() throws { folder = try TemporaryFolder() }

  /// Returns a session like that of a new process.
  private func session() throws -> HTTPSession {
    var configuration = SessionConfiguration()
    configuration.cookies = CookieJar(store: try SQLiteCookieStore(at: folder.file("cookies.sqlite")))
    configuration.cache = HTTPCache(store: try SQLiteCacheStore(at: folder.file("cache.sqlite")))
    return HTTPSession(transport: wire, configuration: configuration)
  }

  private func get(_ path: String) throws -> HTTPRequest {
    HTTPRequest(.get, try #require(URL(string: "https://www.example.com" + path)))
  }

  @Test func cookiesAreSentAfterARestart() async throws {
    _ = try await session().data(for: get("/login"))
    _ = try await session().data(for: get("/small"))
    #expect(wire.records.map(\.request.fields[.cookie]) == [nil, "id=1"])
  }

  @Test func cookiesOfAPartitionAreSentInItAfterARestart() async throws {
    for (user, path) in [("anna", "/login"), ("anna", "/small"), ("ben", "/small"), ("", "/small"), ("anna", "/large")]
    {
      var request = try get(path)
      request.options.partition = user
      _ = try await session().data(for: request)
    }
    #expect(wire.records.map(\.request.fields[.cookie]) == [nil, "id=1", nil, nil, "id=1"])
  }

  @Test(arguments: [("/small", 10), ("/large", 500_000)])
  func responsesAreServedAfterARestart(_ path: String, size: Int) async throws {
    for source in [ResponseSource.network, .cache] {
      let (data, response) = try await session().data(for: get(path))
      #expect(data == bytes(size))
      #expect(response.source == source)
    }
    #expect(wire.records.count == 1)
  }
}
