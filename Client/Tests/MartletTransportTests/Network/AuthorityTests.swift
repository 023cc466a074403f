import Foundation
import MartletEngine
import MartletSemantics
import MartletTesting
import TestServers
import Testing

/// Trusted authorities. A test puts an authority into the system's folder while it runs, if that folder is
/// writable, as in a container.
@Suite(.timeLimit(.minutes(5)), .serialized)
struct AuthorityTests {
  private static let folder = "/etc/ssl/certs"
  private static let isWritable = access(folder, W_OK) == 0

  /// Runs a test with a server whose authority is only in the system's folder of hashed names.
  private func withSystemAuthority(_ body: (LoopbackServer) async throws -> Void) async throws {
    let (server, authority) = try makeServer()
    let folder = try TemporaryFolder()
    let own = authority.file
    try RealProcess.run("sh", ["-c", "printf %s $(openssl x509 -noout -hash -in \(own.path)) > name"], in: folder.url)
    let name = try String(contentsOf: folder.file("name"), encoding: .utf8)
    // files of the same name are numbered without a gap
    var links = (0..<20).map { URL(filePath: Self.folder).appending(path: "\(name).\($0)") }[...]
    while let link = links.popFirst() {
      guard (try? FileManager.default.createSymbolicLink(at: link, withDestinationURL: own)) != nil else { continue }
      defer { try? FileManager.default.removeItem(at: link) }
      return try await body(server)
    }
    throw RealServerError("no free name in \(Self.folder)")
  }

  private func makeServer() throws -> (LoopbackServer, LoopbackAuthority) {
    let server = try LoopbackServer(tls: .selfSigned) { _ in .text("hello") }
    return (server, try #require(server.authority))
  }

  private func failure(_ server: LoopbackServer, _ change: (inout TLSSettings) -> Void) async -> HTTPError? {
    var configuration = ConnectionConfiguration()
    change(&configuration.tls)
    do throws(HTTPError) {
      _ = try await HTTPSession.uncached(configuration).data(for: HTTPRequest(.get, server.url))
      return nil
    } catch { return error }
  }

  @Test(.enabled(if: isWritable))
  func ownAuthoritiesReplaceTheSystemsFolderToo() async throws {
    let stranger = try LoopbackAuthority()
    try await withSystemAuthority { server in
      #expect(await failure(server) { _ in } == nil)
      #expect(await failure(server) { $0.authorities = stranger.file }?.kind == .untrustedCertificate)
      #expect(await failure(server) { $0.additionalAuthorities = stranger.file } == nil)
    }
  }

  @Test func additionalAuthoritiesAreTrustedInAdditionToTheOthers() async throws {
    let (server, authority) = try makeServer()
    let stranger = try LoopbackAuthority()
    #expect(await failure(server) { $0.additionalAuthorities = authority.file } == nil)
    #expect(
      await failure(server) {
        $0.authorities = stranger.file
        $0.additionalAuthorities = authority.file
      } == nil)
    #expect(await failure(server) { $0.additionalAuthorities = stranger.file }?.kind == .untrustedCertificate)
  }

  @Test func anUnreadableFileOfAuthoritiesIsNamedInTheError() async throws {
    let server = try makeServer().0
    let error = await failure(server) { $0.additionalAuthorities = URL(filePath: "/nowhere/more.pem") }
    #expect(error?.kind == .tlsFailed)
    #expect(error?.message.contains("/nowhere/more.pem") == true)
  }

  @Test func withUnreadableAuthoritiesNoBodyIsOpened() async throws {
    let server = try LoopbackServer { _ in .text("hello") }
    var connection = ConnectionConfiguration()
    connection.tls.additionalAuthorities = try TemporaryFolder().file("missing.pem")
    let body = RequestBody.singleUse(AsyncStream<Data> { $0.finish() })
    await #expect(throws: HTTPError.self) {
      try await HTTPSession.uncached(connection).data(for: HTTPRequest(.post, server.url, body: body))
    }
    #expect(body.canBeSent)
  }
}
