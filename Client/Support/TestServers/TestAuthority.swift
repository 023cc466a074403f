package import Foundation
package import MartletEngine
import MartletSemantics
package import MartletTesting

/// A certificate authority for one test run: a server certificate for localhost and 127.0.0.1, one for another name,
/// and a client certificate as PKCS#12.
package struct TestAuthority: Sendable {
  package let folder: TemporaryFolder
  /// The common name of the authority, which no other has.
  package let name: String
  package static let password = "correct horse"
  /// The authority of all servers whose tests need no other one.
  package static let shared = Result { try TestAuthority() }

  /// Keys of RSA take a tenth of the processor time of all tests.
  private static let newKey = "-newkey ec -pkeyopt ec_paramgen_curve:P-256"

  package init() throws {
    folder = try TemporaryFolder()
    // a unique name, so that it is not confused with another authority
    name = "MartletTestCA-\(UUID())"
    try openssl("req -x509 \(Self.newKey) -nodes -keyout ca.key -out ca.pem -days 2 -subj /CN=\(name)")
    try issue("server", subject: "/CN=localhost", names: "DNS:localhost,IP:127.0.0.1")
    try issue("stranger", subject: "/CN=stranger.invalid", names: "DNS:stranger.invalid")
    try issue("client", subject: "/CN=client", names: "email:client@example.invalid")
    try RealProcess.run(
      "openssl",
      [
        "pkcs12", "-export", "-in", "client.pem", "-inkey", "client.key", "-out", "client.p12", "-passout",
        "pass:" + Self.password,
      ], in: folder.url)
    try RealProcess.run(
      "openssl",
      ["pkey", "-in", "client.key", "-aes256", "-passout", "pass:" + Self.password, "-out", "client.locked.key"],
      in: folder.url)
    try folder.write(Data("this is no container".utf8), to: "broken.p12")
  }

  package var certificate: URL { folder.file("ca.pem") }

  /// The pin, made by the command in the documentation of `TLSSettings.pinnedPublicKeys`.
  package func pin(of name: String) throws -> String {
    let pipeline = """
      openssl x509 -pubkey -noout -in \(name).pem | openssl pkey -pubin -outform der \
      | openssl dgst -sha256 -binary | base64 > \(name).pin
      """
    try RealProcess.run("sh", ["-c", pipeline], in: folder.url)
    return try String(contentsOf: folder.file(name + ".pin"), encoding: .utf8)
      .trimmingCharacters(in: .whitespacesAndNewlines)
  }

  private func issue(_ name: String, subject: String, names: String) throws {
    try folder.write(Data("subjectAltName=\(names)\n".utf8), to: name + ".ext")
    try openssl("req \(Self.newKey) -nodes -keyout \(name).key -out \(name).csr -subj \(subject)")
    try openssl(
      "x509 -req -in \(name).csr -CA ca.pem -CAkey ca.key -CAcreateserial -out \(name).pem -days 2 -extfile \(name).ext"
    )
  }

  private func openssl(_ arguments: String) throws {
    try RealProcess.run("openssl", arguments.split(separator: " ").map(String.init), in: folder.url)
  }
}

extension ConnectionConfiguration {
  /// A configuration without proxies that trusts the servers of an authority.
  package static func trusting(
    _ authority: TestAuthority, _ change: (inout ConnectionConfiguration) -> Void = { _ in }
  ) -> ConnectionConfiguration {
    var configuration = ConnectionConfiguration()
    configuration.proxy = .direct
    configuration.tls.authorities = authority.certificate
    change(&configuration)
    return configuration
  }

  /// A configuration without proxies that trusts a server of the test.
  package static func trusting(
    _ server: LoopbackServer, _ change: (inout ConnectionConfiguration) -> Void = { _ in }
  ) -> ConnectionConfiguration {
    var configuration = ConnectionConfiguration()
    configuration.proxy = .direct
    configuration.tls.authorities = server.authority?.file
    change(&configuration)
    return configuration
  }
}

extension LoopbackServer {
  /// A server of HTTP/1.1 over TLS whose responses are the number of their connection.
  package static func numberingConnections() throws -> LoopbackServer {
    var tls = LoopbackTLS.selfSigned
    tls.protocols = [.http1_1]
    return try LoopbackServer(tls: tls) { .text("\($0.connection)") }
  }
}
