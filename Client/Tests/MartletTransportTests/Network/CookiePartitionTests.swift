import MartletEngine
import MartletSemantics
import MartletSockets
import MartletTesting
import Testing

/// Cookies of several users in one session: each partition has its own.
@Suite(.timeLimit(.minutes(5)))
struct CookiePartitionTests {
  private let configuration = SessionConfiguration()

  /// Sends a request of a user, and returns the text of its response.
  private func get(
    _ session: HTTPSession, _ url: URL, of user: String, retrying: Bool = false
  ) async throws -> String {
    var request = HTTPRequest(.get, url)
    request.options.partition = user
    if retrying { request.options.retryPolicy = .standard }
    return String(decoding: try await session.data(for: request).0, as: UTF8.self)
  }

  @Test func twoPartitionsNeverSeeEachOthersCookies() async throws {
    let server = try LoopbackServer { request in
      let cookies = request.fields[values: .cookie].joined(separator: "|")
      guard request.path == "/login" else { return .text(cookies) }
      return .text(cookies).with(.setCookie, "id=\(request.fields["X-User"] ?? ""); Path=/; Max-Age=3600")
    }
    let session = HTTPSession(transport: SocketTransport(), configuration: configuration)
    for user in ["anna", "ben", ""] {
      var login = HTTPRequest(.get, server.url("/login"), fields: ["X-User": user.isEmpty ? "all" : user])
      login.options.partition = user
      #expect(String(decoding: try await session.data(for: login).0, as: UTF8.self) == "")
    }

    #expect(try await get(session, server.url("/"), of: "anna") == "id=anna")
    #expect(try await get(session, server.url("/"), of: "ben") == "id=ben")
    #expect(try await get(session, server.url("/"), of: "") == "id=all")
    #expect(try await get(session, server.url("/"), of: "carl") == "")
  }

  @Test func cookiesSetByRedirectsAndRetriedResponsesStayInThePartition() async throws {
    let server = try LoopbackServer { request in
      let cookies = request.fields[values: .cookie].joined(separator: "|")
      switch request.path {
      case "/start": return .redirect(to: "/next").with(.setCookie, "a=\(request.query ?? ""); Path=/")
      case "/next" where !cookies.contains("b="):
        return .status(.serviceUnavailable).with("Retry-After", "0").with(.setCookie, "b=2; Path=/")
      default: return .text(cookies)
      }
    }
    let session = HTTPSession(transport: SocketTransport(), configuration: configuration)

    for user in ["anna", "ben"] {
      #expect(
        try await get(session, server.url("/start?\(user)"), of: user, retrying: true) == "a=\(user); b=2")
    }
    #expect(try await get(session, server.url("/"), of: "") == "")
  }
}
