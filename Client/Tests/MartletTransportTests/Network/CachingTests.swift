import CallDoubles
import MartletEngine
import MartletSemantics
import MartletSockets
import MartletTesting
import Testing

/// The cache with a transport and a server.
@Suite(.timeLimit(.minutes(5)))
struct CachingTests {
  private let session = HTTPSession(transport: SocketTransport())

  private func get(
    _ url: URL, _ fields: HTTPFields = [:], policy: CachePolicy = .useProtocolCachePolicy
  ) async throws -> (text: String, response: HTTPResponse) {
    var request = HTTPRequest(.get, url, fields: fields)
    request.options.cachePolicy = policy
    let (data, response) = try await session.data(for: request)
    return (String(decoding: data, as: UTF8.self), response)
  }

  @Test func validationsKeepTheirConnection() async throws {
    let server = try LoopbackServer { request in
      request.fields[.ifNoneMatch] == "\"a\""
        ? Reply.status(.notModified).with(.eTag, "\"a\"")
        : Reply.text("hello").with(.eTag, "\"a\"").with(.cacheControl, "no-cache")
    }

    for number in 1...5 {
      let (text, response) = try await get(server.url)
      #expect(text == "hello")
      #expect(response.source == (number == 1 ? .network : .revalidated))
      #expect(response.networkHead?.status == (number == 1 ? .ok : .notModified))
    }

    #expect(server.requests.count == 5)
    #expect(server.connectionCount == 1)
  }

  @Test func decodedBodiesAreStoredDecoded() async throws {
    let packed = try #require(Data(base64Encoded: "H4sIAAAAAAAC/8tIzcnJV8igOwkAL/r4SHgAAAA="))
    let server = try LoopbackServer { request in
      guard request.fields[.range] == nil else {
        return Reply.text("lo", status: .partialContent).with(.contentRange, "bytes 3-4/120")
      }
      return Reply.data(packed, type: "text/plain").with(.contentEncoding, "gzip")
        .with(.cacheControl, "max-age=60").with(.vary, "Accept-Encoding")
    }

    let first = try await get(server.url)
    let second = try await get(server.url)
    let part = try await get(server.url, [.range: "bytes=3-4"])

    #expect(second.response.source == .cache)
    #expect(second.text == first.text)
    #expect(second.text.hasPrefix("hello hello"))
    #expect(second.response.fields[.contentEncoding] == nil)
    // A range counts the bytes of the origin's representation, which is not here.
    #expect(part.response.source == .network)
    #expect(part.text == "lo")
  }

  @Test func aTruncatedBodyIsNotStored() async throws {
    let server = try LoopbackServer { request in
      let reply = Reply.text("hello").with(.cacheControl, "max-age=60")
      return request.connection == 1 ? reply.truncated(after: 2) : reply
    }

    await #expect(throws: HTTPError.self) { try await get(server.url) }
    let again = try await get(server.url)

    #expect(again.text == "hello")
    #expect(again.response.source == .network)
  }

  @Test func storedResponsesAreUsedIfTheServerCannotBeReached() async throws {
    let server = try LoopbackServer { _ in Reply.text("hello").with(.cacheControl, "max-age=0, stale-if-error=60") }
    let other = try LoopbackServer { _ in Reply.text("kept") }

    _ = try await get(server.url)
    _ = try await get(other.url, policy: .returnCacheDataIfOffline)
    server.stop()
    other.stop()

    #expect(try await get(server.url).response.source == .stale)
    #expect(try await get(other.url, policy: .returnCacheDataIfOffline).response.source == .offline)
    await #expect(throws: HTTPError.self) { try await get(other.url) }
  }

  @Test func aSlowErrorDoesNotDelayAStaleResponse() async throws {
    let server = try LoopbackServer { request in
      request.fields[.ifNoneMatch] == nil
        ? Reply.text("hello").with(.cacheControl, "max-age=0, stale-if-error=60").with(.eTag, "\"a\"")
        : Reply.text("sorry", status: .serviceUnavailable).stalled(after: 2)
    }

    _ = try await get(server.url)
    // A response that is not collected is available with its head.
    let (body, response) = try await session.bytes(for: HTTPRequest(.get, server.url))

    #expect(response.source == .stale)
    #expect(try await body.collect(upTo: 10) == Data("hello".utf8))
  }

  @Test func manyIdenticalRequestsAtOnceAreSentOnce() async throws {
    let gate = Gate()
    let body = Data(repeating: 7, count: 3 << 20)
    let server = try LoopbackServer { _ in Reply.data(body).with(.cacheControl, "max-age=60").held(by: gate) }
    let cache = HTTPCache()
    let joined = Gate()
    var configuration = SessionConfiguration()
    configuration.cache = cache
    // The cache counts a request that joins another one before it records that.
    configuration.listeners = [
      EventHandler { event, _ in if case .note = event, cache.statistics.collapsed == 7 { joined.open() } }
    ]
    let session = HTTPSession(transport: SocketTransport(), configuration: configuration)

    let tasks = (1...8).map { _ in Task { try await session.data(for: HTTPRequest(.get, server.url)).0 } }
    try await joined.wait()
    gate.open()

    for task in tasks { #expect(try await task.value == body) }
    #expect(server.requests.count == 1)
  }

  @Test func aValidationInTheBackgroundReplacesWhatIsStored() async throws {
    let server = try LoopbackServer { request in
      request.fields[.ifNoneMatch] == nil
        ? Reply.text("one").with(.cacheControl, "max-age=0, stale-while-revalidate=60").with(.eTag, "\"a\"")
        : Reply.text("two").with(.cacheControl, "max-age=60").with(.eTag, "\"b\"")
    }

    let store = AwaitableCacheStore()
    var configuration = SessionConfiguration()
    configuration.cache = HTTPCache(store: store)
    let session = HTTPSession(transport: SocketTransport(), configuration: configuration)

    for text in ["one", "one"] {
      let (data, _) = try await session.data(for: HTTPRequest(.get, server.url))
      #expect(String(decoding: data, as: UTF8.self) == text)
    }
    try await store.commits(2)
    let (data, response) = try await session.data(for: HTTPRequest(.get, server.url))

    #expect(String(decoding: data, as: UTF8.self) == "two")
    #expect(response.source == .cache)
  }
}
