#if os(Linux)
import Foundation
import FoundationNetworking
import Glibc
import Martlet
import MartletTesting
import Synchronization
import Testing

@testable import SAPFoundation

@Suite("Client certificate", .timeLimit(.minutes(5)))
struct ClientCertificateTests {
  private func session(_ server: TLSServer, _ answer: @escaping @Sendable () -> URLCredential?) -> (
    SAPURLSession, Shared<Int>
  ) {
    let count = Shared(0)
    var settings = ConnectionConfiguration()
    settings.tls.authorities = server.file("ca.pem")
    let session = SAPURLSession(configuration: SAPURLSession.plain, in: .init(transport: IdentifiedTransport(settings)))
    let probe = ObserverProbe { probe in
      probe.onChallenge = { challenge in
        guard challenge.protectionSpace.authenticationMethod == SAPClientCertificate.authenticationMethod else {
          return .performDefaultHandling
        }
        #expect(challenge.previousFailureCount == 0)
        count.change { $0 += 1 }
        return answer().map { .use($0) } ?? .performDefaultHandling
      }
    }
    session.register(probe)
    return (session, count)
  }

  @Test(arguments: [true, false]) func itIsShownToAServerThatWantsOne(isFile: Bool) async throws {
    let server = try await TLSServer.shared.value
    let file = server.file("client.p12")
    let data = try Data(contentsOf: file)
    let (session, count) = session(server) {
      isFile
        ? SAPClientCertificate(pkcs12: file, password: "correct horse")
        : SAPClientCertificate(pkcs12: data, password: "correct horse")
    }

    for _ in 0..<2 {
      let outcome = await session.outcome(of: server.url)
      #expect(outcome.text?.contains("CN=client") == true || outcome.text?.contains("CN = client") == true)
    }
    #expect(count.value == 1)
    session.clearCredentials()
    _ = await session.outcome(of: server.url)
    #expect(count.value == 2)
  }

  @Test func aWrongPasswordAndABadContainerAreDifferentErrorsAndChallengedAgain() async throws {
    let server = try await TLSServer.shared.value
    let files = Mutex([("client.p12", "wrong"), ("broken.p12", "correct horse"), ("client.p12", "correct horse")])
    let (session, _) = session(server) {
      let (name, password) = files.withLock { $0.removeFirst() }
      return SAPClientCertificate(pkcs12: server.file(name), password: password)
    }

    let (first, second, third) = (
      await session.outcome(of: server.url), await session.outcome(of: server.url),
      await session.outcome(of: server.url)
    )

    #expect((first.error as? URLError)?.underlyingHTTPError?.kind == .badClientCertificatePassword)
    #expect((second.error as? URLError)?.underlyingHTTPError?.kind == .badClientCertificate)
    #expect(first.code == .clientCertificateRejected)
    #expect(third.status == 200)
  }

  @Test func withoutOneTheServerRefuses() async throws {
    let server = try await TLSServer.shared.value
    let (session, count) = session(server) { nil }

    #expect(await session.outcome(of: server.url).error != nil)
    #expect(count.value == 1)
  }
}

/// `openssl s_server` with an authority of this run, which requests a client certificate and returns its subject.
///
/// A shell runs it and reads from a pipe of this process. When the pipe closes, because this process has ended, the
/// shell ends the server. Foundation's `Process` is not used, because it crashes if several are started at the same
/// time.
private final class TLSServer: Sendable {
  static let shared = Task { try await TLSServer() }

  let url: URL
  private let folder: TemporaryFolder

  init() async throws {
    let folder = try TemporaryFolder()
    self.folder = folder
    url = try await withCheckedThrowingContinuation { continuation in
      Thread.detachNewThread { continuation.resume(with: Result { try Self.start(in: folder.url) }) }
    }
  }

  func file(_ name: String) -> URL { folder.file(name) }

  /// Waits for the line in which the server prints its address: `ACCEPT 127.0.0.1:43215`.
  private static func start(in folder: URL) throws -> URL {
    let address = folder.appending(path: "address").path
    try script.write(to: folder.appending(path: "serve"), atomically: false, encoding: .utf8)
    guard mkfifo(address, 0o600) == 0, popen("cd '\(folder.path)' && exec bash serve", "we") != nil,
      let lines = fopen(address, "r")
    else { throw TestFailure(name: "openssl could not be started") }
    var buffer = [CChar](repeating: 0, count: 1000)
    while fgets(&buffer, Int32(buffer.count), lines) != nil {
      let line = String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
      guard line.hasPrefix("ACCEPT "), let url = URL(string: "https://\(line.dropFirst(7).dropLast())/") else {
        continue
      }
      return url
    }
    throw TestFailure(name: "openssl s_server did not start")
  }

  /// Begins by closing inherited descriptors: connections of tests that wait for their end.
  private static let script = """
    for file in /proc/self/fd/*; do
      file=${file##*/}
      case $file in 0 | 1 | 2 | 255) ;; *) eval "exec $file>&-" ;; esac
    done
    {
      openssl req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.pem -days 2 -subj /CN=TestAuthority
      issue() {
        printf 'subjectAltName=%s\\n' "$2" > $1.ext
        openssl req -newkey rsa:2048 -nodes -keyout $1.key -out $1.csr -subj /CN=$1
        openssl x509 -req -in $1.csr -CA ca.pem -CAkey ca.key -CAcreateserial -out $1.pem -days 2 -extfile $1.ext
      }
      issue server IP:127.0.0.1
      issue client email:client@example.invalid
      openssl pkcs12 -export -in client.pem -inkey client.key -out client.p12 -passout 'pass:correct horse'
      echo nonsense > broken.p12
    } > /dev/null 2>&1
    openssl s_server -accept 127.0.0.1:0 -cert server.pem -key server.key -CAfile ca.pem -Verify 1 -www \
      > address 2> /dev/null < /dev/null &
    server=$!
    disown $server  # the shell does not report its end
    read -r line
    kill -9 $server
    """
}
#endif
