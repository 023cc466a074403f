import CGSSAPI
import MartletEngine
import MartletSemantics
import Testing

@testable import MartletKerberos

/// The meaning of GSSAPI and Kerberos codes for a caller.
struct KerberosFailureTests {
  private typealias Row = (major: UInt32, minor: Int, kind: HTTPError.Kind, words: String)

  @Test func everyCodeHasItsRemedy() {
    let (failed, none, expired) = (UInt32(13 << 16), martlet_no_credential, martlet_credentials_expired)
    let table: [Row] = [
      (none, KRB5_CC_NOTFOUND, .authenticationFailed, "run kinit, or give the program a keytab"),
      (none, 0, .authenticationFailed, "run kinit, or give the program a keytab"),
      (expired, 0, .authenticationFailed, "run kinit again"),
      (failed, KRB5KRB_AP_ERR_TKT_EXPIRED, .authenticationFailed, "run kinit again"),
      (none, KRB5KDC_ERR_C_PRINCIPAL_UNKNOWN, .authenticationFailed, "does not accept the keytab"),
      (none, KRB5KDC_ERR_PREAUTH_FAILED, .authenticationFailed, "does not accept the keytab"),
      (failed, KRB5KDC_ERR_S_PRINCIPAL_UNKNOWN, .authenticationFailed, "does not know the service"),
      (failed, KRB5_REALM_UNKNOWN, .authenticationFailed, "krb5.conf ([realms])"),
      (failed, KRB5_ERR_HOST_REALM_UNKNOWN, .authenticationFailed, "krb5.conf ([realms])"),
      (failed, KRB5_KDC_UNREACH, .cannotConnect, "no key distribution centre answers"),
      (none, KRB5_KDC_UNREACH, .cannotConnect, "no key distribution centre answers"),
      (failed, KRB5KRB_AP_ERR_SKEW, .authenticationFailed, "the clocks of this machine"),
      (failed, KRB5_KDCREP_SKEW, .authenticationFailed, "the clocks of this machine"),
      (failed, 100_001, .authenticationFailed, "GSSAPI failed"),
    ]
    for row in table {
      let failure = KerberosFailure(major: row.major, minor: Int32(row.minor), detail: "the library's words")
      let error = failure.error(for: "a.example", with: TicketStore(cache: nil, keytab: nil))
      #expect(error.kind == row.kind, "\(row)")
      #expect(error.message.hasPrefix("no Kerberos token for HTTP@a.example: "))
      #expect(error.message.contains(row.words), "\(row)")
      #expect(error.message.hasSuffix(" (the library's words)"))
      #expect(error.phase == .preparing)
    }
  }

  @Test func kerberosTellsTheCauseUnlessSPNEGOHasWaited() {
    let hidden = KerberosFailure(major: 13 << 16, minor: 100_001, detail: "SPNEGO's words")
    let own = KerberosFailure(major: 13 << 16, minor: Int32(KRB5KRB_AP_ERR_SKEW), detail: "the clocks")
    let told = hidden.cause(after: .milliseconds(1999)) { () throws(KerberosFailure) in throw own }
    #expect(told == own)
    let untold = hidden.cause(after: .zero) {}
    #expect(untold == hidden)

    let slow = hidden.cause(after: .seconds(2)) { Issue.record("the centres are waited for again") }
    let error = slow.error(for: "a.example", with: TicketStore(cache: nil, keytab: nil))
    #expect(error.kind == .cannotConnect)
    #expect(error.message.hasSuffix("no key distribution centre answers (SPNEGO's words)"))
  }

  @Test func theLibrarysWordsControlNoTerminal() {
    let failure = KerberosFailure(major: 13 << 16, minor: 0, detail: "Server \u{1B}[2J\nhttp/x not found")
    #expect(
      failure.error(for: "a.example", with: TicketStore(cache: nil, keytab: nil)).message.hasSuffix(
        "(Server  [2J http/x not found)"))
  }
}
