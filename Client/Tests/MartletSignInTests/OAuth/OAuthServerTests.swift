import Foundation
import MartletEngine
import MartletSemantics
import MartletSockets
import MartletTesting
import TestServers
import TestSupport
import Testing

@testable import MartletSignIn

/// What a server says about itself (RFC 8414), and clients that have a certificate (RFC 8705).
@Suite(.timeLimit(.minutes(5)))
struct OAuthServerTests {
  private static let session = HTTPSession(transport: SocketTransport())

  private static func members(_ issuer: String, _ more: String = "") -> Reply {
    .json(#"{"issuer":"\#(issuer)","token_endpoint":"https://a.example/token"\#(more)}"#)
  }

  /// RFC 8414 §3.1, and OpenID Connect Discovery 1.0 §4.
  @Test(arguments: [
    ("https://a.example", "/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"),
    ("https://a.example/", "/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"),
    (
      "https://a.example/issuer1", "/.well-known/oauth-authorization-server/issuer1",
      "/issuer1/.well-known/openid-configuration"
    ),
    (
      "https://a.example/a%20b/?x#y", "/.well-known/oauth-authorization-server/a%20b",
      "/a%20b/.well-known/openid-configuration"
    ),
  ])
  func descriptionHasTwoPlaces(_ issuer: String, _ first: String, _ second: String) {
    let places = OAuthServer.places(of: url(issuer)).map(\.absoluteString)
    #expect(places == ["https://a.example" + first, "https://a.example" + second])
  }

  @Test func endpointsAndAbilitiesAreRead() async throws {
    let server = try LoopbackServer { request in
      Self.members(
        "http://\(request.fields[.host] ?? "")",
        """
        ,"authorization_endpoint":"https://a.example/authorize","require_pushed_authorization_requests":true,\
        "pushed_authorization_request_endpoint":"https://a.example/par",\
        "device_authorization_endpoint":"https://a.example/device",\
        "token_endpoint_auth_methods_supported":["private_key_jwt","tls_client_auth"],\
        "dpop_signing_alg_values_supported":["ES256"],"tls_client_certificate_bound_access_tokens":true,\
        "mtls_endpoint_aliases":{"token_endpoint":"https://mtls.a.example/token",\
        "pushed_authorization_request_endpoint":"https://mtls.a.example/par","unknown":"x"}
        """)
    }
    let found = try await OAuthServer.discover(server.url, with: Self.session)
    #expect(found.authorizationEndpoint == url("https://a.example/authorize") && found.requiresPushedRequests)
    #expect(found.tokenEndpoint == url("https://a.example/token") && found.pushEndpoint == url("https://a.example/par"))
    #expect(
      found.authenticationMethods == ["private_key_jwt", "tls_client_auth"] && found.proofAlgorithms == ["ES256"])
    #expect(found.bindsTokensToCertificates)
    let other = found.forCertificates
    #expect(other.tokenEndpoint == url("https://mtls.a.example/token"))
    #expect(other.pushEndpoint == url("https://mtls.a.example/par"))
    #expect(other.deviceEndpoint == url("https://a.example/device"))
    #expect(other.authorizationEndpoint == found.authorizationEndpoint)
    #expect(server.requests.map(\.path) == ["/.well-known/oauth-authorization-server"])
  }

  @Test func theDescriptionOfOpenIDConnectIsTheSecondChoice() async throws {
    let server = try LoopbackServer { request in
      request.path == "/.well-known/openid-configuration"
        ? Self.members("http://\(request.fields[.host] ?? "")/") : .status(.notFound)
    }
    let found = try await OAuthServer.discover(server.url, with: Self.session)
    #expect(found.authenticationMethods == ["client_secret_basic"] && found.proofAlgorithms == [])
    #expect(!found.bindsTokensToCertificates && !found.requiresPushedRequests && found.forCertificates == found)
  }

  /// RFC 8414 §3.3: another server must not speak for this one.
  @Test(arguments: [
    (Self.members("https://evil.example"), HTTPError.Kind.authenticationFailed),
    (.text("hello"), .authenticationFailed),
    (.json(#"{"issuer":"x"}"#), .authenticationFailed), (.status(.notFound), .unexpectedResponse),
  ])
  func descriptionsThatCannotBeUsedAreErrors(_ reply: Reply, _ kind: HTTPError.Kind) async throws {
    let server = try LoopbackServer { _ in reply }
    let error = await #expect(throws: HTTPError.self) { try await OAuthServer.discover(server.url, with: Self.session) }
    #expect(error?.kind == kind)
  }

  @Test func theIdentifierMustBeHTTPS() async throws {
    let issuer = url("http://a.example")
    let error = await #expect(throws: HTTPError.self) { try await OAuthServer.discover(issuer, with: Self.session) }
    #expect(error?.kind == .invalidRequest)
  }

  // MARK: - Certificates

  private static func session(
    _ nginx: Nginx, _ name: String?, _ change: (inout SessionConfiguration) -> Void = { _ in }
  ) -> HTTPSession {
    let connection = ConnectionConfiguration.trusting(nginx.authority) { connection in
      connection.tls.clientCertificate = name.map {
        .pem(certificate: nginx.authority.folder.file($0 + ".pem"), key: nginx.authority.folder.file($0 + ".key"))
      }
    }
    var configuration = SessionConfiguration()
    configuration.cache = nil
    change(&configuration)
    return HTTPSession(transport: SocketTransport(connection), configuration: configuration)
  }

  /// RFC 8705 §2 and §3: the certificate of the connection is the client's, and the token's.
  @Test func aTokenIsBoundToTheCertificateOfTheConnection() async throws {
    let nginx = try Nginx.shared.get()
    let client = OAuthClient(
      id: "app", tokenEndpoint: nginx.user("/token"), authentication: .certificate,
      session: Self.session(nginx, "client"))
    let token = try await client.token(by: .clientCredentials())
    #expect(token.value.utf8.count == 40 && token.type == "Bearer")
    for (name, expected) in [("client", HTTPStatus.ok), ("server", .unauthorized), (nil, .unauthorized)] {
      let session = Self.session(nginx, name) {
        $0.credentials = [TokenSource(token, for: .origin(of: nginx.user("/")))]
      }
      #expect(
        try await session.data(for: HTTPRequest(.get, nginx.user("/bound"))).1.status == expected, "\(name ?? "")")
    }
  }

  @Test func aClientWithACertificateNamesItself() async throws {
    let server = try TokenServer { _, _ in TokenServer.token("a") }
    _ = try await server.client(.certificate).token(by: .clientCredentials())
    #expect(server.received == [["grant_type": "client_credentials", "client_id": "app", "path": "/token"]])
  }

  // MARK: - Assertions and pushed requests

  @Test func anAssertionIsMadeForEachRequest() async throws {
    let server = try TokenServer { _, _ in TokenServer.token("a") }
    let numbers = Counter()
    let endpoint = server.server.url("/token")
    let assertion = ClientAssertion(type: "urn:x") { client, place in
      "\(client) \(place == endpoint) \(numbers.next())"
    }
    for number in 1...2 {
      _ = try await server.client(.assertion(assertion)).token(by: .clientCredentials())
      let form = try #require(server.received.last)
      #expect(form["client_assertion"] == "app true \(number)" && form["client_assertion_type"] == "urn:x")
      #expect(form["client_id"] == "app" && form["client_secret"] == nil && form["authorization"] == nil)
    }
    #expect(OAuthClient.Authentication.assertion(assertion) == .assertion(assertion))
    #expect(OAuthClient.Authentication.assertion(assertion) != .assertion(ClientAssertion { _, _ in "" }))
  }

  @Test func anAssertionThatCannotBeMadeIsAnError() async throws {
    let server = try TokenServer { _, _ in TokenServer.token("a") }
    let assertion = ClientAssertion { _, _ in throw CancellationError() }
    let error = await #expect(throws: HTTPError.self) {
      try await server.client(.assertion(assertion)).token(by: .clientCredentials())
    }
    #expect(error?.underlying is CancellationError || error?.isCancelled == true)
    #expect(server.received == [])
  }

  private func logIn(
    _ push: @escaping @Sendable (URL) -> Reply, _ authentication: OAuthClient.Authentication = .none
  ) async throws -> (page: URL?, forms: [TokenServer.Form]) {
    let pages = Log<URL>()
    let server = try TokenServer { form, _ in
      form["path"] == "/par" ? push(url("http://a.example")) : TokenServer.token("a")
    }
    var options = OAuthLogin.BrowserOptions()
    options.pushEndpoint = server.server.url("/par")
    options.scopes = ["read"]
    options.parameters = [(name: "audience", value: "api")]
    let login = OAuthLogin.browser(server.server.url("/authorize?tenant=1"), options: options) { page in
      pages.append(page)
      let form = try #require(server.received.first)
      let callback = url("\(form["redirect_uri"] ?? "")?code=c&state=\(form["state"] ?? "")")
      _ = try await Self.session.data(for: HTTPRequest(.get, callback))
    }
    var client = server.client(authentication)
    client.parameters = [(name: "resource", value: "r")]
    do { _ = try await client.token(by: login) } catch {
      guard pages.entries.isEmpty else { throw error }
      return (nil, server.received)
    }
    return (pages.entries.first, server.received)
  }

  /// RFC 9126 §2.1, §4.
  @Test(arguments: [OAuthClient.Authentication.none, .form(secret: "s"), .basic(secret: "s")])
  func thePageHasOnlyAReferenceToAPushedRequest(_ authentication: OAuthClient.Authentication) async throws {
    let (page, forms) = try await logIn(
      { _ in .json(#"{"request_uri":"urn:ietf:params:oauth:request_uri:6esc","expires_in":60}"#, status: .created) },
      authentication)
    let query = try #require(page?.query(percentEncoded: true))
    #expect(query.hasPrefix("tenant=1&client_id=app&request_uri=urn"))
    #expect(PercentEncoding.form.pairs(in: query).last?.value == "urn:ietf:params:oauth:request_uri:6esc")
    let pushed = forms[0]
    #expect(pushed["response_type"] == "code" && pushed["scope"] == "read" && pushed["audience"] == "api")
    #expect(pushed["client_id"] == "app" && pushed["code_challenge_method"] == "S256" && pushed["resource"] == nil)
    #expect(pushed["client_secret"] == (authentication == .form(secret: "s") ? "s" : nil))
    #expect((pushed["authorization"] != nil) == (authentication == .basic(secret: "s")))
    #expect(forms[1]["code"] == "c" && forms[1]["resource"] == "r" && forms.count == 2)
  }

  @Test(arguments: [
    Reply.json(#"{"error":"invalid_request"}"#, status: .badRequest), .json("{}", status: .created),
    .json(#"{"request_uri":""}"#, status: .created), .text("no", status: .internalServerError),
  ])
  func aPushedRequestThatIsNotAcceptedShowsNoPage(_ reply: Reply) async throws {
    let (page, forms) = try await logIn { _ in reply }
    #expect(page == nil && forms.count == 1)
  }
}
