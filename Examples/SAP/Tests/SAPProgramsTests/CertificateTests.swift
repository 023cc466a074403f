#if os(Linux)
import Foundation
import FoundationNetworking
import Martlet
import MartletTesting
import SAPFoundation
import SAPFoundationTesting
import SAPPrograms
import Synchronization
import Testing

private let programs = CertificateFront.programs + ["curl"]
private let areInstalled = programs.allSatisfy { (try? ChildProcess.path(of: $0)) != nil }

@Suite(
  "Client certificates of the gateway", .timeLimit(.minutes(5)),
  .enabled(if: areInstalled, "needs \(programs.joined(separator: ", "))"))
struct CertificateTests {
  private let gateway: SAPGateway
  private let front: CertificateFront

  init() throws {
    gateway = try ExampleGateway.start()
    front = try CertificateFront(for: gateway.url)
  }

  private func target(_ path: String) throws -> URL { try #require(URL(string: "\(front.url)\(path)")) }

  /// Runs commands in a shell, and returns what they print.
  private func output(of commands: String) throws -> String {
    let shell = try ChildProcess("bash", ["-c", commands], output: .readWithErrors)
    return String(decoding: shell.readToEnd(), as: UTF8.self)
  }

  private var connection: ConnectionConfiguration {
    var connection = ConnectionConfiguration()
    connection.tls.authorities = front.authority
    return connection
  }

  /// Loads a target as anna.
  private func load(_ path: String, _ session: SAPURLSession) async throws -> (Data, Int?) {
    var request = URLRequest(url: try target(path))
    request.setValue("Basic " + Data("anna:secret".utf8).base64EncodedString(), forHTTPHeaderField: "Authorization")
    let (data, response) = try await session.data(for: request)
    return (data, (response as? HTTPURLResponse)?.statusCode)
  }

  @Test func theCommandInTheGreetingWorks() throws {
    let command = try #require(front.greeting.split(separator: "\n").first { $0.contains("curl") })

    let text = try output(of: "\(command) -sS -w ' %{http_code}'")

    #expect(text.contains(#""Customer":"Anna""#) && text.hasSuffix(" 200"), "\(text)")
    #expect(front.greeting.contains("\(front.container.path), password \(front.password)\n"))
  }

  @Test(arguments: ["1.2", "1.3"]) func withoutACertificateTheHandshakeFails(_ version: String) throws {
    let text = try output(
      of: "curl -sS --tls-max \(version) --cacert '\(front.authority.path)' \(front.url)/ -w ' %{http_code}'")

    #expect(text.contains("alert") && text.hasSuffix(" 000"), "\(text)")
  }

  @Test func aCertificateOfAnotherAuthorityIsRefused() throws {
    let other = try CertificateFront(for: gateway.url)

    let text = try output(
      of: "curl -sS --cacert '\(front.authority.path)' --cert '\(other.client.path)' \(front.url)/ -w ' %{http_code}'")

    #expect(text.contains("alert") && text.hasSuffix(" 000"), "\(text)")
  }

  @Test func theContainerIsForASessionsChallenge() async throws {
    let session = SAPURLSession(configuration: .ephemeral, connection: connection)
    session.register(CertificateObserver(SAPClientCertificate(pkcs12: front.container, password: front.password)))

    let (data, status) = try await load("/odata/v4/Orders", session)

    #expect(status == 200)
    #expect(String(decoding: data, as: UTF8.self).contains("O'Neil"))
  }

  @Test func theContainerIsAUsersIdentity() async throws {
    let session = SAPURLSession(configuration: .ephemeral, connection: connection)
    let enrolment = Enrolment(try Data(contentsOf: front.container))
    session.register(UserIdentityObserver(userIdentityDiscovery: enrolment, password: front.password))

    #expect(try await load("/odata/v4/Orders", session).1 == 200)
    #expect(try await load("/odata/v2/Orders", session).1 == 200)
    #expect(enrolment.calls.withLock { $0 } == 1)
  }

  @Test func aSessionWithoutOneIsRefused() async throws {
    let session = SAPURLSession(configuration: .ephemeral, connection: connection)

    let error = await #expect(throws: URLError.self) { try await load("/odata/v4/Orders", session) }

    #expect(error?.underlyingHTTPError?.kind == .tlsFailed)
    #expect(error?.localizedDescription.contains("the server requires a client certificate") == true)
  }

  @Test func manyConnectionsAtOnceCarryAllBytes() throws {
    let picture = "/backend/Images('It''s%20coffee')/%24value"
    let curl = "curl -sS -u anna:secret --cacert '\(front.authority.path)' --cert '\(front.client.path)'"

    let text = try output(
      of: """
        for number in {1..12}; do \(curl) "\(front.url)\(picture)?n=$number" | cksum & done; wait
        cksum < '\(ExampleGateway.photo.path)'
        """)
    let lines = text.split(separator: "\n")

    #expect(lines.count == 13)
    #expect(Set(lines).count == 1, "\(text)")
  }

  @Test(arguments: [
    ("truncated", "18"), ("hang-up", "52"), ("reset", "56"), ("saml", "0"),
  ])
  func faultsOfConnectionsPassTheFront(_ fault: String, _ code: String) throws {
    let curl = "curl -s -o /dev/null -u anna:secret --cacert '\(front.authority.path)' --cert '\(front.client.path)'"
    let plain = try output(
      of: "curl -s -o /dev/null -u anna:secret -H 'X-SAP-Fault: \(fault)' \(gateway.url)/odata/v4/Orders; echo $?")

    let text = try output(of: "\(curl) -H 'X-SAP-Fault: \(fault)' \(front.url)/odata/v4/Orders; echo $?")

    #expect(text == "\(code)\n")
    #expect(plain == text)
  }

  @Test func theFilesAreTheUsersAndEndWithTheFront() throws {
    var front: CertificateFront? = try CertificateFront(for: gateway.url)
    let folder = try #require(front?.container.deletingLastPathComponent())
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
    func mode(_ file: URL) throws -> Int? {
      try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? Int
    }

    #expect(names == ["authority.pem", "authority.srl", "client.p12", "client.pem", "server.pem"])
    #expect(try mode(folder) == 0o700)
    for name in names { #expect(try mode(folder.appending(path: name)) == 0o600) }
    front = nil
    #expect(!FileManager.default.fileExists(atPath: folder.path))
  }

  /// The server answers when its client has sent everything.
  @Test func anEndInOneDirectionLeavesTheOtherOpen() throws {
    let folder = try TemporaryFolder()
    try folder.write(Data(Self.halfClosing.utf8), to: "try.py")

    let text = try output(
      of: "cd '\(folder.url.path)' && mkdir files && python3 try.py '\(ExampleGateway.folder.path)/tls-front.py'")

    #expect(text == "6000000 True\n6000000 True\n")
  }

  /// A connection to the front lasts as long as the front.
  @Test func theFrontAndItsFilesEndWithTheReaderOfItsOutput() throws {
    let folder = try TemporaryFolder()
    let script = ExampleGateway.folder.appending(path: "tls-front.py")

    let text = try output(
      of: """
        cd '\(folder.url.path)' && mkdir files && mkfifo port end
        python3 '\(script.path)' 9 files | { read -r line; echo "$line" > port; read -r line < end; } &
        read -r port password < port
        exec 3<> /dev/tcp/127.0.0.1/$port
        ls files/client.p12
        echo > end
        cat <&3
        ls
        """)

    #expect(text.contains("files/client.p12"))
    #expect(text.split(separator: "\n").suffix(2) == ["end", "port"], "\(text)")
  }

  private static let halfClosing = """
    import socket, ssl, subprocess, sys, threading

    def answer(connection):
      everything = b""
      while more := connection.recv(65536): everything += more
      connection.sendall(everything[::-1])
      connection.close()

    def serve():
      while True: threading.Thread(target=answer, args=[server.accept()[0]], daemon=True).start()

    server = socket.create_server(("127.0.0.1", 0))
    threading.Thread(target=serve, daemon=True).start()
    front = subprocess.Popen(
      [sys.executable, sys.argv[1], str(server.getsockname()[1]), "files"], stdout=subprocess.PIPE)
    port = int(front.stdout.readline().split()[0])
    for version in ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3:
      context = ssl.create_default_context(cafile="files/authority.pem")
      context.verify_flags |= ssl.VERIFY_X509_STRICT
      context.minimum_version = context.maximum_version = version
      context.load_cert_chain("files/client.pem")
      received, sent = ssl.MemoryBIO(), ssl.MemoryBIO()
      tls = context.wrap_bio(received, sent, server_hostname="localhost")
      connection = socket.create_connection(("127.0.0.1", port))

      def until_done(action):
        while True:
          try: return action()
          except ssl.SSLWantReadError:
            connection.sendall(sent.read())
            more = connection.recv(65536)
            if more: received.write(more)
            else: received.write_eof()

      until_done(tls.do_handshake)
      message = bytes(range(100)) * 60000
      tls.write(message)
      try: tls.unwrap()
      except ssl.SSLWantReadError: pass
      connection.sendall(sent.read())
      everything = b""
      try:
        while more := until_done(lambda: tls.read(65536)): everything += more
      except ssl.SSLZeroReturnError: pass
      print(len(everything), everything == message[::-1])
    front.stdout.close()
    front.wait()
    """
}

/// Answers the challenge for a client certificate.
private final class CertificateObserver: SAPURLSessionObserving, Sendable {
  private let certificate: SAPClientCertificate

  init(_ certificate: SAPClientCertificate) { self.certificate = certificate }

  func sapURLSession(
    _ session: SAPURLSession, task: SAPURLSessionTask, didReceive challenge: URLAuthenticationChallenge,
    completionHandler: @escaping @Sendable (SAPURLSession.AuthChallengeDisposition) -> Void
  ) {
    let isForClient = challenge.protectionSpace.authenticationMethod == SAPClientCertificate.authenticationMethod
    completionHandler(isForClient ? .use(certificate) : .performDefaultHandling)
  }
}

/// Provides a certificate.
private final class Enrolment: UserIdentityObtaining, Sendable {
  let calls = Mutex(0)
  private let container: Data

  init(_ container: Data) { self.container = container }

  func obtainUserIdentity(completionHandler: @escaping @Sendable (Data?, (any Error)?) -> Void) {
    calls.withLock { $0 += 1 }
    completionHandler(container, nil)
  }
}
#endif
