#if os(Linux)
@_spi(Transports) import MartletEngine
import MartletSemantics

/// The connections whose servers the caller's check has to accept. While one request's task runs the check for a
/// server's certificates, other connections with the same certificates wait for its decision.
struct ServerChecks {
  private struct Server: Hashable {
    let origin: Origin
    /// The number of the identity whose settings have the check.
    let identity: Int
    let certificates: [Data]
    /// Whether the system refused them.
    let isRefused: Bool

    init(_ check: ServerCheck, of origin: Origin, for identity: TLSIdentity) {
      self.origin = origin
      self.identity = identity.number
      certificates = check.certificates
      isRefused = check.refusal != nil
    }
  }

  private struct Held {
    let server: Server
    let check: ServerCheck
  }

  /// The connections that wait, by their numbers.
  private var held: [Int: Held] = [:]
  /// The requests whose tasks call the check.
  private var callers: [Server: ObjectIdentifier] = [:]

  /// Adds a connection of an identity. Returns false if the check need not be called because it has accepted the
  /// certificates before. It is always called for certificates that the system refuses.
  mutating func hold(_ connection: Int, _ check: ServerCheck, of origin: Origin, for identity: TLSIdentity) -> Bool {
    let server = Server(check, of: origin, for: identity)
    guard server.isRefused || !identity.checked.contains(check.certificates, of: origin) else { return false }
    held[connection] = Held(server: server, check: check)
    return true
  }

  /// Returns the check to run for a connection; nil if it is already running.
  func undecided(_ connection: Int) -> ServerCheck? {
    guard let held = held[connection], callers[held.server] == nil else { return nil }
    return held.check
  }

  /// Notes that a request's task will call the check for a connection.
  mutating func ask(_ transfer: ObjectIdentifier, about connection: Int) {
    if let server = held[connection]?.server { callers[server] = transfer }
  }

  /// Notes that the check has accepted a server. Returns the connections that waited for it.
  mutating func accepted(_ check: ServerCheck, of origin: Origin, for identity: TLSIdentity) -> [Int] {
    let server = Server(check, of: origin, for: identity)
    if !server.isRefused { identity.checked.insert(check.certificates, of: origin) }
    callers[server] = nil
    let accepted = held.filter { $0.value.server == server }.keys.sorted()
    for connection in accepted { held[connection] = nil }
    return accepted
  }

  /// Removes a closed connection.
  mutating func closed(_ connection: Int) { held[connection] = nil }

  /// Removes a request that has ended, whatever its task does with the check. Returns the connections for which another
  /// request has to call the check.
  mutating func ended(_ transfer: ObjectIdentifier) -> [Int] {
    guard !callers.isEmpty else { return [] }
    let servers = callers.filter { $0.value == transfer }.keys
    for server in servers { callers[server] = nil }
    return held.filter { servers.contains($0.value.server) }.keys.sorted()
  }
}

#endif
