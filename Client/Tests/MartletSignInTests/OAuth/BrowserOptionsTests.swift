import Foundation
import MartletEngine
import MartletSemantics
import MartletSignIn
import MartletSockets
@_spi(Toolkit) import MartletTesting
import TestSupport
import Testing

/// A login in a browser at servers that compare the whole redirect, or that need further parameters.
@Suite(.timeLimit(.minutes(5)))
struct BrowserOptionsTests {
  typealias Query = [String: String]

  /// Logs in. The browser calls the redirect at this host in place of its own.
  private func logIn(
    _ options: OAuthLogin.BrowserOptions, callingHost host: String? = nil
  ) async throws -> (page: Query, form: TokenServer.Form) {
    let server = try TokenServer { _, _ in TokenServer.token("a") }
    let page = Awaitable<Query>([:])
    let login = OAuthLogin.browser(server.server.url("/authorize"), options: options) { url in
      let pairs = PercentEncoding.form.pairs(in: url.query(percentEncoded: true) ?? "")
      let query = Query(pairs.map { ($0.name, $0.value) }) { first, _ in first }
      page.update { $0 = query }
      var parts = try #require(URLComponents(string: query["redirect_uri"] ?? ""))
      if let host { parts.host = host }
      parts.queryItems =
        (parts.queryItems ?? []) + [
          URLQueryItem(name: "code", value: "c"), URLQueryItem(name: "state", value: query["state"]),
        ]
      let callback = HTTPRequest(.get, try #require(parts.url))
      let (text, _) = try await HTTPSession(transport: SocketTransport()).text(for: callback)
      #expect(text.contains("You are logged in"))
    }
    _ = try await server.client().token(by: login)
    return (page.value, try #require(server.received.first))
  }

  /// Runs work with a port that is free, unless another test takes it in the meantime: then with another one.
  private func withFreePort<Value>(_ work: (Int) async throws -> Value) async throws -> Value {
    for _ in 0..<20 {
      let server = try LoopbackServer { _ in .text("") }
      let port = server.port
      server.stop()
      do { return try await work(port) } catch let error as HTTPError where error.message.contains("in use") {}
    }
    throw HTTPError(.other, "no port is free")
  }

  @Test func wholeRedirectIsSentAndServedAsItIs() async throws {
    try await withFreePort { port in
      var options = OAuthLogin.BrowserOptions()
      options.redirect = "http://localhost:\(port)/oauth/Call%20back"
      // Browsers try both addresses. The second login follows while the connections of the first one are closing.
      for host in ["127.0.0.1", "[::1]"] {
        let (page, form) = try await logIn(options, callingHost: host)
        #expect(page["redirect_uri"] == options.redirect)
        #expect(form["redirect_uri"] == options.redirect)
      }
    }
  }

  @Test(arguments: [
    ("http://localhost/cb", "http://localhost:", "/cb"), ("http://127.0.0.1", "http://127.0.0.1:", ""),
    ("http://[::1]/a/b", "http://[::1]:", "/a/b"), ("http://127.0.0.1/callback", "http://127.0.0.1:", "/callback"),
  ])
  func systemChoosesThePortOfARedirectWithoutOne(_ redirect: String, _ start: String, _ end: String) async throws {
    var options = OAuthLogin.BrowserOptions()
    options.redirect = redirect
    let sent = try #require(try await logIn(options).page["redirect_uri"])
    #expect(sent.hasPrefix(start) && sent.hasSuffix(end))
    #expect(Int(sent.dropFirst(start.count).dropLast(end.count)) != nil)
  }

  @Test func defaultIsTheRedirectOfTheOtherForm() {
    #expect(OAuthLogin.BrowserOptions().redirect == "http://127.0.0.1/callback")
  }

  @Test func parametersAreAddedToThePage() async throws {
    var options = OAuthLogin.BrowserOptions()
    options.scopes = ["read"]
    options.parameters = [(name: "audience", value: "https://api.example/?a=b&c"), (name: "prompt", value: "consent")]
    let (page, form) = try await logIn(options)
    #expect(page["audience"] == "https://api.example/?a=b&c" && page["prompt"] == "consent")
    #expect(page["scope"] == "read" && page["response_type"] == "code")
    #expect(form["audience"] == nil, "those of the token request belong to the client")
  }

  /// RFC 6749 §3.1: parameters must not be included more than once.
  @Test(arguments: ["state", "redirect_uri", "code_challenge", "client_id"])
  func parameterThatTheRequestHasAlreadyIsAnError(_ name: String) async throws {
    var options = OAuthLogin.BrowserOptions()
    options.parameters = [(name: name, value: "x")]
    let error = await #expect(throws: HTTPError.self) { try await logIn(options) }
    #expect(error?.kind == .invalidRequest && error?.message.contains("'\(name)'") == true)
  }

  @Test(arguments: [
    "https://localhost/cb", "http://example.com/cb", "http://127.0.0.1.example.com/", "http://0.0.0.0:8080/",
    "http://anna@localhost/", "http://localhost/#a", "ws://localhost/", "app://callback", "callback", "",
    "http://[::2]/", "http://localhost:99999/",
  ])
  func redirectThatLeavesTheMachineIsAnError(_ redirect: String) async throws {
    var options = OAuthLogin.BrowserOptions()
    options.redirect = redirect
    let error = await #expect(throws: HTTPError.self) { try await logIn(options) }
    #expect(error?.kind == .invalidRequest)
    #expect(error?.message.contains("'\(redirect)' of the login is not an http URL of the loopback interface") == true)
  }

  @Test(arguments: Duration.extremes) func extremeTimeLimitStopsNothing(_ time: Duration) async throws {
    var options = OAuthLogin.BrowserOptions()
    options.timeLimit = time
    let login = Task { [options] in try await logIn(options) }
    if time > .seconds(1) { _ = try await login.value } else { _ = await login.result }
  }

  /// A browser tries ::1 first, and that program would receive the code.
  @Test func portThatAnotherProgramUsesOnTheOtherAddressIsAnError() async throws {
    let server = try TokenServer { _, _ in TokenServer.token("a") }
    var other = OAuthLogin.BrowserOptions()
    other.redirect = "http://[::1]/"
    let login = OAuthLogin.browser(server.server.url("/authorize"), options: other) { page in
      let pairs = PercentEncoding.form.pairs(in: page.query(percentEncoded: true) ?? "")
      let redirect = try #require(pairs.first { $0.name == "redirect_uri" }.flatMap { URL(string: $0.value) })
      let port = try #require(redirect.port)
      let error = await errorOfALogin(at: port)
      #expect(error?.message.contains("port \(port), for the login: ") == true)
      throw CancellationError()
    }
    await #expect(throws: HTTPError.self) { try await server.client().token(by: login) }
  }

  @Test func portThatAnotherProgramUsesIsAnError() async throws {
    let other = try LoopbackServer { _ in .text("") }
    let error = await errorOfALogin(at: other.port)
    #expect(error?.message.contains("127.0.0.1, port \(other.port), for the login: ") == true)
    #expect(error?.message.contains("in use") == true)
  }

  /// Logs in with a port that is in use.
  private func errorOfALogin(at port: Int) async -> HTTPError? {
    var options = OAuthLogin.BrowserOptions()
    options.redirect = "http://localhost:\(port)/cb"
    do { _ = try await logIn(options) } catch { return error as? HTTPError }
    return nil
  }
}
