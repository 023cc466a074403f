import Foundation
import MartletEngine
import MartletSemantics
import MartletSockets
@_spi(Toolkit) import MartletTesting
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5)))
struct PagesTests {
  private let session = HTTPSession(transport: SocketTransport())

  /// Pages 1 to 3 with relative links.
  private func threePages() throws -> LoopbackServer {
    try LoopbackServer { request in
      let page = request.query.flatMap { Int($0.dropFirst("page=".count)) } ?? 1
      let reply = Reply.json("[\(page)]")
      return page < 3 ? reply.with(.link, "<?page=\(page + 1)>; rel=\"next\", <?page=3>; rel=last") : reply
    }
  }

  @Test func pagesFollowOneAnotherToTheLast() async throws {
    let server = try threePages()
    let request = HTTPRequest(.get, server.url("/orders"), fields: [.authorization: "Bearer a"])

    var pages: [[Int]] = []
    for try await page in session.pages(of: [Int].self, for: request) { pages.append(page) }

    #expect(pages == [[1], [2], [3]])
    #expect(server.requests.map(\.target) == ["/orders", "/orders?page=2", "/orders?page=3"])
    #expect(
      server.requests.allSatisfy { $0.fields[.authorization] == "Bearer a" && $0.fields[.accept] == "application/json" }
    )
  }

  @Test func pageIsRequestedWhenItIsTaken() async throws {
    let server = try threePages()
    var pages = session.pages(of: [Int].self, for: HTTPRequest(.get, server.url)).makeAsyncIterator()
    #expect(server.requests.isEmpty)
    _ = try await pages.next()
    #expect(server.requests.count == 1)
  }

  @Test func linksAreRelativeToWhereARedirectLed() async throws {
    let server = try LoopbackServer { request in
      switch request.path {
      case "/old": .redirect(to: "/new/list")
      case "/new/list": .json("1").with(.link, "<more>; rel=next")
      default: .json("2")
      }
    }
    var values: [Int] = []
    for try await value in session.pages(of: Int.self, for: HTTPRequest(.get, server.url("/old"))) {
      values.append(value)
    }
    #expect(values == [1, 2])
    #expect(server.requests.last?.target == "/new/more")
  }

  @Test func linkToAnotherOriginCarriesNoCredentials() async throws {
    let other = try LoopbackServer { _ in .json("2") }
    let server = try LoopbackServer { _ in .json("1").with(.link, "<\(other.url("/next"))>; rel=next") }
    let request = HTTPRequest(
      .get, server.url,
      fields: [.authorization: "Bearer a", .cookie: "a=b", "X-Api-Key": "k", "X-Tenant": "7", .host: "a.example"])

    var values: [Int] = []
    for try await value in session.pages(of: Int.self, for: request) { values.append(value) }

    #expect(values == [1, 2])
    let fields = try #require(other.requests.first).fields
    for name: FieldName in [.authorization, .cookie, "X-Api-Key"] { #expect(!fields.contains(name)) }
    #expect(fields[.host] == "127.0.0.1:\(other.port)")
    #expect(fields["X-Tenant"] == "7")
  }

  /// Like after a redirect: they are for the origin that the caller addressed.
  @Test func defaultFieldsOfTheSessionAreNotForAnotherOrigin() async throws {
    let other = try LoopbackServer { _ in .json("2") }
    let server = try LoopbackServer { _ in .json("1").with(.link, "<\(other.url("/next"))>; rel=next") }
    var configuration = SessionConfiguration()
    configuration.fields = ["X-Api-Key": "k", "X-Tenant": "7"]
    configuration.interceptors = [DefaultFieldsInterceptor(["X-Other-Key": "k"])]
    let session = HTTPSession(transport: SocketTransport(), configuration: configuration)

    for try await _ in session.pages(of: Int.self, for: HTTPRequest(.get, server.url)) {}

    let fields = try #require(other.requests.first).fields
    for name: FieldName in ["X-Api-Key", "X-Tenant", "X-Other-Key"] { #expect(!fields.contains(name)) }
    #expect(server.requests.first?.fields["X-Api-Key"] == "k")
  }

  @Test(arguments: [RedirectPolicy.sameOrigin, .manual], [false, true])
  func linkToAnotherOriginIsAnErrorIfRedirectsToItAreNotFollowed(
    _ policy: RedirectPolicy, inSession: Bool
  ) async throws {
    let other = try LoopbackServer { _ in .json("2") }
    let server = try LoopbackServer { request in
      request.path == "/2"
        ? .json("1").with(.link, "<\(other.url("/next"))>; rel=next") : .json("1").with(.link, "</2>; rel=next")
    }
    var request = HTTPRequest(.get, server.url), configuration = SessionConfiguration()
    if inSession {
      configuration.options.redirectPolicy = policy
    } else {
      request.options.redirectPolicy = policy
    }
    let session = HTTPSession(transport: SocketTransport(), configuration: configuration)
    var read = 0
    let error = await #expect(throws: HTTPError.self) {
      for try await _ in session.pages(of: Int.self, for: request) { read += 1 }
    }
    #expect(error?.message.hasSuffix("is of another origin, which the redirect policy does not allow") == true)
    #expect(read == 2 && other.requests.isEmpty)
  }

  @Test func passwordInTheURLIsForAllPagesOfItsOrigin() async throws {
    let server = try LoopbackServer { request in
      guard request.fields[.authorization] != nil else {
        return .status(.unauthorized, fields: [.wwwAuthenticate: "Basic realm=a"])
      }
      return request.path == "/2" ? .json("2") : .json("1").with(.link, "</2>; rel=next")
    }
    let url = try #require(URL(string: "http://anna:secret@127.0.0.1:\(server.port)/1"))
    var values: [Int] = []
    for try await value in session.pages(of: Int.self, for: HTTPRequest(.get, url)) { values.append(value) }
    #expect(values == [1, 2])
  }

  @Test func credentialsDoNotComeBackAfterAnotherOrigin() async throws {
    let home = Awaitable<URL?>(nil)
    let other = try LoopbackServer { _ in .json("2").with(.link, "<\(home.value?.absoluteString ?? "")/3>; rel=next") }
    let server = try LoopbackServer { request in
      request.path == "/3" ? .json("3") : .json("1").with(.link, "<\(other.url("/2"))>; rel=next")
    }
    home.update { $0 = server.url }
    let request = HTTPRequest(.get, server.url, fields: [.authorization: "Bearer a"])

    var values: [Int] = []
    for try await value in session.pages(of: Int.self, for: request) { values.append(value) }

    #expect(values == [1, 2, 3])
    #expect(server.requests.map { $0.fields[.authorization] } == ["Bearer a", nil])
  }

  @Test(arguments: [
    ("</b>; rel=next", 2, "the link to the next page leads to one that was read, http://127.0.0.1:"),
    ("<#top>; rel=next", 1, "the link to the next page leads to one that was read, http://127.0.0.1:"),
    (
      "<ftp://a.example/x?key=secret>; rel=next", 1,
      "the link to the next page cannot be followed: its target \"ftp://a.example/x\" is neither http nor https"
    ),
  ])
  func linkThatLeadsNowhereIsAnErrorAfterThePage(_ link: String, _ count: Int, _ message: String) async throws {
    let server = try LoopbackServer { _ in .json("1").with(.link, link) }
    var read = 0
    let error = await #expect(throws: HTTPError.self) {
      for try await _ in session.pages(of: Int.self, for: HTTPRequest(.get, server.url("/a"))) { read += 1 }
    }
    #expect(error?.kind == .unexpectedResponse)
    #expect(error?.message.hasPrefix(message) == true)
    #expect(read == count && server.requests.count == count)
  }

  @Test func morePagesThanTheLimitAreAnError() async throws {
    let server = try threePages()
    let error = await #expect(throws: HTTPError.self) {
      for try await _ in session.pages(of: [Int].self, for: HTTPRequest(.get, server.url), limit: 2) {}
    }
    #expect(error?.message == "there are more pages than the limit of 2: raise the limit")
    #expect(server.requests.count == 2)
    for try await _ in session.pages(of: [Int].self, for: HTTPRequest(.get, server.url), limit: 3) {}
  }

  @Test func linkOfAnotherResourceIsIgnored() async throws {
    let server = try LoopbackServer { _ in .json("1").with(.link, "</b>; rel=next; anchor=\"/other\"") }
    for try await _ in session.pages(of: Int.self, for: HTTPRequest(.get, server.url)) {}
    #expect(server.requests.count == 1)
  }
}
