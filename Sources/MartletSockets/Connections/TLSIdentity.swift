#if os(Linux)
import MartletEngine
import Synchronization

/// What the connections of a request need for TLS.
struct ConnectionSecurity: Sendable {
  /// For the origin; nil for http.
  var origin: TLSContext?
  /// For the proxy; nil if the connection to it is not over TLS.
  var proxy: TLSContext?
}

/// What a transport needs for TLS, made when the first request over https needs it, because files are read and keys are
/// decrypted.
final class TLSIdentity: Sendable {
  private let settings: TLSSettings
  private let made = Mutex<Result<TLSContext, HTTPError>?>(nil)

  init(_ settings: TLSSettings) { self.settings = settings }

  /// Reads the additional authorities, so that a file that cannot be read is found before any request.
  func readAuthorities() throws(HTTPError) {
    guard settings.additionalAuthorities != nil else { return }
    CryptoLibrary.start()
    _ = try TrustStore.shared(TrustSources(settings, system: .current))
  }

  /// Returns what all TLS sessions of the transport have in common.
  func context() throws(HTTPError) -> TLSContext {
    let result = made.withLock { made in
      if let made { return made }
      // a client certificate is sent in the handshake, so that a server has to be trusted before
      let mayAccept = settings.acceptsRefusedServer != nil && settings.clientCertificate == nil
      let result = Result { () throws(HTTPError) in
        try TLSContext(settings, refusedChains: mayAccept ? .hold : .fail)
      }
      made = result
      return result
    }
    return try result.get()
  }
}
#endif
