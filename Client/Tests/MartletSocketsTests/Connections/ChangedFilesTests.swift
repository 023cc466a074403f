#if os(Linux)
import Foundation
import MartletEngine
import MartletSemantics
import MartletTesting
import Synchronization
import TestServers
import TestSupport
import Testing

@testable import MartletSockets

/// Files of client certificates and authorities that change while a session lives. The server replaces its own
/// authority with its certificate, and accepts only clients of the current one.
@Suite(.timeLimit(.minutes(5)))
struct ChangedFilesTests {
  private static let authorities = Result { try (0..<3).map { _ in try TestAuthority() } }

  private let authorities: [TestAuthority]
  private let folder: TemporaryFolder
  private let server: RotatingAuthorityServer
  private let notes = Notes()

  /// The notes of a session's calls.
  private final class Notes: EventListener {
    let texts = Mutex<[String]>([])
    let events: Event.Kinds = .note

    func receive(_ event: Event, in call: Call) {
      if case .note(let text) = event { texts.withLock { $0.append(text) } }
    }

    /// Returns the notes since the last call.
    func take() -> [String] {
      texts.withLock { texts in
        defer { texts = [] }
        return texts
      }
    }
  }

  init() throws {
    authorities = try Self.authorities.get()
    folder = try TemporaryFolder()
    server = try RotatingAuthorityServer(folder)
    try rotate(to: 0)
  }

  /// Replaces the files of the server and the client, one by one.
  private func rotate(to number: Int) throws {
    for name in ["server.pem", "server.key", "ca.pem", "client.pem", "client.key"] { try replace(name, by: number) }
    try replace(Data("\(number)".utf8), in: "name")
  }

  private func replace(_ name: String, by number: Int) throws {
    try replace(try Data(contentsOf: authorities[number].folder.file(name)), in: name)
  }

  private func replace(_ content: Data, in name: String) throws {
    try content.write(to: folder.file(name), options: .atomic)
  }

  private func session(
    _ change: (inout ConnectionConfiguration) -> Void = { _ in }
  ) -> (session: HTTPSession, transport: SocketTransport) {
    var connection = ConnectionConfiguration()
    connection.proxy = .direct
    connection.tls.authorities = folder.file("ca.pem")
    connection.tls.clientCertificate = .pem(certificate: folder.file("client.pem"), key: folder.file("client.key"))
    change(&connection)
    let transport = SocketTransport(connection)
    var configuration = SessionConfiguration()
    configuration.listeners = [notes]
    return (HTTPSession(transport: transport, configuration: configuration), transport)
  }

  /// The number of the authority that the server had when the connection was opened.
  private func authority(_ session: HTTPSession) async throws -> String {
    String(decoding: try await session.data(for: HTTPRequest(.get, server.url)).0, as: UTF8.self)
  }

  @Test func aNewConnectionUsesTheNewFiles() async throws {
    let (session, transport) = session()
    #expect(try await authority(session) == "0")
    try rotate(to: 1)

    // the open connection stays as it is
    #expect(try await authority(session) == "0")
    #expect(notes.take() == [])
    await session.drainConnections()
    #expect(try await authority(session) == "1")

    let notes = notes.take()
    #expect(notes.count == 2)
    #expect(notes.last?.hasSuffix(": files of tls have changed and were read again") == true, "\(notes)")
    #expect(await transport.statistics().values.map(\.opened) == [2])
  }

  /// The connection with the former files serves its request and then no other.
  @Test func formerConnectionsEndTheirRequests() async throws {
    let (session, transport) = session()
    let (body, _) = try await session.bytes(for: HTTPRequest(.get, server.url.appending(path: "long")))
    try rotate(to: 1)

    #expect(try await authority(session) == "1")

    #expect(try await body.collect(upTo: 1 << 24).count == 8_000_000)
    try await until { await transport.statistics().values.first.map { $0.active == 0 && $0.idle == 1 } == true }
    #expect(try await authority(session) == "1")
    #expect(await transport.statistics().values.map(\.opened) == [2])
  }

  /// The files of a pair are replaced one after the other.
  @Test func filesThatDoNotMatchLeaveTheFormerOnesInUse() async throws {
    let (session, _) = session()
    #expect(try await authority(session) == "0")
    try replace("client.key", by: 1)

    for _ in 0..<2 {
      await session.closeIdleConnections()
      #expect(try await authority(session) == "0")
      let notes = notes.take()
      #expect(notes.count == 1)
      #expect(
        notes.first?.contains("files of tls have changed and cannot be used, so the earlier ones stay in use") == true)
    }

    try rotate(to: 1)
    await session.closeIdleConnections()
    #expect(try await authority(session) == "1")
  }

  @Test func aDamagedOrMissingFileLeavesTheFormerOnesInUse() async throws {
    let (session, _) = session()
    #expect(try await authority(session) == "0")
    for content in [Data("half a certif".utf8), nil] {
      if let content {
        try replace(content, in: "client.pem")
      } else {
        try FileManager.default.removeItem(at: folder.file("client.pem"))
      }
      await session.closeIdleConnections()
      #expect(try await authority(session) == "0")
      #expect(notes.take().first?.contains("client.pem") == true)
    }
  }

  /// Only the file of the authorities names the server's new authority; there is no client certificate in a file.
  @Test func authoritiesAreReadAgain() async throws {
    let certificate = try ["client.pem", "client.key"].map { try Data(contentsOf: authorities[0].folder.file($0)) }
    let (session, _) = session { $0.tls.clientCertificate = .pem(certificate: certificate[0], key: certificate[1]) }
    #expect(try await authority(session) == "0")
    for name in ["server.pem", "server.key"] { try replace(name, by: 1) }
    await session.closeIdleConnections()
    await #expect(throws: HTTPError.self) { try await authority(session) }

    // the server still accepts clients of the first authority
    let both = try authorities[0...1].map { try Data(contentsOf: $0.certificate) }
    try replace(both[1] + both[0], in: "ca.pem")
    #expect(try await authority(session) == "0")
  }

  @Test func theFilesOfAnOriginsSettingsAreReadAgain() async throws {
    let folder = folder
    let (session, _) = session {
      $0.tls.clientCertificate = nil
      $0.tls.originSettings = { _ in
        TLSSettings.OriginSettings(
          clientCertificate: .pem(certificate: folder.file("client.pem"), key: folder.file("client.key")))
      }
    }
    #expect(try await authority(session) == "0")
    try rotate(to: 2)
    await session.closeIdleConnections()
    #expect(try await authority(session) == "2")
    #expect(notes.take().count == 1)
  }

  /// A certificate that comes from elsewhere: the program returns another one for later connections.
  @Test func aProgramGivesTheCertificateOfEachConnection() async throws {
    let current = Mutex(0)
    let authorities = authorities
    let (session, _) = session {
      $0.tls.clientCertificate = nil
      $0.tls.originSettings = { _ in
        let folder = authorities[current.withLock { $0 }].folder
        return TLSSettings.OriginSettings(
          clientCertificate: .pem(
            certificate: try Data(contentsOf: folder.file("client.pem")),
            key: try Data(contentsOf: folder.file("client.key"))))
      }
    }
    #expect(try await authority(session) == "0")
    try rotate(to: 1)
    current.withLock { $0 = 1 }
    await session.closeIdleConnections()
    #expect(try await authority(session) == "1")
  }

  @Test func manyConnectionsAtOnceReadTheFilesOnce() async throws {
    let (session, _) = session()
    #expect(try await authority(session) == "0")
    try rotate(to: 1)
    await session.closeIdleConnections()

    let texts = try await withThrowingTaskGroup(of: String.self) { group in
      for _ in 0..<20 { group.addTask { try await authority(session) } }
      return try await group.reduce(into: Set()) { $0.insert($1) }
    }

    #expect(texts == ["1"])
  }
}

/// An HTTP/1.1 server over TLS that reads its certificate and the authority of its clients for each connection from a
/// folder, and answers with the content of the file `name` at that time; to `/long` with 8 MB.
private final class RotatingAuthorityServer: Sendable {
  let url: URL
  private let process: RealProcess

  init(_ folder: TemporaryFolder) throws {
    let port = try LocalPort.free()
    process = try RealProcess("python3", ["-c", Self.script, "\(port)", folder.url.path], port: port)
    url = TestSupport.url("https://127.0.0.1:\(port)/")
  }

  private static let script = #"""
    import os, socket, ssl, sys, threading
    os.chdir(sys.argv[2])

    def serve(plain):
      try:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain("server.pem", "server.key")
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations("ca.pem")
        name = open("name", "rb").read()
        connection = context.wrap_socket(plain, server_side=True)
        received = b""
        while part := connection.recv(65536):
          received += part
          if not received.endswith(b"\r\n\r\n"): continue
          text = bytes(8000000) if received.startswith(b"GET /long") else name
          received = b""
          connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(text), text))
      except (OSError, ValueError): pass
      plain.close()

    listener = socket.create_server(("127.0.0.1", int(sys.argv[1])), backlog=128)
    while True: threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
    """#
}
#endif
