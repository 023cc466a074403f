#if os(Linux)
import MartletEngine
import MartletSemantics
import TestSupport
import Testing

@testable import MartletSockets

/// The proxies that requests go through.
struct ProxyRouteTests {
  /// `kind host port user:password source` of the route to a URL; "direct", or the error's message.
  private func route(
    _ target: String, _ environment: [String: String] = [:], _ proxy: Proxy = .environment
  ) throws -> String {
    let origin = try #require(Origin(url(target)))
    do throws(HTTPError) {
      let route = try ProxySettings(proxy, environment: environment).route(to: origin)
      let kind =
        switch route {
        case .direct: "direct"
        case .http(_, let isTLS): isTLS ? "https" : "http"
        case .socks5(_, let resolvesNames): resolvesNames ? "socks5h" : "socks5"
        }
      guard let server = route.server else { return kind }
      let user = server.credentials?.credential.map { " \($0.user):\($0.password)" } ?? ""
      return "\(kind) \(server.host) \(server.port)\(user)"
    } catch {
      #expect(error.kind == .proxyFailed)
      #expect(error.phase == .preparing)
      return error.message
    }
  }

  @Test func theEnvironmentNamesTheProxyOfEachScheme() throws {
    let table: [(environment: [String: String], plain: String, secure: String)] = [
      ([:], "direct", "direct"), (["http_proxy": "a:1"], "http a 1", "direct"),
      (["https_proxy": "a:1"], "direct", "http a 1"), (["HTTPS_PROXY": "a:1"], "direct", "http a 1"),
      (["https_proxy": "a:1", "HTTPS_PROXY": "b:2"], "direct", "http a 1"),
      (["all_proxy": "a:1"], "http a 1", "http a 1"), (["ALL_PROXY": "a:1"], "http a 1", "http a 1"),
      (["http_proxy": "a:1", "all_proxy": "b:2", "ALL_PROXY": "c:3"], "http a 1", "http b 2"),
      (["http_proxy": "", "all_proxy": "b:2"], "http b 2", "http b 2"), (["all_proxy": ""], "direct", "direct"),
      // the field `Proxy` of a request to a CGI program
      (["HTTP_PROXY": "a:1"], "direct", "direct"),
      (["all_proxy": "a:1", "no_proxy": "a.example"], "direct", "direct"),
      (["all_proxy": "a:1", "NO_PROXY": "a.example"], "direct", "direct"),
      (["all_proxy": "a:1", "no_proxy": "b.example", "NO_PROXY": "a.example"], "http a 1", "http a 1"),
      (["all_proxy": "a:1", "no_proxy": "a.example:443"], "http a 1", "direct"),
    ]
    for (environment, plain, secure) in table {
      #expect(try route("http://a.example/", environment) == plain, "\(environment)")
      #expect(try route("https://a.example/", environment) == secure, "\(environment)")
    }
  }

  @Test func aProxyIsWrittenAsInCurl() throws {
    let table = [
      ("127.0.0.1:9", "http 127.0.0.1 9"), ("http://127.0.0.1", "http 127.0.0.1 1080"),
      ("https://p.example", "https p.example 443"), ("HTTPS://P.example:8443/path?x#y", "https p.example 8443"),
      ("SOCKS5://127.0.0.1", "socks5 127.0.0.1 1080"), ("socks5h://[::1]:9", "socks5h ::1 9"),
      ("[::1]:9", "http ::1 9"),
      ("http://anna:secret@p.example:9", "http p.example 9 anna:secret"),
      ("anna:a%40b%3A%2F@p.example:9", "http p.example 9 anna:a@b:/"),
      ("http://anna@p.example:9/", "http p.example 9 anna:"), ("http://@p.example:9", "http p.example 9"),
      ("http://a:b@c@p.example:9", "http p.example 9 a:b@c"), ("http://a:b@p.example/c@d:x", "http p.example 1080 a:b"),
      ("http://bücher.example:9", "http xn--bcher-kva.example 9"),
    ]
    for (text, expected) in table { #expect(try route("http://a.example/", ["http_proxy": text]) == expected) }
  }

  @Test(arguments: [
    "foo://127.0.0.1:9", "socks4://127.0.0.1:9", "127.0.0.1:99999", "127.0.0.1:x", "127.0.0.1:0", "http://",
    "http://:9",
    "http://a b:9", " 127.0.0.1:9", "::1", "http://[::1", "http://anna:secret@", "anna:secret@p.example:-1", "a\0b:9",
    "http://a\r\nb:9",
  ])
  func aMalformedProxyIsAnErrorThatNamesTheVariable(_ text: String) throws {
    let environment = ["http_proxy": text, "no_proxy": "direct.example"]
    let message = try route("http://a.example/", environment)
    #expect(message.hasPrefix("the proxy that is named by http_proxy cannot be used: "), "\(message)")
    #expect(!message.contains("secret"))
    // only the handshake that needs it can read it
    #expect(try route("http://direct.example/", environment) == "direct")
    #expect(try route("https://a.example/", environment) == "direct")
  }

  @Test func settingsTakeThePlaceOfTheEnvironment() throws {
    let environment = ["all_proxy": "e:1", "no_proxy": "a.example,c.example"]
    let table: [(Proxy, String)] = [
      (.direct, "direct"), (.http("p.example", port: 8080), "http p.example 8080"),
      (.https("p.example", port: 8080), "https p.example 8080"),
      (.socks5("::1", port: 1080), "socks5h ::1 1080"),
      (.http("p", port: 1).bypassing(["b.example"]), "http p 1"),
      (.http("p", port: 1).bypassing([".example"]), "direct"),
      (.http("p", port: 1).authenticated(user: "anna", password: "s"), "http p 1 anna:s"), (.environment, "direct"),
    ]
    for (proxy, expected) in table { #expect(try route("https://a.example/", environment, proxy) == expected) }
    let both = Proxy.environment.bypassing(["b.example"])
    #expect(
      try ["a", "b", "d"].map { try route("http://\($0).example/", environment, both) } == [
        "direct", "direct", "http e 1",
      ])
    #expect(
      try route("http://a.example/", [:], .http("p p", port: 1)).hasPrefix(
        "the proxy that is named by the connection's settings"))
    #expect(
      try route("http://a.example/", [:], .http("p", port: 0)).hasPrefix(
        "the proxy that is named by the connection's settings"))
  }

  @Test func credentialsOfTheEnvironmentAreSentByBasicOnly() throws {
    func schemes(_ text: String, _ proxy: Proxy) throws -> Set<PasswordScheme>? {
      let origin = try #require(Origin(url("http://a.example/")))
      let server = try ProxySettings(proxy, environment: ["http_proxy": text]).route(to: origin).server
      return if case .password(_, let schemes) = server?.credentials { schemes } else { nil }
    }
    #expect(try schemes("u:p@a:1", .environment) == [.basic])
    #expect(try schemes("a:1", .environment.authenticated(user: "u", password: "p")) == [.basic, .digest])
    #expect(
      try schemes("x:y@a:1", .environment.authenticated(user: "u", password: "p", schemes: [.digest])) == [.digest])
    #expect(try schemes("a:1", .environment) == nil)
  }

  @Test func aPasswordOfTheEnvironmentComesBeforeTokens() throws {
    let target = try #require(Origin(url("http://a.example/"))), tokens = TestTokens()
    func credentials(_ text: String) throws -> ProxyCredentials? {
      try ProxySettings(.environment.authenticated(by: tokens), environment: ["http_proxy": text])
        .route(to: target).server?.credentials
    }
    #expect(try credentials("u:p@a:1") == .password(Credential(user: "u", password: "p"), schemes: [.basic]))
    #expect(try credentials("a:1") == .tokens(tokens))
    #expect(try credentials("a:1") != .tokens(TestTokens()))
  }

  @Test func onlyPlainRequestsGoToTheProxyItself() throws {
    let plain = try #require(Origin(url("http://a/"))), secure = try #require(Origin(url("https://a/")))
    let server = ProxyServer(host: "p", port: 1, credentials: nil, source: .setting)
    #expect(ProxyRoute.http(server, isTLS: true).forwarder(for: plain) == server)
    #expect(ProxyRoute.http(server, isTLS: true).forwarder(for: secure) == nil)
    #expect(ProxyRoute.socks5(server, resolvesNames: true).forwarder(for: plain) == nil)
    #expect(ProxyRoute.direct.forwarder(for: plain) == nil)
  }

  @Test func noDescriptionShowsCredentials() throws {
    let target = try #require(Origin(origin))
    let settings = ProxySettings(.environment, environment: ["http_proxy": "http://anna:secret@p.example:9"])
    let route = try settings.route(to: target)
    let authentication = ProxyAuthentication(route.server?.credentials)
    var dumped = ""
    dump(route, to: &dumped)
    dump(authentication, to: &dumped)
    dump(route.server?.credentials, to: &dumped)
    for text in ["\(route)", "\(settings)", "\(authentication)", dumped, String(reflecting: route)] {
      #expect(!text.contains("secret"))
      #expect(!text.contains("anna"))
    }
    #expect("\(route.server?.description ?? "")" == "the proxy p.example port 9 (named by http_proxy)")
  }

  @Test func aProxyThatCannotBeReachedIsNamedWithItsSource() throws {
    let target = try #require(Origin(url("https://a.example/")))
    let server = ProxyServer(host: "p.example", port: 9, credentials: nil, source: .variable("https_proxy"))
    let table: [(HTTPError.Kind, HTTPError.Kind)] = [
      (.cannotResolveHost, .proxyFailed), (.cannotConnect, .proxyFailed), (.connectTimeout, .connectTimeout),
      (.untrustedCertificate, .untrustedCertificate),
    ]
    for (kind, expected) in table {
      let error = server.unreachable(HTTPError(kind, "p.example: what happened", phase: .resolving), for: target)
      #expect(error.kind == expected)
      #expect(error.phase == .resolving)
      #expect(error.message == "a.example: the proxy p.example port 9 (named by https_proxy): p.example: what happened")
    }
  }
}
#endif
