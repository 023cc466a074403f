#if os(Linux)
import COpenSSL
import MartletEngine
import MartletSemantics

/// The state that TLS sessions of one identity share: trusted authorities, pins, the lowest version, the client
/// certificate, and resumable sessions. It does not change after it was made.
///
/// It belongs to one identity: sessions are resumed only within it, so every setting that affects trust must be equal
/// for all its users.
// SAFETY: `raw` does not change after `init`, and OpenSSL counts its uses atomically; the other values are constants.
final class TLSContext: @unchecked Sendable {
  let raw: OpaquePointer
  let verification: ServerVerification
  let minimumVersion: TLSSettings.Version
  /// The trusted authorities, for messages.
  let authorities: String
  let hasClientCertificate: Bool
  let refusedChains: RefusedChains
  /// Gets the secrets of the sessions; nil, as usual, to keep them secret.
  let keyLog: KeyLogFile?
  let resumable = ResumableSessions()

  /// What happens if the server's chain, its validity or its name is refused.
  enum RefusedChains: Sendable, Hashable {
    /// The handshake fails.
    case fail
    /// The handshake completes, and the session waits: ``TLSSession/trustFailure`` says what is wrong, and nothing can
    /// be read or written before ``TLSSession/acceptRefusedChain()``. A key that is not pinned fails in any case. For
    /// development only.
    case hold
  }

  /// Reads the authorities, unless they were read before, and the client certificate that the settings name.
  ///
  /// It reads files and may decrypt a key, so it must not run on a loop's thread.
  ///
  /// - Throws: ``HTTPError/Kind/tlsFailed`` for authorities that cannot be read and a key log that cannot be written,
  ///   ``HTTPError/Kind/badClientCertificate`` and ``HTTPError/Kind/badClientCertificatePassword``.
  init(_ settings: TLSSettings, refusedChains: RefusedChains = .fail, system: SystemAuthorities = .current)
    throws(HTTPError)
  {
    CryptoLibrary.start()
    let sources = TrustSources(settings, system: system)
    let store = try TrustStore.shared(sources)
    let identity: ClientIdentity? = if let own = settings.clientCertificate { try ClientIdentity(own) } else { nil }
    keyLog = if let file = settings.keyLog { try KeyLogFile(file) } else { nil }
    guard let raw = SSL_CTX_new(TLS_client_method()) else {
      throw HTTPError(.tlsFailed, "TLS cannot be prepared: \(TLSFailure.takeReasons())", phase: .preparing)
    }
    self.raw = raw
    self.refusedChains = refusedChains
    verification = ServerVerification(pins: Set(settings.pinnedPublicKeys))
    minimumVersion = settings.minimumVersion
    authorities = sources.description
    hasClientCertificate = identity != nil
    SSL_CTX_set1_cert_store(raw, store.raw)
    try configure(identity)
  }

  deinit { SSL_CTX_free(raw) }

  private func configure(_ identity: borrowing ClientIdentity?) throws(HTTPError) {
    guard martlet_set_minimum_version(raw, minimumVersion == .v1_3 ? TLS1_3_VERSION : TLS1_2_VERSION) == 1 else {
      throw HTTPError(.tlsFailed, "TLS cannot be prepared: \(TLSFailure.takeReasons())", phase: .preparing)
    }
    martlet_set_client_options(raw)
    SSL_CTX_set_verify(raw, SSL_VERIFY_PEER, nil)
    SSL_CTX_set_cert_verify_callback(raw, { context, _ in TLSSession.verify(context) }, nil)
    SSL_CTX_set_cert_cb(raw, { ssl, _ in TLSSession.answerCertificateRequest(ssl) }, nil)
    SSL_CTX_sess_set_new_cb(raw) { session, resumable in TLSSession.keep(resumable, of: session) }
    if keyLog != nil { SSL_CTX_set_keylog_callback(raw) { ssl, line in TLSSession.log(line, of: ssl) } }
    try identity?.install(in: raw)
  }
}
#endif
