#if os(Linux)
@_spi(Toolkit) @_spi(Transports) import MartletEngine
import MartletSemantics
import Synchronization

/// A server's certificates, which the caller's check has to accept before anything is sent to the server.
struct ServerCheck: Sendable {
  /// The certificates that the server sent, in DER, its own first.
  let certificates: [Data]
  /// The error if the system has refused them. The request then fails, unless the server can be accepted and is.
  let refusal: HTTPError?
  /// Whether a connection to the refused server is open and waits.
  var canBeAccepted = false

  /// Calls the check of these settings.
  ///
  /// - Throws: the error of the request if the check or the system refuses the server.
  func decide(_ settings: TLSSettings, for origin: Origin, in call: Call) async throws {
    let trust = ServerTrust(origin: origin, certificates: certificates, refusal: refusal?.message)
    do {
      if canBeAccepted, let accepts = settings.acceptsRefusedServer {
        if try await accepts(trust, call) { return }
      } else {
        try await settings.serverTrustCheck?(trust, call)
      }
    } catch {
      if error is HTTPError || error is CancellationError { throw error }
      throw HTTPError(
        .untrustedCertificate, "\(origin): the server's certificates were refused by the check of this program",
        phase: .securing, underlying: error)
    }
    if let refusal { throw refusal }
  }
}

/// The servers whose certificates the caller's check did not refuse: the last 16 sets of each, because several machines
/// may share one name. The certificates of a forgotten server are checked again. It may be used from every thread.
final class CheckedServers: Sendable {
  private let servers = Mutex(LRUStorage<Origin, [[Data]]>(countLimit: 1000))

  /// Whether the check has accepted these certificates.
  func contains(_ certificates: [Data], of origin: Origin) -> Bool {
    servers.withLock { $0.use(origin)?.contains(certificates) ?? false }
  }

  /// Records that the check has accepted certificates.
  func insert(_ certificates: [Data], of origin: Origin) {
    servers.withLock { servers in
      servers.update(origin, from: []) { accepted in
        guard !accepted.contains(certificates) else { return }
        accepted = accepted.suffix(15) + [certificates]
      }
    }
  }
}
#endif
