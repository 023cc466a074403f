#if os(Linux)
import MartletEngine
import MartletSemantics
import MartletTesting
import Synchronization
import TestServers
import TestSupport
import Testing

@testable import MartletSockets

/// Client certificates and pins that the caller returns for each connection, with two servers. Each accepts only
/// clients of its own authority.
@Suite(.timeLimit(.minutes(5)))
struct OriginSettingsTests {
  private static let servers = Result { (try ClientAuthorityServer(), try ClientAuthorityServer()) }

  private let first: ClientAuthorityServer
  private let second: ClientAuthorityServer

  private typealias Settings = TLSSettings.OriginSettings
  private struct Locked: Error {}

  init() throws { (first, second) = try Self.servers.get() }

  private func transport(
    _ change: (inout ConnectionConfiguration) -> Void = { _ in },
    settings: @escaping @Sendable (Origin) async throws -> TLSSettings.OriginSettings?
  ) -> SocketTransport {
    var configuration = ConnectionConfiguration()
    configuration.proxy = .direct
    configuration.tls.authorities = first.authority.certificate
    configuration.tls.additionalAuthorities = second.authority.certificate
    configuration.tls.originSettings = settings
    change(&configuration)
    return SocketTransport(configuration)
  }

  private func text(_ transport: SocketTransport, _ url: URL) async throws -> String {
    let response = try await transport.send(HTTPRequest(.get, url), in: Call())
    return String(decoding: try await response.body.collect(upTo: 1 << 20), as: UTF8.self)
  }

  private func failure(_ transport: SocketTransport, _ url: URL) async throws -> HTTPError {
    let error = await #expect(throws: (any Error).self) { _ = try await text(transport, url) }
    return HTTPError(wrapping: try #require(error))
  }

  // MARK: - Certificates

  @Test func eachOriginGetsItsOwnCertificate() async throws {
    let (first, second) = (first, second)
    let asked = Mutex<[Origin]>([])
    let transport = transport { origin in
      asked.withLock { $0.append(origin) }
      let server = origin.port == first.url.port ? first : second
      return Settings(clientCertificate: server.clientCertificate)
    }

    for _ in 0..<3 {
      #expect(try await text(transport, first.url) == "new")
      #expect(try await text(transport, second.url) == "new")
    }

    // once for each connection
    #expect(asked.withLock { $0 } == [first.url, second.url].compactMap { Origin($0) })
  }

  @Test func aCertificateOfAnotherAuthorityIsRefusedByTheServer() async throws {
    let second = second
    let transport = transport { _ in Settings(clientCertificate: second.clientCertificate) }
    let error = try await failure(transport, first.url)
    #expect(error.kind == .badClientCertificate)
    #expect(error.message.contains("server"), "\(error.message)")  // it, and not this program, refuses it
    #expect(try await text(transport, second.url) == "new")
  }

  @Test func theAnswerTakesThePlaceOfTheSettings() async throws {
    let first = first
    let isGiven = Mutex(false)
    let transport = transport {
      $0.idleLifetime = .zero  // each request has its own connection
      $0.tls.clientCertificate = first.clientCertificate
    } settings: { _ in
      isGiven.withLock { $0 } ? Settings() : nil
    }

    #expect(try await text(transport, first.url) == "new")
    isGiven.withLock { $0 = true }
    _ = try await failure(transport, first.url)
    isGiven.withLock { $0 = false }
    #expect(try await text(transport, first.url) == "resumed")
  }

  @Test func sessionsAreResumedForEqualAnswersOnly() async throws {
    let folder = first.authority.folder
    let answers = [
      first.clientCertificate, .pkcs12(file: folder.file("client.p12"), password: TestAuthority.password),
    ]
    let current = Mutex(0)
    let transport = transport {
      $0.idleLifetime = .zero
    } settings: { _ in
      Settings(clientCertificate: answers[current.withLock { $0 }])
    }
    var texts: [String] = []

    for index in [0, 0, 1, 1, 0] {
      current.withLock { $0 = index }
      texts.append(try await text(transport, first.url))
    }

    #expect(texts == ["new", "resumed", "new", "resumed", "resumed"])
  }

  @Test func aCertificateThatCannotBeReadIsAnErrorUntilItCan() async throws {
    let folder = try TemporaryFolder()
    let source = first.authority.folder
    let transport = transport { _ in
      Settings(clientCertificate: .pem(certificate: folder.file("a.pem"), key: folder.file("a.key")))
    }

    let error = try await failure(transport, first.url)
    #expect(error.kind == .badClientCertificate)
    #expect(error.message.contains("a.pem"))

    try folder.write(Data(contentsOf: source.file("client.pem")), to: "a.pem")
    try folder.write(Data(contentsOf: source.file("client.key")), to: "a.key")
    #expect(try await text(transport, first.url) == "new")
  }

  // MARK: - Pins

  @Test func theServersKeyNeedsAPinOfItsOrigin() async throws {
    let (first, second) = (first, second)
    let pin = try first.authority.pin(of: "server")
    let transport = transport {
      $0.tls.pinnedPublicKeys = ["none"]
    } settings: { origin in
      let server = origin.port == first.url.port ? first : second
      return Settings(clientCertificate: server.clientCertificate, pinnedPublicKeys: [pin])
    }

    #expect(try await text(transport, first.url) == "new")
    let error = try await failure(transport, second.url)
    #expect(error.kind == .pinMismatch)
    #expect(error.phase == .securing)
  }

  // MARK: - Failures

  @Test func anErrorOfTheProgramFailsTheRequest() async throws {
    let errors: [any Error] = [Locked(), HTTPError(.authenticationFailed, "no card"), CancellationError()]
    let next = Mutex(0)
    let transport = transport { _ in throw errors[next.withLock { $0 }] }

    let foreign = try await failure(transport, first.url)
    #expect(foreign.kind == .tlsFailed)
    #expect(foreign.phase == .securing)
    #expect(foreign.underlying is Locked)
    #expect(foreign.message == "127.0.0.1:\(first.url.port ?? 0): the program's originSettings failed")

    next.withLock { $0 = 1 }
    let own = try await failure(transport, first.url)
    #expect(own.kind == .authenticationFailed && own.message == "no card")

    next.withLock { $0 = 2 }
    #expect(try await failure(transport, first.url).isCancelled)
  }

  /// Waits until its task is cancelled, and then opens the gate.
  private static func hang(telling cancelled: Gate) async throws -> Settings? {
    try await withTaskCancellationHandler {
      try await Gate().wait()
      return nil
    } onCancel: {
      cancelled.open()
    }
  }

  @Test func anAnswerThatDoesNotComeIsLimitedByTheTimeForConnecting() async throws {
    let cancelled = Gate()
    let transport = transport {
      $0.connectTimeout = .milliseconds(100)
    } settings: { _ in
      try await Self.hang(telling: cancelled)
    }

    // on a busy machine the time may be over before the closure is called
    while true {
      let error = try await failure(transport, first.url)
      #expect(error.kind == .connectTimeout)
      guard error.message.contains("originSettings") else { continue }
      #expect(error.phase == .securing)
      break
    }

    try await cancelled.wait()
  }

  @Test func aCancelledRequestDoesNotWaitForTheAnswer() async throws {
    let asked = Gate(), cancelled = Gate()
    let first = first
    let transport = transport { _ in
      guard asked.isOpen else {
        asked.open()
        return try await Self.hang(telling: cancelled)
      }
      return Settings(clientCertificate: first.clientCertificate)
    }
    let request = Task { try await text(transport, first.url) }
    try await asked.wait()

    request.cancel()

    let error = await #expect(throws: (any Error).self) { try await request.value }
    #expect(HTTPError(wrapping: try #require(error)).isCancelled)
    try await cancelled.wait()
    #expect(try await text(transport, first.url) == "new")
  }

  /// An answer for which nothing waits any more has no effect.
  @Test func anAnswerThatComesTooLateIsNotUsed() async throws {
    let asked = Gate(), isOver = Gate(), returned = Gate()
    let first = first
    let transport = transport { _ in
      if !asked.isOpen {
        asked.open()
        // in a separate task, which is not cancelled
        try await Task { try await isOver.wait() }.value
        returned.open()
      }
      return Settings(clientCertificate: first.clientCertificate)
    }
    let request = Task { try await text(transport, first.url) }
    try await asked.wait()
    request.cancel()
    await #expect(throws: (any Error).self) { try await request.value }

    isOver.open()
    try await returned.wait()

    #expect(try await text(transport, first.url) == "new")
  }

  /// Sends a line before the client has sent anything, and then ends the connection if its argument says so.
  private static let talkativeServer = #"""
    import socket, sys
    listener, connections = socket.create_server(("127.0.0.1", int(sys.argv[1]))), []
    while True:
      connection = listener.accept()[0]
      if sys.argv[2] == "talk": connection.sendall(b"220 hello\r\n")
      connections.append(connection)
      if sys.argv[2] == "end": connection.shutdown(socket.SHUT_WR)
    """#

  @Test(arguments: [
    ("talk", HTTPError.Kind.tlsFailed, "sent bytes before the TLS handshake"),
    ("end", .connectionLost, "the connection ended before it could be used"),
  ])
  func aServerThatDoesNotWaitForTheAnswerIsNotWaitedFor(
    _ mode: String, _ kind: HTTPError.Kind, _ message: String
  ) async throws {
    let cancelled = Gate(), port = try LocalPort.free()
    let process = try RealProcess("python3", ["-c", Self.talkativeServer, "\(port)", mode], port: port)
    defer { withExtendedLifetime(process) {} }
    let transport = transport {
      $0.connectTimeout = nil
    } settings: { _ in
      try await Self.hang(telling: cancelled)
    }

    let error = try await failure(transport, url("https://127.0.0.1:\(port)/"))

    #expect(error.kind == kind)
    #expect(error.message.contains(message), "\(error.message)")
    try await cancelled.wait()
  }

  // MARK: - ToolEnvironment

  @Test func connectionsAheadOfRequestsAskToo() async throws {
    let first = first
    let count = Mutex(0)
    let transport = transport { _ in
      count.withLock { $0 += 1 }
      return Settings(clientCertificate: first.clientCertificate)
    }

    try await transport.preconnect(to: first.url)

    #expect(count.withLock { $0 } == 1)
    #expect(try await text(transport, first.url) == "new")
    #expect(count.withLock { $0 } == 1)
  }

  @Test func withoutTLSTheProgramIsNotAsked() async throws {
    let server = try LoopbackServer { _ in .text("plain") }
    let transport = transport { _ in throw Locked() }
    #expect(try await text(transport, server.url) == "plain")
  }

  /// The last 64 answers are kept, so that an origin whose answers always differ needs no more memory.
  @Test func theAnswersThatAreKeptAreLimited() async throws {
    let number = Mutex(0)
    var settings = TLSSettings()
    settings.authorities = first.authority.certificate
    settings.originSettings = { _ in Settings(pinnedPublicKeys: ["\(number.withLock { $0 })"]) }
    let identity = TLSIdentity(settings, within: nil)
    let origin = try #require(Origin(first.url))
    weak var oldest: TLSContext?
    do { oldest = try await identity.context(for: origin).context }

    for next in 1..<64 {
      number.withLock { $0 = next }
      _ = try await identity.context(for: origin)
    }
    #expect(oldest != nil)
    number.withLock { $0 = 0 }
    #expect(try await identity.context(for: origin).context === oldest)
    weak var second: TLSContext?
    number.withLock { $0 = 1 }
    do { second = try await identity.context(for: origin).context }
    for next in 64..<128 {
      number.withLock { $0 = next }
      _ = try await identity.context(for: origin)
    }
    #expect(oldest == nil && second == nil)
  }
}
#endif
