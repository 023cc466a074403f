import CallDoubles
import Foundation
import MartletEngine
import MartletSemantics
import MartletSockets
import MartletTesting
import Testing

/// URLs as text, the base URL and the default fields of a session.
@Suite(.timeLimit(.minutes(5)))
struct BaseURLTests {
  /// Answers with the method and target of the request.
  private let server = try? LoopbackServer { request in
    request.path == "/moved" ? .redirect(to: "/v1/target") : .text("\(request.method) \(request.target)")
  }

  private func session(_ base: String? = nil, _ change: (inout SessionConfiguration) -> Void = { _ in }) throws
    -> HTTPSession
  {
    var configuration = SessionConfiguration()
    configuration.cache = nil
    configuration.baseURL = try base.map { try #require(server).url($0) }
    change(&configuration)
    return HTTPSession(transport: SocketTransport(), configuration: configuration)
  }

  @Test func textAndQueryArriveAsTheyWereMeant() async throws {
    let server = try #require(server)
    let request = HTTPRequest(
      .post, server.url.absoluteString + "/a b?x=%2B#top", query: [("q", "1+1=2 & so"), ("q", "ü")], body: .empty)

    let (data, _) = try await session().data(for: request)
    let same = HTTPRequest(.get, server.url("/c?d"), query: [("e", "")])

    #expect(String(decoding: data, as: UTF8.self) == "POST /a%20b?x=%2B&q=1%2B1%3D2%20%26%20so&q=%C3%BC")
    #expect(same.url == server.url("/c?d&e="))
  }

  @Test(arguments: [
    ("orders", "/v1/orders"), ("/orders", "/orders"), ("?page=2", "/v1/?page=2"), ("a/../b%2Fc", "/v1/b%2Fc"),
  ])
  func everyVerbResolvesARelativeURL(_ reference: String, _ target: String) async throws {
    let server = try #require(server)
    let session = try session("/v1")
    let request = HTTPRequest(.get, reference)
    let folder = try TemporaryFolder()

    _ = try await session.data(for: request)
    _ = try await session.bytes(for: request).0.collect(upTo: 100)
    _ = try await session.upload(for: request, from: .empty)
    let response = try await session.download(for: request, to: folder.file("a"))
    _ = try? await session.value(of: Int.self, for: request)
    var events = session.events(for: request).makeAsyncIterator()
    _ = try? await events.next()

    #expect(server.requests.map(\.target) == Array(repeating: target, count: 6))
    #expect(response.url == server.url(target))
  }

  /// The cookies, the cache and the credentials are those of the path that the server gets.
  @Test func dotSegmentsAreRemovedWhereTheCallBegins() async throws {
    let server = try LoopbackServer { _ in .text("hello").with(.setCookie, "a=b; Path=/api") }
    let session = HTTPSession(transport: SocketTransport())

    for target in ["/api/login", "/api/../admin", "/api/%2e%2E/admin", "/api/./x"] {
      _ = try await session.data(for: HTTPRequest(.get, server.url(target)))
    }
    var request = HTTPRequest(.get, server.url("/api/../admin"))
    request.options.keepsDotSegments = true
    let response = try await session.data(for: request).1

    #expect(server.requests.map(\.target) == ["/api/login", "/admin", "/admin", "/api/x", "/api/../admin"])
    #expect(server.requests.map { $0.fields[.cookie] } == [nil, nil, nil, "a=b", "a=b"])
    #expect(response.url == server.url("/api/../admin"))
  }

  @Test func resumptionNamesTheWholeURL() async throws {
    let server = try LoopbackServer { _ in .data(Data(count: 9000)).with(.eTag, "\"1\"").truncated(after: 5000) }
    var configuration = SessionConfiguration()
    configuration.baseURL = server.url("/v1")
    let session = HTTPSession(transport: SocketTransport(), configuration: configuration)
    let folder = try TemporaryFolder()

    let error = await #expect(throws: HTTPError.self) {
      try await session.resumableDownload(for: HTTPRequest(.get, "film"), to: folder.file("film"))
    }

    #expect(error?.resumption?.url == server.url("/v1/film"))
  }

  @Test func relativeURLWithoutABaseIsAnErrorThatNamesTheRemedy() async throws {
    let error = await #expect(throws: HTTPError.self) {
      try await session().data(for: HTTPRequest(.get, "orders?key=secret"))
    }
    #expect(error?.kind == .invalidRequest)
    #expect(
      error?.message == "the URL 'orders?…' has no scheme: use http or https, or set SessionConfiguration.baseURL")
  }

  @Test(arguments: ["", "https://user:secret@[::1/a?key=secret", "https://a.example:port"])
  func textThatIsNoURLFailsWhenItIsSent(_ text: String) async throws {
    var request = HTTPRequest(.get, text)
    request.fields[.accept] = "text/plain"
    let error = await #expect(throws: HTTPError.self) { try await session("/v1").data(for: request) }
    let shown = text.hasPrefix("https://user") ? "https://[::1/a?…" : text
    #expect(error?.kind == .invalidRequest)
    #expect(error?.message.hasPrefix("'\(shown)' is not a URL: write scheme, host and path") == true)
    #expect(error.map { "\($0) \(request)".contains("secret") } == false)
  }

  @Test func defaultFieldsAreSentUnlessTheRequestSetsThem() async throws {
    let server = try #require(server)
    let session = try session { $0.fields = [.accept: "text/plain", "X-Tenant": "7", .userAgent: "Test"] }

    _ = try await session.data(for: HTTPRequest(.get, server.url("/a"), fields: ["X-Tenant": "8"]))
    _ = try? await session.value(of: Int.self, for: HTTPRequest(.get, server.url("/b")))

    #expect(server.requests.map { $0.fields["X-Tenant"] } == ["8", "7"])
    #expect(server.requests.map { $0.fields[.accept] } == ["text/plain", "text/plain"])
    #expect(server.requests.map { $0.fields[.userAgent] } == ["Test", "Test"])
  }

  @Test func defaultFieldsOfABaseAreForItsOriginOnly() async throws {
    let server = try #require(server)
    let other = try LoopbackServer { _ in .text("other") }
    let session = try session("/v1") { $0.fields = ["X-Api-Key": "7"] }

    _ = try await session.data(for: HTTPRequest(.get, "/moved"))
    _ = try await session.data(for: HTTPRequest(.get, "//127.0.0.1:\(other.port)/x"))
    _ = try await session.data(for: HTTPRequest(.get, other.url))

    #expect(server.requests.map { $0.fields["X-Api-Key"] } == ["7", "7"])
    #expect(other.requests.map { $0.fields["X-Api-Key"] } == [nil, nil])
    #expect(other.requests.first?.target == "/x")
  }

  @Test func defaultFieldThatIsRefusedFailsTheRequest() async throws {
    let session = try session("/v1") { $0.fields["X-Tenant"] = "a\nb" }
    let error = await #expect(throws: HTTPError.self) { try await session.data(for: HTTPRequest(.get, "a")) }
    #expect(error?.kind == .invalidRequest)
  }
}
