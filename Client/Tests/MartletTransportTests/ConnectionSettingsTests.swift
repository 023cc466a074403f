import MartletEngine
import MartletSemantics
import MartletTesting
import MartletURLSession
import Testing

/// Settings of a connection that Foundation's URLSession does not support.
@Suite(.timeLimit(.minutes(5)))
struct ConnectionSettingsTests {
  private func status(_ change: (inout ConnectionConfiguration) -> Void) async throws -> HTTPStatus {
    let server = try LoopbackServer { _ in .text("hello") }
    var connection = ConnectionConfiguration()
    change(&connection)
    return try await URLSessionTransport(connection).send(HTTPRequest(.get, server.url("/")), in: Call()).status
  }

  @Test func unsupportedLimitsAreIgnored() async throws {
    let status = try await status { connection in
      connection.connectionLimitPerHost = 2
      connection.connectTimeout = .seconds(5)
      connection.readAhead = 1024
      connection.serviceClass = .telephony
    }
    #expect(status == .ok)
  }

  @Test func unsupportedSettingsAreNamedInTheError() async throws {
    let table: [(String, (inout ConnectionConfiguration) -> Void)] = [
      ("tls.authorities", { $0.tls.authorities = URL(filePath: "/a.pem") }),
      ("tls.additionalAuthorities", { $0.tls.additionalAuthorities = URL(filePath: "/a.pem") }),
      ("tls.minimumVersion", { $0.tls.minimumVersion = .v1_3 }),
      ("tls.pinnedPublicKeys", { $0.tls.pinnedPublicKeys = ["AAAA"] }),
      ("tls.clientCertificate", { $0.tls.clientCertificate = .pkcs12(data: Data(), password: "") }),
      ("tls.serverTrustCheck", { $0.tls.serverTrustCheck = { _, _ in } }),
      ("tls.originSettings", { $0.tls.originSettings = { _ in nil } }), ("proxy", { $0.proxy = .direct }),
      ("versions", { $0.versions = .http1 }), ("decompresses", { $0.decompresses = false }),
      ("poolTimeout", { $0.poolTimeout = .seconds(1) }),
      ("addressPolicy", { $0.addressPolicy = .publicAddresses }),
    ]
    for (name, change) in table {
      let error = await #expect(throws: HTTPError.self) { try await status(change) }
      #expect(error?.kind == .invalidRequest)
      #expect(error?.message.hasSuffix(": \(name)") == true)
    }
  }
}
