#if os(Linux)
import Foundation
import FoundationNetworking
import MartletEngine
import MartletSemantics
import MartletTesting
import SAPFoundation
import Testing

extension SAPURLSession {
  /// A session that trusts the private authority of a server.
  fileprivate static func trusting(
    _ server: PythonTLSServer, delegate: (any SAPURLSessionDelegate)? = nil,
    _ change: (inout ConnectionConfiguration) -> Void = { _ in }
  ) -> SAPURLSession {
    var connection = ConnectionConfiguration()
    connection.tls.additionalAuthorities = server.authority
    change(&connection)
    return SAPURLSession(configuration: plain, connection: connection, delegate: delegate)
  }
}

extension Outcome {
  fileprivate var report: PythonTLSServer.Report? {
    data.flatMap { try? JSONDecoder().decode(PythonTLSServer.Report.self, from: $0) }
  }

  fileprivate var kind: HTTPError.Kind? { (error as? URLError)?.underlyingHTTPError?.kind }
}

/// A session's information about its connections, with Python servers and a private authority.
@Suite(.timeLimit(.minutes(5)))
struct SecureConnectionTests {
  @Test func anAdditionalAuthorityIsTrusted() async throws {
    let server = try PythonTLSServer()

    let refused = await SAPURLSession(configuration: SAPURLSession.plain).outcome(of: server.url(.good))
    let trusted = await SAPURLSession.trusting(server).outcome(of: server.url(.good))

    #expect(refused.code == .serverCertificateUntrusted)
    #expect(trusted.report?.version == "TLSv1.3")
  }

  @Test(arguments: [PythonTLSServer.Kind.expired, .stranger])
  func aCertificateThatIsNotGoodIsRefusedInSpiteOfItsAuthority(kind: PythonTLSServer.Kind) async throws {
    let server = try PythonTLSServer()
    #expect(await SAPURLSession.trusting(server).outcome(of: server.url(kind)).code == .serverCertificateUntrusted)
  }

  @Test func theLeastVersionOfTLSIsObserved() async throws {
    let server = try PythonTLSServer()

    let taken = await SAPURLSession.trusting(server).outcome(of: server.url(.old))
    let refused = await SAPURLSession.trusting(server) { $0.tls.minimumVersion = .v1_3 }.outcome(of: server.url(.old))

    #expect(taken.report?.version == "TLSv1.2")
    #expect(refused.code == .secureConnectionFailed)
  }

  @Test func aClientCertificateIsShownToAServerThatRequiresOne() async throws {
    let server = try PythonTLSServer()
    let session = SAPURLSession.trusting(server) {
      $0.tls.clientCertificate = .pem(certificate: server.file("client.pem"), key: server.file("client.key"))
    }

    #expect(await session.outcome(of: server.url(.client)).report?.client == "client")
    #expect(await SAPURLSession.trusting(server).outcome(of: server.url(.client)).error != nil)
  }

  @Test func aPinnedKeyIsDemanded() async throws {
    let server = try PythonTLSServer()
    let pin = try server.certificate().pin
    func outcome(_ pin: String) async -> Outcome {
      await SAPURLSession.trusting(server) { $0.tls.pinnedPublicKeys = [pin] }.outcome(of: server.url(.good))
    }

    #expect(await outcome(pin).status == 200)
    #expect(await outcome("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=").kind == .pinMismatch)
  }

  @Test func aProxyCarriesPlainAndTunnelledRequests() async throws {
    let server = try PythonTLSServer()
    let plain = try LoopbackServer { request in .text(request.fields["Via"] ?? "direct") }
    let proxy = try Tinyproxy()
    let session = SAPURLSession.trusting(server) { $0.proxy = .http("127.0.0.1", port: proxy.port) }

    #expect(await session.outcome(of: plain.url("/")).text?.contains("tinyproxy") == true)
    #expect(await session.outcome(of: server.url(.good)).status == 200)
    try proxy.waitForLog("CONNECT 127.0.0.1:\(server.port(.good))")
  }

  @Test func theConnectionsProxyOverridesTheConfigurations() async throws {
    let plain = try LoopbackServer { request in .text(request.fields["Via"] ?? "direct") }
    let configuration = SAPURLSession.plain
    configuration.connectionProxyDictionary = ["HTTPEnable": true, "HTTPProxy": "127.0.0.1", "HTTPPort": 1]
    var connection = ConnectionConfiguration()

    let failed = await SAPURLSession(configuration: configuration, connection: connection).outcome(of: plain.url("/"))
    connection.proxy = .direct
    let direct = await SAPURLSession(configuration: configuration, connection: connection).outcome(of: plain.url("/"))

    #expect(failed.error != nil)
    #expect(direct.text == "direct")
  }

  #if os(Linux)
  /// An empty dictionary is one without proxies: the environment's is not used, whatever other settings there are.
  @Test func anEmptyDictionaryMeansNoProxy() async throws {
    let plain = try LoopbackServer { _ in .text("direct") }
    let program = SAPProgram(folder: try TemporaryFolder())
    let environment = ["http_proxy=http://127.0.0.1:1"]
    let url = plain.url("/").absoluteString

    #expect(try await program.run(["direct", url], environment: environment) == "200 direct\n")
    #expect(try await program.run(["ephemeral", url], environment: environment).hasPrefix("0 "))
  }
  #endif

  @Test func whatURLSessionIgnoresIsSaidInTheLog() async throws {
    final class Nothing: URLProtocol {}
    let log = LogCollector.shared
    let configuration = SAPURLSession.plain
    configuration.protocolClasses = [Nothing.self]
    var connection = ConnectionConfiguration()
    connection.tls.minimumVersion = .v1_3
    connection.readAhead = 12_345

    _ = SAPURLSession(configuration: configuration, connection: connection)

    for name in ["tls.minimumVersion", "readAhead"] {
      #expect(log.lines.value.contains { $0.hasSuffix("which ignores connection.\(name)") })
    }
  }
}

/// The questions about servers to observers and the delegate.
@Suite(.timeLimit(.minutes(5)))
struct ServerTrustChallengeTests {
  /// A delegate that answers questions about servers.
  private func delegate(
    _ answer: @escaping @Sendable (SAPServerTrust) -> SAPURLSession.AuthChallengeDisposition
  ) -> (DelegateProbe, Shared<[SAPServerTrust]>) {
    let asked = Shared<[SAPServerTrust]>([])
    let probe = DelegateProbe { probe in
      probe.onChallenge = { challenge in
        guard challenge.protectionSpace.authenticationMethod == SAPServerTrust.authenticationMethod,
          let trust = challenge.protectionSpace.sapServerTrust
        else { return .performDefaultHandling }
        asked.change { $0.append(trust) }
        return answer(trust)
      }
    }
    return (probe, asked)
  }

  @Test func theDelegateIsAskedOnceAndGetsTheCertificate() async throws {
    let server = try PythonTLSServer()
    let (delegate, asked) = delegate { .use(URLCredential(trust: $0)) }
    let session = SAPURLSession.trusting(server, delegate: delegate)

    let first = await session.outcome(of: server.url(.good))
    let second = await session.outcome(of: server.url(.good))

    #expect(first.report?.requests == 1)
    #expect(second.report?.requests == 2)
    #expect(first.report?.connections == second.report?.connections)
    let trust = try #require(asked.value.first)
    #expect(asked.value.count == 1)
    #expect(trust.host == "127.0.0.1")
    #expect(trust.port == server.port(.good))
    #expect(trust.isTrusted)
    #expect(trust.refusal == nil)
    let (der, pin) = try server.certificate()
    #expect(trust.certificates == [der])
    #expect(trust.publicKeyPins == [pin])
  }

  @Test func aServerThatIsRefusedGetsNoRequest() async throws {
    let server = try PythonTLSServer()
    let (delegate, asked) = delegate { _ in .rejectProtectionSpace }
    let session = SAPURLSession.trusting(server, delegate: delegate)

    for _ in 0..<2 {
      let outcome = await session.outcome(of: URLRequest("POST", server.url(.good), body: "secret"))
      #expect(outcome.code == .serverCertificateUntrusted)
    }

    #expect(asked.value.count == 2)
    #expect(await SAPURLSession.trusting(server).outcome(of: server.url(.good)).report?.requests == 1)
  }

  @Test func theErrorOfADelegateThatCancelsIsTheTasks() async throws {
    let server = try PythonTLSServer()
    let (delegate, _) = delegate { _ in .cancel(TestFailure(name: "stranger")) }

    let outcome = await SAPURLSession.trusting(server, delegate: delegate).outcome(of: server.url(.good))

    #expect(outcome.error as? TestFailure == TestFailure(name: "stranger"))
  }

  @Test(arguments: [PythonTLSServer.Kind.expired, .stranger])
  func aServerThatTheSystemRefusesCannotBeAccepted(kind: PythonTLSServer.Kind) async throws {
    let server = try PythonTLSServer()
    let log = LogCollector.shared
    let (delegate, asked) = delegate { .use(URLCredential(trust: $0)) }

    let outcome = await SAPURLSession.trusting(server, delegate: delegate).outcome(of: server.url(kind))

    #expect(outcome.code == .serverCertificateUntrusted)
    let trust = try #require(asked.value.first)
    #expect(asked.value.count == 1)
    #expect(!trust.isTrusted)
    #expect(trust.refusal?.contains(kind == .expired ? "expired" : "127.0.0.1") == true)
    #expect(log.lines.value.contains { $0.contains("127.0.0.1:\(server.port(kind)) has no effect") })
  }

  @Test(arguments: [PythonTLSServer.Kind.expired, .stranger])
  func aServerThatTheSystemRefusesIsUsedForDevelopment(kind: PythonTLSServer.Kind) async throws {
    let server = try PythonTLSServer()
    let log = LogCollector.shared
    let (delegate, asked) = delegate { .use($0.acceptedForDevelopment(at: ["127.0.0.1"])) }
    let session = SAPURLSession.trusting(server, delegate: delegate)

    let first = await session.outcome(of: server.url(kind))
    let second = await session.outcome(of: server.url(kind))

    #expect(first.report?.requests == 1)
    #expect(second.report?.requests == 2)
    #expect(first.report?.connections == second.report?.connections)
    #expect(asked.value.map(\.isTrusted) == [false])
    let name = "127.0.0.1:\(server.port(kind))"
    #expect(log.lines.value.contains { $0.contains("\(name) is used for development although") })
    let other = await SAPURLSession.trusting(server).outcome(of: server.url(kind))
    #expect(other.code == .serverCertificateUntrusted)
  }

  @Test func whatIsAcceptedForDevelopmentIsLimited() async throws {
    let server = try PythonTLSServer()
    let log = LogCollector.shared  // it collects from now on
    func code(
      at hosts: Set<String>, _ change: @escaping (inout ConnectionConfiguration) -> Void = { _ in }
    ) async -> URLError.Code? {
      let (delegate, asked) = delegate { .use($0.acceptedForDevelopment(at: hosts)) }
      let outcome = await SAPURLSession.trusting(server, delegate: delegate, change).outcome(of: server.url(.stranger))
      #expect(asked.value.count == 1)
      return outcome.code
    }
    let certificate = ClientCertificate.pem(certificate: server.file("client.pem"), key: server.file("client.key"))

    #expect(await code(at: ["127.0.0.1"]) == nil)
    #expect(await code(at: ["localhost", "127.0.0.2"]) == .serverCertificateUntrusted)
    #expect(await code(at: ["127.0.0.1"]) { $0.tls.pinnedPublicKeys = ["AAAA"] } == .serverCertificateUntrusted)
    #expect(await code(at: ["127.0.0.1"]) { $0.tls.clientCertificate = certificate } == .serverCertificateUntrusted)
    let lines = log.lines.value.filter {
      $0.contains("127.0.0.1:\(server.port(.stranger)) is not accepted")
    }
    #expect(lines.count { $0.contains("is not one of the hosts") } == 1)
    #expect(lines.count { $0.contains("client certificate") && $0.contains("pinnedPublicKeys") } == 2)
  }

  @Test func theModulesOwnObserversAreNotAskedAboutServers() async throws {
    let server = try PythonTLSServer()
    let session = SAPURLSession.trusting(server)
    session.register(CorrelationObserver())
    session.register(BasicAuthenticationObserver())

    #expect(await session.outcome(of: server.url(.good)).report?.connections == 1)
  }

  @Test func anObserverOfPasswordsLeavesQuestionsAboutConnectionsToTheDelegate() async throws {
    final class Login: BasicCredentialDiscovery {
      let count = Shared(0)

      func provideBasicCredential(
        for url: URL, challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (BasicCredential?, (any Error)?) -> Void
      ) {
        count.change { $0 += 1 }
        completionHandler(BasicCredential(username: "anna", password: "secret"), nil)
      }
    }
    let server = try PythonTLSServer()
    let (delegate, asked) = delegate { _ in .rejectProtectionSpace }
    let session = SAPURLSession.trusting(server, delegate: delegate)
    let login = Login()
    session.register(BasicAuthenticationObserver(credentialDiscovery: login))

    #expect(await session.outcome(of: server.url(.good)).code == .serverCertificateUntrusted)

    #expect(asked.value.count == 1)
    #expect(login.count.value == 0)
  }

  @Test func theConnectionsOwnTrustCheckIsCalledToo() async throws {
    struct Unknown: Error {}
    let server = try PythonTLSServer()
    let (delegate, asked) = delegate { .use(URLCredential(trust: $0)) }
    let session = SAPURLSession.trusting(server, delegate: delegate) { connection in
      connection.tls.serverTrustCheck = { _, _ in throw Unknown() }
    }

    let outcome = await session.outcome(of: server.url(.good))

    #expect(outcome.kind == .untrustedCertificate)
    #expect((outcome.error as? URLError)?.underlyingHTTPError?.underlying is Unknown)
    #expect(asked.value.isEmpty)
  }
}

/// The system's tinyproxy. It writes its log into a named pipe.
private final class Tinyproxy: Sendable {
  let port: Int
  private let folder: TemporaryFolder
  private let process: ChildProcess
  private let pipe: FileHandle
  private let log = Shared("")

  init() throws {
    folder = try TemporaryFolder()
    port = try LoopbackServer { _ in .text("") }.port  // free as soon as the server is gone
    let configuration = """
      Port \(port)
      Listen 127.0.0.1
      Timeout 60
      MaxClients 20
      LogLevel Info
      """
    try folder.write(Data(configuration.utf8), to: "tinyproxy.conf")
    let log = folder.file("log")
    guard mkfifo(log.path, 0o600) == 0 else { throw TestFailure(name: "no named pipe: \(errno)") }
    let script = #"trap '' INT TERM HUP; setsid "$@" >"$0" 2>&1 & server=$!; read -r line; kill -9 -$server"#
    process = try ChildProcess(
      "/bin/sh", ["-c", script, log.path, "/usr/bin/tinyproxy", "-d", "-c", folder.file("tinyproxy.conf").path],
      output: .discarded)
    pipe = try FileHandle(forReadingFrom: log)  // blocks until the other end is open
    try waitForLog("Accepting connections")
  }

  /// Reads the log until it contains a text.
  func waitForLog(_ text: String) throws {
    while !log.value.contains(text) {
      let more = pipe.availableData
      guard !more.isEmpty else { throw TestFailure(name: "tinyproxy has ended: \(log.value)") }
      log.change { $0 += String(decoding: more, as: UTF8.self) }
    }
  }
}
#endif
