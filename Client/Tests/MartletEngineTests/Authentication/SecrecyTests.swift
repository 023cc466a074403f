@_spi(Toolkit) @testable import MartletEngine
import MartletSemantics
import MartletTesting
import Synchronization
import TestSupport
import Testing

/// No description, mirror, event or error contains a password, a token or anything computed from them.
@Suite(.timeLimit(.minutes(5)))
struct SecrecyTests {
  private final class Everything: EventListener {
    private let text = Mutex("")
    var shown: String { text.withLock { $0 } }

    func receive(_ event: Event, in call: Call) {
      let shown = TestSupport.shown(event) + TestSupport.shown(call)
      text.withLock { $0 += shown }
    }
  }

  @Test(arguments: ["Basic realm=r", "Digest realm=r, nonce=n, qop=auth", "Bearer error=invalid_token"])
  func descriptionsContainNoSecrets(_ challenge: String) async throws {
    let listener = Everything()
    let sent = Mutex<[String]>([])
    var configuration = SessionConfiguration()
    configuration.listeners = [listener]
    configuration.credentials = [
      TokenSource(AccessToken("hidden", refreshToken: "hidden"), for: .matching { $0.host == "b.example" }) { _ in
        AccessToken("hidden too")
      },
      PasswordSource(Credential(user: "hidden", password: "hidden"), for: .any),
    ]
    let session = HTTPSession(
      transport: MockTransport { request in
        let value = request.fields[.authorization] ?? ""
        sent.withLock { $0.append(value) }
        return request.url.path == "/fail" && !value.isEmpty
          ? .failure(HTTPError(.connectionLost, "gone")) : .status(.unauthorized, fields: [.wwwAuthenticate: challenge])
      }, configuration: configuration)

    var shown = TestSupport.shown(configuration) + TestSupport.shown(session)
    for text in [
      "http://hidden:hidden@a.example/", "http://b.example/", "http://b.example/fail", "http://hidden@a.example/fail",
    ] {
      let request = HTTPRequest(.get, url(text))
      shown += TestSupport.shown(request)
      do { shown += TestSupport.shown(try await session.data(for: request).1) } catch {
        shown += TestSupport.shown(error)
      }
    }
    shown += listener.shown

    let responses = sent.withLock { $0 }.flatMap { $0.split(separator: " ").dropFirst() }
      .filter { $0.hasPrefix("response=") || !$0.contains("=\"") && $0.count > 12 }
    #expect(shown.contains("http://a.example/fail"))
    #expect(sent.withLock { $0 }.contains { !$0.isEmpty })
    #expect(!shown.contains("hidden"))
    #expect(challenge.hasPrefix("Bearer") || !responses.isEmpty)
    #expect(responses.allSatisfy { !shown.contains($0) })
  }

  /// Public values with a secret, each in the form in which a program makes or gets it.
  private static func values() throws -> [(name: String, value: any Sendable)] {
    let target = url("http://hidden:hidden@a.example/x?token=hidden")
    let request = HTTPRequest(
      .post, target, fields: [.authorization: "Bearer hidden", .cookie: "a=hidden"], body: .data(Data("hidden".utf8)))
    let response = ResponseHead(status: .ok, fields: [.setCookie: "a=hidden", "X-CSRF-Token": "hidden"])
    let cookie = Cookie(name: "a", value: "hidden", domain: "a.example")
    let credential = Credential(user: "hidden", password: "hidden")
    let challenge = try #require(
      AuthenticationChallenge.challenges(in: [.wwwAuthenticate: "Negotiate hidden"]).first)
    var configuration = SessionConfiguration()
    configuration.credentials = [
      PasswordSource(credential, for: .any), TokenSource(AccessToken("hidden"), for: .any),
    ]
    configuration.fields = [.authorization: "hidden"]
    var jarAndStore: [(String, any Sendable)] = []
    if let jar = configuration.cookies { jarAndStore.append(("CookieJar", jar)) }
    return try jarAndStore + connectionValues() + [
      ("AccessToken", AccessToken("hidden", refreshToken: "hidden")), ("AuthenticationChallenge", challenge),
      ("AttemptRecord", AttemptRecord(request: request.head, response: response, reason: "again")),
      ("Attempt", Attempt(number: 1, request: request, sent: request, history: [])), ("Cookie", cookie),
      ("Credential", credential),
      (
        "DownloadResumption",
        DownloadResumption(
          url: target, file: URL(filePath: "/tmp/x"), byteCount: 1, size: 2, validator: "\"v\"", identity: nil)
      ),
      ("FileDownload", FileDownload(request, to: URL(filePath: "/tmp/x"))),
      (
        "FileDownload.Update",
        FileDownload.Update.ended(0, .success(HTTPResponse(status: .ok, fields: response.fields, url: target)))
      ),
      ("HTTPFields", request.fields), ("HTTPRequest", request),
      ("HTTPResponse", HTTPResponse(status: .ok, fields: response.fields, url: target)),
      ("HTTPError", HTTPError(.other, "x").addingContext(request: request.head, response: response, history: [])),
      ("Netrc", try Netrc(parsing: "default login hidden password hidden")),
      ("Proxy", Proxy.http("proxy.example", port: 1).authenticated(user: "hidden", password: "hidden")),
      ("RequestBody", request.body), ("RequestHead", request.head), ("ResponseHead", response),
      ("Rejection", try #require(Rejection(of: request, by: response))), ("SessionConfiguration", configuration),
      ("HTTPSession", HTTPSession(transport: MockTransport { _ in .text("") }, configuration: configuration)),
      (
        "ServerSentEvents",
        HTTPSession(transport: MockTransport { _ in .text("") }, configuration: configuration).events(for: request)
      ),
      ("DefaultFieldsInterceptor", DefaultFieldsInterceptor([.authorization: "hidden"])),
    ]
  }

  /// Values of connections: keys in memory, and a store that has other values, too.
  private static func connectionValues() throws -> [(name: String, value: any Sendable)] {
    let secret = Data("hidden".utf8)
    let certificate = ClientCertificate.pem(certificate: secret, key: secret, password: "hidden")
    var connection = ConnectionConfiguration()
    connection.tls.clientCertificate = certificate
    let settings = TLSSettings.OriginSettings(clientCertificate: .pkcs12(data: secret, password: "hidden"))
    connection.tls.originSettings = { _ in settings }
    let store = MemoryKeyValueStore()
    store.set(secret, for: "token")
    var options = RequestOptions()
    (options.maximumRate, options.minimumRate) = (RateShare(bytesPerSecond: 1), MinimumRate(bytesPerSecond: 1))
    return [
      ("ClientCertificate", certificate), ("TLSSettings", connection.tls), ("TLSSettings.OriginSettings", settings),
      ("ConnectionConfiguration", connection), ("MemoryKeyValueStore", store),
      ("StrictTransportSecurity", StrictTransportSecurity(store: store)), ("RequestOptions", options),
    ]
  }

  @Test func publicValuesShowNoSecrets() throws {
    for (name, value) in try Self.values() { #expect(!showsSecret(value), "\(name)") }
  }

  /// A cookie and a token are encoded for a store; a resumption may be kept anywhere.
  @Test func aResumptionIsEncodedWithoutThePasswordOfItsURL() throws {
    let target = url("http://anna:hidden@a.example/x?y")
    let resumption = DownloadResumption(
      url: target, file: URL(filePath: "/tmp/x"), byteCount: 1, size: 2, validator: "\"v\"", identity: nil)
    let text = String(decoding: try JSONEncoder().encode(resumption), as: UTF8.self)

    #expect(!text.contains("hidden") && !text.contains("anna"))
    #expect(resumption.url == url("http://a.example/x?y"))
    #expect(resumption.isDownload(of: target))
  }

  @Test func theDumpOfABodyDoesNotContainItsBytes() {
    var dumped = ""
    dump(HTTPRequest(.post, origin, body: .data(Data("hidden".utf8))), to: &dumped)
    let lines = dumped.split(separator: "\n")
    #expect(!lines.contains { $0.hasSuffix("- 104") })
    #expect(lines.contains { $0.contains("a body of 6 bytes") })
  }
}
