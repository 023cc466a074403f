#if os(Linux)
import MartletEngine
import MartletSemantics

/// The certificates of a server that the caller's check has to decide about before anything is sent to it.
struct ServerCheck: Sendable {
  /// The certificates that the server sent, in DER, its own first.
  let certificates: [Data]
  /// The error if the system has refused them: then the request fails in any case.
  let refusal: HTTPError?
  /// The connection that waits for the decision; nil if there is none any more.
  let connection: Int?

  /// Calls the check.
  ///
  /// - Throws: the error of the request if the check or the system refuses the server.
  func decide(_ check: ServerTrust.Check, for origin: Origin, in call: Call) async throws {
    let trust = ServerTrust(origin: origin, certificates: certificates, refusal: refusal?.message)
    do { try await check(trust, call) } catch {
      if error is HTTPError || error is CancellationError { throw error }
      throw HTTPError(
        .untrustedCertificate, "\(origin): the server's certificates were refused by the check of this program",
        phase: .securing, underlying: error)
    }
    if let refusal { throw refusal }
  }
}

/// Why a connection could not be opened.
struct OpeningFailure {
  let error: HTTPError
  /// The certificates of the server, if they are the reason.
  var refused: [Data]?
  /// The proxy that cannot be reached.
  var proxy: ProxyServer?

  /// The error of a request that waited for the connection.
  func error(for origin: Origin) -> HTTPError { proxy?.unreachable(error, for: origin) ?? error }
}

/// The servers whose certificates the caller's check did not refuse: the last 16 sets of each, because several machines
/// may share one name.
struct CheckedServers {
  private var servers: [Origin: [[Data]]] = [:]

  func contains(_ certificates: [Data], of origin: Origin) -> Bool {
    servers[origin]?.contains(certificates) ?? false
  }

  mutating func insert(_ certificates: [Data], of origin: Origin) {
    if servers.count >= 1000 { servers.removeAll() }  // their certificates are checked again then
    guard !contains(certificates, of: origin) else { return }
    servers[origin] = (servers[origin] ?? []).suffix(15) + [certificates]
  }
}
#endif
