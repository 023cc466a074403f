import MartletEngine
import MartletSemantics
import MartletTesting
import TestServers

@testable import MartletSockets

/// A trusted authority, and a server for `example.com` and 127.0.0.1.
struct MemoryTrust {
  let authority: MemoryAuthority
  let server: MemoryIdentity
  let folder: TemporaryFolder

  init() throws {
    authority = try MemoryAuthority()
    server = try authority.server("DNS:example.com,DNS:*.example.com,IP:127.0.0.1,IP:::1")
    folder = try TemporaryFolder()
    try folder.write(authority.identity.pem, to: "authority.pem")
  }

  /// Settings that trust only the authority.
  var settings: TLSSettings {
    var settings = TLSSettings()
    settings.authorities = folder.file("authority.pem")
    return settings
  }

  func context(_ change: (inout TLSSettings) throws -> Void = { _ in }) throws -> TLSContext {
    var settings = settings
    try change(&settings)
    return try TLSContext(settings)
  }

  /// A connection to a server that uses the given certificate or that of the trusted server.
  func connection(
    host: String = "example.com", to identity: MemoryIdentity? = nil, context: TLSContext? = nil,
    protocols: [String] = [], like other: MemoryServer.Context? = nil,
    _ change: (inout MemoryServer.Options) -> Void = { _ in }
  ) throws -> MemoryConnection {
    var options = MemoryServer.Options()
    change(&options)
    let client = try TLSSession(
      try context ?? self.context(), peer: TLSPeer(host: host, port: 443), protocols: protocols)
    return MemoryConnection(client: client, server: try MemoryServer(identity ?? server, options, like: other))
  }
}
