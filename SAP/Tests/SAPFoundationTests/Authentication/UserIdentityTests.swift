#if os(Linux)
import Foundation
import FoundationNetworking
import Martlet
import MartletTesting
import Testing

@testable import SAPFoundation

@Suite("User identities", .timeLimit(.minutes(5)))
struct UserIdentityTests {
  /// Provides one certificate after another.
  private final class Enrolment: UserIdentityObtaining, Sendable {
    let calls = Shared(0)
    private let files: [Result<URL, TestFailure>]

    init(_ files: Result<URL, TestFailure>...) { self.files = files }

    func obtainUserIdentity(completionHandler: @escaping @Sendable (Data?, (any Error)?) -> Void) {
      let number = calls.value
      calls.change { $0 += 1 }
      guard number < files.count else { return completionHandler(nil, nil) }
      do { completionHandler(try Data(contentsOf: files[number].get()), nil) } catch { completionHandler(nil, error) }
    }
  }

  private let server: PythonTLS
  private let store = UserIdentityStorage()

  init() throws { server = try PythonTLS() }

  private func session(_ enrolment: Enrolment, _ store: any UserIdentityStoring) -> SAPURLSession {
    var settings = ConnectionConfiguration()
    settings.tls.authorities = server.file("ca.pem")
    let session = SAPURLSession(configuration: SAPURLSession.plain, in: .init(transport: IdentifiedTransport(settings)))
    session.register(UserIdentityObserver(userIdentityDiscovery: enrolment, identityStore: store))
    return session
  }

  private func texts(_ session: SAPURLSession, _ count: Int) async -> [Outcome] {
    let url = server.url
    return await withTaskGroup(of: Outcome.self) { group in
      for number in 0..<count { group.addTask { await session.get(url.appending(path: "\(number)")) } }
      return await group.reduce(into: []) { $0.append($1) }
    }
  }

  @Test func oneIsObtainedForAllAndStored() async throws {
    let enrolment = Enrolment(.success(server.file("good.p12")))
    let session = session(enrolment, store)

    #expect(await texts(session, 8).allSatisfy { $0.text == "good" })

    #expect(enrolment.calls.value == 1)
    #expect(try store.identity(for: server.url) == Data(contentsOf: server.file("good.p12")))
    session.clearCredentials()
    #expect(try store.identity(for: server.url) == nil)
  }

  @Test func aStoredOneIsUsed() async throws {
    try store.store(identity: Data(contentsOf: server.file("good.p12")), for: server.url)
    let enrolment = Enrolment()

    #expect(await session(enrolment, store).get(server.url).text == "good")
    #expect(enrolment.calls.value == 0)
  }

  @Test(arguments: ["bad.p12", "broken.p12"]) func oneThatIsRefusedIsObtainedAgain(stored: String) async throws {
    try store.store(identity: Data(contentsOf: server.file(stored)), for: server.url)
    let enrolment = Enrolment(.success(server.file("good.p12")))
    let session = session(enrolment, store)

    let outcomes = await texts(session, 6)
    #expect(outcomes.allSatisfy { $0.text == "good" }, "\(outcomes.compactMap(\.error))")

    #expect(enrolment.calls.value == 1)
    #expect(try store.identity(for: server.url) == Data(contentsOf: server.file("good.p12")))
  }

  @Test func aNewOneThatIsRefusedTooFailsAllThatWait() async throws {
    try store.store(identity: Data(contentsOf: server.file("bad.p12")), for: server.url)
    let enrolment = Enrolment(.success(server.file("bad.p12")), .success(server.file("good.p12")))
    let session = session(enrolment, store)

    let outcome = await session.get(server.url)

    #expect(outcome.code == .clientCertificateRejected, "\(String(describing: outcome.error))")
    #expect(enrolment.calls.value == 1)
    #expect(try store.identity(for: server.url) == nil)
    #expect(await session.get(server.url).text == "good")
  }

  @Test func whatObtainingFailsWithIsTheTasksError() async throws {
    let session = session(Enrolment(.failure(TestFailure(name: "no certificate"))), store)

    #expect(await session.get(server.url).error as? TestFailure == TestFailure(name: "no certificate"))
  }
}

/// A Python server that requests client certificates of its own authority.
private final class PythonTLS: Sendable {
  let url: URL
  private let folder: TemporaryFolder
  private let program: PythonProgram

  init() throws {
    folder = try TemporaryFolder()
    program = try PythonProgram(Self.script, in: folder.url)
    url = try #require(URL(string: "https://127.0.0.1:\(program.port())/"))
  }

  func file(_ name: String) -> URL { folder.file(name) }

  private static let script = #"""
    import ssl, subprocess

    def run(command): subprocess.run(command, shell=True, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    for ca in ["ca", "other"]:
      run(f"openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout {ca}.key -out {ca}.pem -days 2 -subj /CN={ca}")
    for name, ca, more in [("server", "ca", "IP:127.0.0.1"), ("good", "ca", "email:a@example.invalid"), ("bad", "other", "email:a@example.invalid")]:
      with open(f"{name}.ext", "w") as file: file.write(f"subjectAltName={more}\n")
      run(f"openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout {name}.key -out {name}.csr -subj /CN={name}")
      run(f"openssl x509 -req -in {name}.csr -CA {ca}.pem -CAkey {ca}.key -CAcreateserial -out {name}.pem -days 2 -extfile {name}.ext")
      run(f"openssl pkcs12 -export -in {name}.pem -inkey {name}.key -out {name}.p12 -passout pass:")
    with open("broken.p12", "w") as file: file.write("nonsense")

    class Names(Handler):
      def do_GET(self):
        subject = dict(item for part in self.connection.getpeercert()["subject"] for item in part)
        self.reply(200, subject["commonName"].encode())

    class TLSServer(Server):
      def finish_request(self, request, address):
        connection = context.wrap_socket(request, server_side=True, do_handshake_on_connect=False)
        try: connection.do_handshake()
        except OSError:  # what comes is read to its end, so that the alert is not lost
          while os.read(connection.fileno(), 65536): pass
          return connection.close()
        try: super().finish_request(connection, address)
        except OSError: pass

      def handle_error(self, request, address): pass

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain("server.pem", "server.key")
    context.load_verify_locations("ca.pem")
    context.verify_mode = ssl.CERT_REQUIRED

    serve(Names, TLSServer)
    """#
}
#endif
