#if os(Linux)
import MartletEngine
import MartletSemantics
import TestSupport
import Testing

@testable import MartletSockets

/// The handshake with an HTTP proxy that opens a tunnel (RFC 9110 §9.3.6).
struct ConnectHandshakeTests {
  private func run(
    _ answers: [String], to text: String = "https://a.example/", _ credentials: ProxyCredentials? = nil,
    userAgent: String? = nil, pieces: Int = .max, endsEach: Bool = false
  ) throws -> ProxyOutcome {
    let target = try #require(Origin(url(text)))
    var authentication = ProxyAuthentication(credentials) { "client" }
    var handshake = ConnectHandshake(to: target, through: testProxy(credentials), userAgent: userAgent)
    return runProxy(
      answers.map { Array($0.utf8) }, pieces: pieces, endsEach: endsEach,
      begin: { () throws(HTTPError) in
        let token = (authentication.neededTokens as? TestTokens)?.next()
        return try handshake.request(&authentication, token: token)
      },
      receive: { input, position throws(HTTPError) in try handshake.receive(input, from: &position, &authentication) },
      end: { () throws(HTTPError) in try handshake.receiveEnd() })
  }

  private static let plain = "CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\n\r\n"
  private static let basic =
    "CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\nProxy-Authorization: Basic YW5uYTpzZWNyZXQ=\r\n\r\n"
  private static let asksBasic =
    "HTTP/1.1 407 No\r\nProxy-Authenticate: Basic realm=\"x\"\r\nContent-Length: 5\r\n\r\nplain"
  private static let asksDigest =
    "HTTP/1.1 407 No\r\nProxy-Authenticate: Basic realm=\"x\"\r\n"
    + "Proxy-Authenticate: Digest realm=\"squid\", nonce=\"n1\", qop=\"auth\"\r\nContent-Length: 5\r\n\r\nplain"
  private static let ok = "HTTP/1.1 200 Connection established\r\n\r\n"

  // MARK: - The tunnel

  @Test func theRequestNamesHostAndPort() throws {
    let table = [
      ("https://a.example/", "a.example:443"), ("http://a.example/", "a.example:80"),
      ("https://A.example:8443/x?y", "a.example:8443"), ("https://[2001:db8::1]/", "[2001:db8::1]:443"),
      ("http://192.0.2.1:81/", "192.0.2.1:81"), ("https://bücher.example/", "xn--bcher-kva.example:443"),
    ]
    for (text, authority) in table {
      #expect(try run([Self.ok], to: text).texts == ["CONNECT \(authority) HTTP/1.1\r\nHost: \(authority)\r\n\r\n"])
    }
    #expect(try run([Self.ok], userAgent: "martlet/1").texts[0].hasSuffix("\r\nUser-Agent: martlet/1\r\n\r\n"))
  }

  @Test func a2xxOpensTheTunnelWhateverItsFieldsSay() throws {
    let table = [
      "HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.0 200 Connection established\r\n\r\n", "HTTP/1.1 204\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
      "HTTP/1.1 299 OK\nConnection: close\n\n",
      "HTTP/1.1 100 Wait\r\n\r\nHTTP/1.1 102 Wait\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
    ]
    for answer in table {
      let outcome = try run([answer + "SSH-2.0"])
      #expect(outcome.error == nil, "\(answer)")
      #expect(outcome.rest == Array("SSH-2.0".utf8))
    }
  }

  @Test func aRefusalKeepsStatusFieldsAndBody() throws {
    let error = try #require(
      try run(["HTTP/1.1 403 Forbidden\r\nX-Squid: denied\r\nContent-Length: 12\r\n\r\n<b>No!</b>\r\n"]).error)
    #expect(error.kind == .proxyFailed)
    #expect(error.phase == .connecting)
    #expect(
      error.message
        == "a.example: the proxy p.example port 3128 (named by https_proxy): it refused the tunnel with status 403")
    #expect(error.response?.status == .forbidden)
    #expect(error.response?.fields["X-Squid"] == "denied")
    #expect(error.body == Data("<b>No!</b>\r\n".utf8))
  }

  @Test func theBodyOfARefusalIsBounded() throws {
    let long = String(repeating: "x", count: 100_000)
    let endings = ["Content-Length: 1000000000\r\n\r\n", "\r\n", "Transfer-Encoding: chunked\r\n\r\n186a0\r\n"]
    for ending in endings {
      let error = try run(["HTTP/1.1 502 Bad\r\n\(ending)\(long)"]).error
      #expect(error?.response?.status == .badGateway)
      #expect(error?.body?.count == 64 << 10)
    }
    let short = try run(["HTTP/1.1 502 Bad\r\n\r\nup to the end"]).error
    #expect(short?.body == Data("up to the end".utf8))
    let cut = try run(["HTTP/1.1 502 Bad\r\nContent-Length: 100\r\n\r\ncut"]).error
    #expect(cut?.body == Data("cut".utf8))
    #expect(try run(["HTTP/1.1 502 Bad\r\nContent-Length: 0\r\n\r\n"]).error?.body == nil)
  }

  @Test func theOwnerMayEndTheWaitForTheBodyOfARefusal() throws {
    var authentication = ProxyAuthentication(nil)
    var handshake = ConnectHandshake(to: try #require(Origin(origin)), through: testProxy())
    _ = try handshake.request(&authentication)
    #expect(handshake.refusal == nil)
    var position = 0
    let answer = Array("HTTP/1.1 503 No\r\nContent-Length: 100\r\n\r\nbusy".utf8)
    #expect(try handshake.receive(answer.span.bytes, from: &position, &authentication) == .needsMore)
    #expect(handshake.refusal?.response?.status == 503)
    #expect(handshake.refusal?.body == Data("busy".utf8))
  }

  @Test func aResponseThatIsNoHTTPIsAnError() throws {
    let table = [
      ("", "ended before any byte"), ("HTTP/1.1 200 OK\r\nA: b\r\n", "within the response's head"),
      ("SSH-2.0-OpenSSH\r\n", "status line"), ("HTTP/1.1 200 OK\r\nbad line\r\n\r\n", "RFC 9112"),
      ("HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\n", "RFC 9110 §7.8"),
      ("HTTP/1.1 403 No\r\nContent-Length: x\r\n\r\n", "Content-Length"),
      ("HTTP/1.1 200 OK\r\nA: \(String(repeating: "a", count: 70_000))\r\n\r\n", "65536"),
      (String(repeating: "HTTP/1.1 100 Wait\r\n\r\n", count: 101), "100 informational"),
    ]
    for (answer, reason) in table {
      let error = try run([answer]).error
      #expect(error?.kind == .proxyFailed)
      #expect(error?.message.contains(reason) == true, "\(error?.message ?? "no error")")
      #expect(error?.message.hasPrefix("a.example: the proxy p.example port 3128 (named by https_proxy): ") == true)
    }
  }

  // MARK: - Authentication

  @Test func a407IsAnsweredOnTheSameConnection() throws {
    #expect(try run([Self.asksBasic, Self.ok], anna()).texts == [Self.plain, Self.basic])
    let digest = try run([Self.asksDigest, Self.ok], anna()).texts
    #expect(digest.count == 2)
    #expect(
      digest.last?.contains(
        "\r\nProxy-Authorization: Digest username=\"anna\", realm=\"squid\", nonce=\"n1\", uri=\"a.example:443\", "
          + "response=\"64ff039cd2957b8dd6240a1aedd57a34\", qop=auth, nc=00000001, cnonce=\"client\"\r\n") == true)
  }

  @Test func basicAloneIsSentAtOnce() throws {
    #expect(try run([Self.ok], anna([.basic])).texts == [Self.basic])
  }

  @Test func a407IsAnsweredOnAnotherConnectionIfTheProxyClosesThisOne() throws {
    let head = "HTTP/1.1 407 No\r\nProxy-Authenticate: Basic realm=\"x\"\r\n"
    let table = [
      head + "Connection: close\r\nContent-Length: 0\r\n\r\n", head + "\r\nuntil the end",
      head + "Content-Length: 1000000\r\n\r\n", head + "Content-Length: 10\r\n\r\ncut",
      "HTTP/1.0 407 No\r\nProxy-Authenticate: Basic realm=\"x\"\r\nContent-Length: 0\r\n\r\n",
      head + "Transfer-Encoding: chunked\r\n\r\nFFFFF\r\n" + String(repeating: "x", count: 70_000),
    ]
    for answer in table {
      let outcome = try run([answer, Self.ok], anna(), endsEach: true)
      #expect(outcome.texts == [Self.plain, "reconnect", Self.basic], "\(answer.prefix(120))")
      #expect(outcome.error == nil)
    }
  }

  @Test func aConnectionThatEndsUnannouncedAfterA407IsReplacedOnce() throws {
    let outcome = try run([Self.asksBasic, "", Self.ok], anna(), endsEach: true)
    #expect(outcome.texts == [Self.plain, Self.basic, "reconnect", Self.basic])
    #expect(outcome.error == nil)
    // Not a second time, not within a response, and not without a 407.
    for answers in [[Self.asksBasic, "", "", Self.ok], [Self.asksBasic, "HTTP/1.1 2", Self.ok], ["", Self.ok]] {
      let error = try run(answers, anna(), endsEach: true).error
      #expect(error?.kind == .proxyFailed)
      #expect(error?.message.contains("the connection ended") == true, "\(answers)")
    }
  }

  @Test func aConnectionMayEndBeforeTheRequestIsSentAgain() throws {
    var authentication = ProxyAuthentication(anna())
    var handshake = ConnectHandshake(to: try #require(Origin(origin)), through: testProxy(anna()))
    _ = try handshake.request(&authentication)
    var position = 0
    let answer = Array(Self.asksBasic.utf8)
    #expect(try handshake.receive(answer.span.bytes, from: &position, &authentication) == .beginAgain)
    let step = try handshake.receiveEnd()
    #expect(step == .reconnect)
    // The other connection is a new one.
    _ = try handshake.request(&authentication)
    #expect(throws: HTTPError.self) { try handshake.receiveEnd() }
  }

  @Test func theNextTunnelIsAuthenticatedAtOnceWithTheNonceThatTheProxyNamed() throws {
    var authentication = ProxyAuthentication(anna()) { "client" }
    let target = try #require(Origin(url("https://a.example/")))
    var first = ConnectHandshake(to: target, through: testProxy(anna()))
    var second = ConnectHandshake(to: target, through: testProxy(anna()))
    _ = try first.request(&authentication)
    let accepted = "HTTP/1.1 200 OK\r\nProxy-Authentication-Info: nextnonce=\"n2\"\r\n\r\n"
    for answer in [Self.asksDigest, accepted] {
      var position = 0
      let step = try first.receive(Array(answer.utf8).span.bytes, from: &position, &authentication)
      if step == .beginAgain { _ = try first.request(&authentication) }
    }
    let request = String(decoding: try second.request(&authentication), as: UTF8.self)
    #expect(request.contains("nonce=\"n2\""))
    #expect(request.contains("nc=00000001"))
  }

  @Test func aSecond407IsFinal() throws {
    for answer in [Self.asksBasic, Self.asksDigest] {
      let error = try run([answer, answer], anna()).error
      #expect(error?.kind == .proxyFailed)
      #expect(error?.message.contains("status 407: it does not accept the user name and the password") == true)
      #expect(error?.response?.status == 407)
      #expect(error?.body == Data("plain".utf8))
      #expect(error?.description.contains("secret") == false)
    }
  }

  @Test func withoutCredentialsTheErrorNamesTheSchemes() throws {
    let error = try run([Self.asksDigest]).error
    #expect(error?.message.hasSuffix("status 407: it requires a user name and a password (Basic, Digest)") == true)
    #expect(try run([Self.asksBasic], anna([.digest])).error?.kind == .proxyFailed)
  }

  @Test func aTokenAnswersTheChallengeOfItsScheme() throws {
    let asks = "HTTP/1.1 407 No\r\nProxy-Authenticate: NEGOTIATE\r\nContent-Length: 5\r\n\r\nplain"
    func token(_ text: String) -> String {
      "CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\nProxy-Authorization: Negotiate \(text)\r\n\r\n"
    }
    #expect(try run([asks, Self.ok], .tokens(TestTokens())).texts == [Self.plain, token("t1")])
    let closes = "HTTP/1.1 407 No\r\nProxy-Authenticate: Negotiate\r\nConnection: close\r\n\r\n"
    #expect(
      try run([closes, Self.ok], .tokens(TestTokens()), endsEach: true).texts == [Self.plain, "reconnect", token("t1")])
    #expect(
      try run([asks, "", Self.ok], .tokens(TestTokens()), endsEach: true).texts
        == [Self.plain, token("t1"), "reconnect", token("t2")])

    let refused = try run([asks, asks], .tokens(TestTokens()))
    #expect(refused.texts == [Self.plain, token("t1")])
    #expect(refused.error?.message.hasSuffix("status 407: it does not accept the token") == true)

    let other = try run([Self.asksDigest], .tokens(TestTokens()))
    #expect(other.texts == [Self.plain])
    #expect(other.error?.message.hasSuffix("status 407: it does not ask for Negotiate (Basic, Digest)") == true)
  }

  @Test func aUserNameThatBasicCannotTransmitIsAnError() throws {
    let wrong = ProxyCredentials.password(Credential(user: "an:na", password: "secret"), schemes: [.basic])
    let error = try run([], wrong).error
    #expect(error?.kind == .authenticationFailed)
    #expect(error?.message.contains("RFC 7617") == true)
  }

  // MARK: - Pieces

  @Test func everyPieceIsUnderstood() throws {
    let answers = [Self.asksDigest, "HTTP/1.1 100 Wait\r\n\r\n" + Self.ok]
    let whole = try run(answers, anna())
    for size in 1..<Self.asksDigest.utf8.count { #expect(try run(answers, anna(), pieces: size) == whole) }
    let refusal = ["HTTP/1.1 403 No\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"]
    let refused = try run(refusal)
    #expect(refused.error?.body == Data("abcde".utf8))
    for size in 1..<refusal[0].utf8.count { #expect(try run(refusal, pieces: size) == refused) }
  }

  @Test func theEndOfTheConnectionIsAnErrorAtEveryByteOfTheHead() throws {
    for count in 0..<Self.ok.utf8.count {
      let error = try run([String(Self.ok.unicodeScalars.prefix(count).map(Character.init))]).error
      #expect(error?.kind == .proxyFailed)
    }
  }
}
#endif
