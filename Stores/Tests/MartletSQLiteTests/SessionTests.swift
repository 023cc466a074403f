@_spi(Transports) import MartletEngine
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
    for source in [HTTPResponse.Source.network, .cache] {
      let (data, response) = try await session().data(for: get(path))
      #expect(data == bytes(size))
      #expect(response.source == source)
    }
    #expect(wire.records.count == 1)
  }

  /// The length is not announced, so the store begins to write it.
  @Test func aBodyThatTurnsOutTooLargeIsNoFailureOfTheStore() async throws {
    let server = MockTransport { _ in
      MockResponse(fields: ["Cache-Control": "max-age=3600"]) {
        ResponseBody(length: nil, from: ResponseBody(bytes(500_000)).source)
      }
    }
    let cache = HTTPCache(store: try SQLiteCacheStore(at: folder.file("cache.sqlite"), entryLimit: 400_000))
    var configuration = SessionConfiguration()
    configuration.cache = cache

    let (data, _) = try await HTTPSession(transport: server, configuration: configuration).data(for: get("/large"))

    #expect(data == bytes(500_000))
    #expect(cache.statistics.storeFailures == 0)
    #expect(try await cache.usage().entries == 0)
  }

  /// RFC 9111 §3.4, with bodies that are stored in chunks.
  @Test(arguments: [0..<200_000, 300_000..<500_000])
  func aPartIsCompletedAfterARestart(_ part: Range<Int>) async throws {
    let whole = bytes(500_000)
    let server = RecordingTransport(
      around: MockTransport { request in
        guard case .part(let range) = RangeRule.read(request.request.fields, length: 500_000) else {
          return MockResponse(status: .badRequest, fields: [:], content: Data())
        }
        return MockResponse(
          status: .partialContent,
          fields: [
            .contentRange: "bytes \(range.lowerBound)-\(range.upperBound - 1)/500000", .eTag: "\"1\"",
            .cacheControl: "max-age=3600",
          ], content: whole[Int(range.lowerBound)..<Int(range.upperBound)])
      })
    func send(_ range: Range<Int>? = nil) async throws -> (Data, HTTPResponse) {
      var configuration = SessionConfiguration()
      configuration.cache = HTTPCache(store: try SQLiteCacheStore(at: folder.file("cache.sqlite")))
      var request = try get("/large")
      request.fields[.range] = range.map { "bytes=\($0.lowerBound)-\($0.upperBound - 1)" }
      return try await HTTPSession(transport: server, configuration: configuration).data(for: request)
    }

    _ = try await send(part)
    let within = part.lowerBound + 50_000..<part.upperBound
    #expect(try await send(within).0 == whole[within])
    for source in [HTTPResponse.Source.network, .cache] {
      let (data, response) = try await send()
      #expect(data == whole)
      #expect(response.status == .ok)
      #expect(response.source == source)
    }
    #expect(server.records.count == 2)
  }
}
