#if os(Linux)
import CCurl
import MartletEngine
import MartletSemantics

extension RequestSetup {
  /// Sets trust, versions and client certificate.
  func setTLS() {
    let tls = configuration.tls
    handle.set(CURLOPT_SSL_VERIFYPEER, 1)
    handle.set(CURLOPT_SSL_VERIFYHOST, 2)
    handle.set(
      CURLOPT_SSLVERSION,
      tls.minimumVersion == .v1_3 ? Int(CURL_SSLVERSION_TLSv1_3) : Int(CURL_SSLVERSION_TLSv1_2))
    setAuthorities()
    if checksServer {
      handle.set(CURLOPT_CERTINFO, 1)
      handle.set(CURLOPT_SSL_SESSIONID_CACHE, 0)  // a resumed session may have no certificates
    }
    if !tls.pinnedPublicKeys.isEmpty {
      handle.set(CURLOPT_PINNEDPUBLICKEY, tls.pinnedPublicKeys.map { "sha256//" + $0 }.joined(separator: ";"))
    }
    guard let certificate = tls.clientCertificate else { return }
    handle.set(CURLOPT_KEYPASSWD, certificate.password ?? "")  // else OpenSSL would ask at the terminal
    if case .pem = certificate.source {
      handle.set(CURLOPT_SSLCERTTYPE, "PEM")
    } else {
      handle.set(CURLOPT_SSLCERTTYPE, "P12")
    }
    switch certificate.source {
    case .file(let url): handle.set(CURLOPT_SSLCERT, url.path)
    case .data(let data): handle.set(CURLOPT_SSLCERT_BLOB, blob: data)
    case .pem(let certificate, let key):
      handle.set(CURLOPT_SSLCERT, certificate.path)
      handle.set(CURLOPT_SSLKEYTYPE, "PEM")
      handle.set(CURLOPT_SSLKEY, key.path)
    }
  }

  /// Whether the caller has a check for the server's certificates.
  var checksServer: Bool { origin.isSecure && configuration.tls.serverTrustCheck != nil }

  private func setAuthorities() {
    switch authorities {
    case .system: break
    case .file(let file): handle.set(CURLOPT_CAINFO, file.path)
    case .certificates(let data): handle.set(CURLOPT_CAINFO_BLOB, blob: data)
    }
    // otherwise OpenSSL also looks in the folder of the system's certificates
    if configuration.tls.authorities != nil { handle.set(CURLOPT_CAPATH, pointer: nil) }
  }
}

/// The certificate authorities that a transport trusts, read once.
enum TrustedAuthorities: Sendable {
  /// The system's, whose place libcurl was built with.
  case system
  /// Those in a PEM file, which libcurl reads.
  case file(URL)
  /// Those of several PEM files.
  case certificates(Data)
}

extension TLSSettings {
  /// Reads the files, if there are several.
  func trustedAuthorities() throws(HTTPError) -> TrustedAuthorities {
    guard let additional = additionalAuthorities else { return authorities.map { .file($0) } ?? .system }
    let system = martlet_default_authorities().map { URL(filePath: String(cString: $0)) }
    var certificates = Data()
    // a system without such a file has a folder, which OpenSSL reads in any case
    for file in [authorities ?? system, additional].compactMap({ $0 }) {
      do {
        certificates += try Data(contentsOf: file) + Data("\n".utf8)
      } catch {
        if file == system, authorities == nil, file != additional { continue }
        throw HTTPError(
          .tlsFailed, "the certificate authorities in '\(file.path)' cannot be read", phase: .preparing,
          underlying: error)
      }
    }
    return .certificates(certificates)
  }
}
#endif
