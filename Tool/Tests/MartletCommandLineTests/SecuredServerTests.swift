@testable import MartletCommandLine
import MartletEngine
import MartletSemantics
import MartletTesting
import TestSupport
import Testing

/// `serve --tls` and `record --tls`.
@Suite("serve and record over TLS", .timeLimit(.minutes(5)))
struct SecuredServerTests {
  private let run: TestRun

  init() throws {
    run = try TestRun()
    try run.folder.write(Data("0123456789".utf8), to: "pub/a.txt")
  }

  /// The file of the server's authority, from the line that it prints.
  private func authority(of server: ServerRun) async throws -> String {
    let line = try #require(server.errors.text.split(separator: "\n").first { $0.contains("--ca ") })
    return String(try #require(line.split(separator: " ").first { $0.hasSuffix(".pem,") }).dropLast())
  }

  @Test func aFolderIsServedOverHTTP2ToClientsThatTrustTheAuthority() async throws {
    let server = try await ServerRun(run, "serve", "pub", "--tls", "--host", "dev.example")
    #expect(server.address.hasPrefix("https://127.0.0.1:"))
    let file = try await authority(of: server)

    let trusted = try await run("get", "\(server.address)/a.txt", "--ca", file, "-p", "hb")
    #expect(trusted.text.hasPrefix("HTTP/2 200") && trusted.text.hasSuffix("0123456789"))
    #expect(try await run("get", "\(server.address)/a.txt").code == .tls)

    let port = try #require(URL(string: server.address)?.port)
    let named = try await run(
      "get", "https://dev.example:\(port)/a.txt", "--ca", file, "--resolve", "dev.example:\(port):127.0.0.1")
    #expect(named.text == "0123456789")

    server.interrupt()
    _ = await server.result
    try await until { !FileManager.default.fileExists(atPath: file) }
  }

  @Test func theSecretsOfARunAreWrittenForTheVariableAndTheRunSaysSo() async throws {
    let server = try LoopbackServer(tls: .selfSigned) { _ in .text("secret") }
    let authority = try #require(server.authority?.file.path)
    let address = server.url.absoluteString
    let plain = try await run("get", address, "--ca", authority)
    #expect(plain.text == "secret" && plain.errors.text.isEmpty)

    let logging = try TestRun(environment: ["SSLKEYLOGFILE": "keys.log"])
    let logged = try await logging("get", address, "--ca", authority, "--quiet")
    #expect(logged.code == .success)
    #expect(logged.errors.text.contains("warning: SSLKEYLOGFILE is set"))
    #expect(try logging.text(of: "keys.log").contains("CLIENT_TRAFFIC_SECRET_0 "))
    #expect(try logging.permissions(of: logging.folder.file("keys.log")) == 0o600)

    let refused = try await TestRun(environment: ["SSLKEYLOGFILE": "/no/such/keys.log"])(
      "get", address, "--ca", authority)
    #expect(refused.code == .tls)
    #expect(refused.errors.text.contains("tls.keyLog: '/no/such/keys.log' cannot be written"))
  }

  @Test func aNameThatNoCertificateCanHaveIsAUsageError() async throws {
    let result = try await run("serve", "pub", "--tls", "--port", "0", "--host", "a b")
    #expect(result.code == .failure)
    #expect(result.errors.text.contains("--tls: 'a b' cannot be in a certificate"))
  }

  @Test func linksOfTheOriginLeadBackOverTLS() async throws {
    let origin = try LoopbackServer { request in
      request.path == "/old" ? .redirect(to: "http://\(request.fields[.host] ?? "")/new") : .text("new")
    }
    let server = try await ServerRun(run, "record", "--tls", "--origin", origin.url.absoluteString, "--har", "a.har")
    let file = try await authority(of: server)
    #expect(try await run("get", "\(server.address)/old", "--ca", file).text == "new")
  }
}
