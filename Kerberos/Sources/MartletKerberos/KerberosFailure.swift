import CGSSAPI
import MartletEngine
@_spi(Toolkit) import MartletSemantics

/// The reason why there is no token, as reported by GSSAPI (RFC 2743) and Kerberos.
struct KerberosFailure: Error, Equatable {
  /// The major status of GSSAPI.
  let major: UInt32
  /// Kerberos' code; another number if SPNEGO failed.
  let minor: Int32
  /// The library's message.
  let detail: String

  /// The cause, if the user can do something about it.
  enum Reason: Equatable {
    case noTicket
    case expired
    case unknownUser
    case unknownService
    case unknownRealm
    case unreachable
    case clockSkew
    case other
  }

  var reason: Reason {
    switch Int(minor) {
    case KRB5KDC_ERR_C_PRINCIPAL_UNKNOWN, KRB5KDC_ERR_PREAUTH_FAILED: .unknownUser
    case KRB5KDC_ERR_S_PRINCIPAL_UNKNOWN: .unknownService
    case KRB5_REALM_UNKNOWN, KRB5_REALM_CANT_RESOLVE, KRB5_CONFIG_NODEFREALM, KRB5_ERR_HOST_REALM_UNKNOWN: .unknownRealm
    case KRB5_KDC_UNREACH: .unreachable
    case KRB5KRB_AP_ERR_SKEW, KRB5_KDCREP_SKEW: .clockSkew
    case KRB5KRB_AP_ERR_TKT_EXPIRED: .expired
    default:
      switch major {
      case martlet_credentials_expired: .expired
      case martlet_no_credential: .noTicket
      default: .other
      }
    }
  }

  /// Returns Kerberos' own failure, because SPNEGO hides its code; or SPNEGO's if Kerberos does not fail.
  ///
  /// - Parameters:
  ///   - time: how long SPNEGO took to fail. After two seconds or more, Kerberos is not tried: it would also wait for
  ///     key distribution centres that do not answer, so these are the cause.
  ///   - negotiate: begins a negotiation by Kerberos alone.
  func cause(after time: Duration, negotiate: () throws(KerberosFailure) -> Void) -> KerberosFailure {
    guard time < .seconds(2) else {
      return KerberosFailure(major: major, minor: Int32(KRB5_KDC_UNREACH), detail: detail)
    }
    do throws(KerberosFailure) { try negotiate() } catch { return error }
    return self
  }

  /// The error of a request to a host with the tickets of a store. If no key distribution centre can be reached, it is
  /// ``HTTPError/Kind/cannotConnect``: a retry may help.
  func error(for host: String, with store: TicketStore) -> HTTPError {
    let kind: HTTPError.Kind = reason == .unreachable ? .cannotConnect : .authenticationFailed
    let place = (store.keytab ?? store.cache).map { "; the tickets are those of \($0.printable)" } ?? ""
    let message = "no Kerberos token for HTTP@\(host): \(reason.explanation) (\(detail.printable)\(place))"
    return HTTPError(kind, message, phase: .preparing)
  }
}

extension KerberosFailure.Reason {
  fileprivate var explanation: String {
    switch self {
    case .noTicket: "there is no Kerberos ticket: run kinit, or give the program a keytab"
    case .expired: "the Kerberos ticket has expired: run kinit again"
    case .unknownUser: "the key distribution centre does not accept the keytab: its user is unknown, or its key is old"
    case .unknownService:
      "the key distribution centre does not know the service: use the host name that the service's principal has, "
        + "and check which realm krb5.conf gives it ([domain_realm])"
    case .unknownRealm: "the realm has no key distribution centre: name one in krb5.conf ([realms])"
    case .unreachable: "no key distribution centre answers"
    case .clockSkew: "the clocks of this machine and of the key distribution centre differ too much: set them"
    case .other: "GSSAPI failed"
    }
  }
}
