#if os(Linux)
import COpenSSL
import MartletEngine
import MartletSemantics

/// Why a server is not trusted, with the certificates that it sent.
struct TrustFailure: Error, Hashable, CustomStringConvertible {
  /// The problems; at least one.
  var problems: [Problem]
  /// The certificates that the server sent, in DER, its own first.
  var certificates: [Data]

  /// One problem of a server's certificates.
  enum Problem: Hashable, Sendable {
    /// A certificate has expired.
    case expired(subject: String, at: String)
    /// A certificate is not valid yet.
    case notYetValid(subject: String, from: String)
    /// The server's certificate is for other hosts.
    case wrongHost(names: [String])
    /// The issuer of the last certificate in the server's chain is not a trusted authority.
    case unknownIssuer(String)
    /// The server's certificate is its own issuer.
    case selfSigned
    /// The server's key is not one of the pinned ones.
    case pinMismatch(pin: String?)
    /// Another problem, in OpenSSL's words.
    case other(String, subject: String?)
  }

  /// Whether pins are the only problem.
  var isPinMismatch: Bool { problems.allSatisfy { if case .pinMismatch = $0 { true } else { false } } }

  /// Whether no pinned key was found, regardless of other problems.
  var includesPinMismatch: Bool { problems.contains { if case .pinMismatch = $0 { true } else { false } } }

  /// The problems, as the end of a sentence that names the server.
  ///
  /// - Parameters:
  ///   - host: the expected host.
  ///   - authorities: the trusted authorities, as ``TrustSources/description`` names them.
  func reason(host: String, authorities: String) -> String {
    problems.map { problem in
      switch problem {
      case .expired(let subject, let date): "the certificate of '\(subject)' expired at \(date)"
      case .notYetValid(let subject, let date):
        "the certificate of '\(subject)' is valid only from \(date) (is this machine's clock right?)"
      case .wrongHost(let names) where names.isEmpty: "the server's certificate names no host, so not \(host) either"
      case .wrongHost(let names):
        "the server's certificate is for \(names.joined(separator: ", ")) and not for \(host)"
      case .unknownIssuer(let issuer):
        "the certificate's issuer '\(issuer)' is not known: it is not among the trusted authorities (\(authorities))"
      case .selfSigned:
        "the server's certificate is self-signed: its issuer is not among the trusted authorities (\(authorities))"
      case .pinMismatch(let pin):
        "the server's public key is none of the pinned keys" + (pin.map { "; its pin is \($0)" } ?? "")
      case .other(let text, let subject): text + (subject.map { " (certificate of '\($0)')" } ?? "")
      }
    }.joined(separator: "; ")
  }

  /// The number of certificates, and the problems: the certificates themselves would fill a page.
  var description: String { "\(certificates.count) certificates, refused: \(problems)" }

  /// The error for a refused server, with this failure as its underlying error.
  func error(peer: TLSPeer, authorities: String) -> HTTPError {
    let reason = reason(host: peer.host, authorities: authorities)
    let message = isPinMismatch ? reason : "the server is not trusted: \(reason)"
    return HTTPError(
      isPinMismatch ? .pinMismatch : .untrustedCertificate, "\(peer.description): \(message)", phase: .securing,
      underlying: self)
  }
}

extension TrustFailure.Problem {
  /// Makes a problem from one of OpenSSL's codes and its certificate.
  init(code: Int32, certificate: Certificate?) {
    switch code {
    case X509_V_ERR_CERT_HAS_EXPIRED:
      self = .expired(subject: certificate?.subject ?? "", at: certificate?.validUntil ?? "")
    case X509_V_ERR_CERT_NOT_YET_VALID:
      self = .notYetValid(subject: certificate?.subject ?? "", from: certificate?.validFrom ?? "")
    case X509_V_ERR_HOSTNAME_MISMATCH, X509_V_ERR_IP_ADDRESS_MISMATCH:
      self = .wrongHost(names: certificate?.hosts ?? [])
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT, X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY,
      X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE, X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
      self = .unknownIssuer(certificate?.issuer ?? "")
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT: self = .selfSigned
    default:
      let text = X509_verify_cert_error_string(Int(code)).map { String(cString: $0) } ?? "error \(code)"
      self = .other(text, subject: certificate?.subject)
    }
  }
}
#endif
