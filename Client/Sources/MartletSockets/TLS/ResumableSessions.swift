#if os(Linux)
import COpenSSL
@_spi(Toolkit) import MartletEngine
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// A session that a server can resume: a ticket, or the identifier of a session of TLS 1.2.
// SAFETY: OpenSSL counts the uses of a session atomically, and does not change one that is being resumed.
final class ResumableSession: @unchecked Sendable {
  let raw: OpaquePointer

  /// Takes over one reference to the session.
  init(owning raw: OpaquePointer) { self.raw = raw }

  deinit { SSL_SESSION_free(raw) }

  /// Whether it is a TLS 1.3 session, whose tickets are used once (RFC 8446 §C.4).
  var isUsedOnce: Bool { SSL_SESSION_get_protocol_version(raw) >= TLS1_3_VERSION }

  /// Whether the server may still accept it, and its certificate is still valid and has one of the pins.
  func isUsable(at now: Int, _ verification: ServerVerification) -> Bool {
    guard SSL_SESSION_is_resumable(raw) == 1, let own = SSL_SESSION_get0_peer(raw).map(Certificate.init) else {
      return false
    }
    let age = now - SSL_SESSION_get_time(raw)
    return age >= 0 && age < SSL_SESSION_get_timeout(raw) && !own.isExpired && verification.pinProblem(of: own) == nil
  }
}

/// The resumable sessions of one context: the last four of each server, of the 256 servers that were used last.
final class ResumableSessions: Sendable {
  /// The properties that must be equal to resume a session. The context has the rest: authorities, pins, client
  /// certificate.
  struct Key: Hashable, Sendable {
    let identity: TLSPeer.Identity
    let port: Int
    let protocols: [String]

    init(peer: TLSPeer, protocols: [String]) {
      identity = peer.identity
      port = peer.port
      self.protocols = protocols
    }
  }

  private let servers = Mutex(LRUStorage<Key, [ResumableSession]>(countLimit: 256))

  /// Keeps a session of a verified server.
  func store(_ session: ResumableSession, for key: Key) {
    servers.withLock { servers in
      servers.update(key, from: []) { sessions in sessions = sessions.suffix(3) + [session] }
    }
  }

  /// Returns the newest session for a server. A TLS 1.3 session is returned only once.
  func take(for key: Key, pins verification: ServerVerification) -> ResumableSession? {
    let now = time(nil)
    return servers.withLock { servers in
      guard servers.contains(key) else { return nil }
      return servers.update(key, from: []) { sessions -> ResumableSession? in
        while let session = sessions.popLast() {
          guard session.isUsable(at: now, verification) else { continue }
          if !session.isUsedOnce { sessions.append(session) }
          return session
        }
        return nil
      }
    }
  }
}
#endif
