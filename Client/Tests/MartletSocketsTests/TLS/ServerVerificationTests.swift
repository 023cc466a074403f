import COpenSSL
@_spi(Toolkit) import MartletEngine
@_spi(Toolkit) import MartletSemantics
import MartletTesting
import Testing

@testable import MartletSockets

/// The verification of servers: chain, validity, host, pins, and the messages about refused servers.
@Suite(.timeLimit(.minutes(5)))
struct ServerVerificationTests {
  private let trust: MemoryTrust

  init() throws { trust = try MemoryTrust() }

  private func failure(_ connection: MemoryConnection) -> HTTPError? {
    do throws(HTTPError) {
      try connection.shakeHands()
      return nil
    } catch { return error }
  }

  // MARK: - Hosts

  @Test(arguments: [
    // RFC 9110 §4.3.4 and RFC 9525 §6.3: the whole name, whatever its case
    ("DNS:example.com", "example.com", true), ("DNS:Example.COM", "eXample.com", true),
    ("DNS:example.com", "example.org", false), ("DNS:example.com", "www.example.com", false),
    ("DNS:www.example.com", "example.com", false), ("DNS:example.com", "xexample.com", false),
    ("DNS:one.test,DNS:two.test", "two.test", true),
    // a dot at the end says only that the name is complete
    ("DNS:example.com", "example.com.", true),
    // a wildcard is the whole first label, and stands for exactly one
    ("DNS:*.example.com", "www.example.com", true), ("DNS:*.example.com", "a.b.example.com", false),
    ("DNS:*.example.com", "example.com", false), ("DNS:w*.example.com", "www.example.com", false),
    ("DNS:*w.example.com", "www.example.com", false), ("DNS:www.*.com", "www.example.com", false),
    ("DNS:*.*.com", "www.example.com", false), ("DNS:*.com", "example.com", false), ("DNS:*", "localhost", false),
    // names in A-labels (RFC 9525 §6.3)
    ("DNS:xn--bcher-kva.example", "xn--bcher-kva.example", true),
    ("DNS:xn--*.example.com", "xn--bcher.example.com", false),
    // addresses are compared with addresses (RFC 9110 §4.3.5)
    ("IP:192.0.2.1", "192.0.2.1", true), ("IP:192.0.2.1", "192.0.2.2", false), ("DNS:192.0.2.1", "192.0.2.1", false),
    ("DNS:*.0.2.1", "192.0.2.1", false), ("IP:2001:db8::1", "2001:db8::1", true),
    ("IP:2001:db8::1", "[2001:db8:0::1]", true), ("IP:fe80::1", "fe80::1%eth0", true),
    ("IP:2001:db8::1", "2001:db8::2", false), ("IP:::ffff:192.0.2.1", "192.0.2.1", false),
    ("URI:https://example.com", "example.com", false), ("email:example.com", "example.com", false),
  ])
  func theCertificateMustBeForTheHost(names: String, host: String, isTrusted: Bool) throws {
    let identity = try trust.authority.server(names, subject: "unrelated")
    let error = failure(try trust.connection(host: host, to: identity))
    #expect((error == nil) == isTrusted, "\(String(describing: error))")
    if !isTrusted { #expect(error?.kind == .untrustedCertificate) }
  }

  @Test func theSubjectIsNoName() throws {
    let identity = try trust.authority.server(nil, subject: "example.com")
    let error = failure(try trust.connection(to: identity))
    #expect(error?.kind == .untrustedCertificate)
    #expect(error?.message.contains("names no host") == true)
  }

  // MARK: - Faults

  @Test func anExpiredCertificateIsNamed() throws {
    let identity = try trust.authority.server("DNS:example.com", validity: -86400 ... -60)
    let connection = try trust.connection(to: identity)
    let error = failure(connection)
    #expect(error?.kind == .untrustedCertificate)
    #expect(error?.phase == .securing)
    #expect(
      error?.message.hasPrefix("example.com: the server is not trusted: the certificate of 'server' expired at 20")
        == true)
    #expect(connection.client.trustFailure?.problems.count == 1)
  }

  @Test func aCertificateThatIsNotYetValidIsNamed() throws {
    let identity = try trust.authority.server("DNS:example.com", validity: 3600...86400)
    let error = failure(try trust.connection(to: identity))
    #expect(error?.kind == .untrustedCertificate)
    #expect(error?.message.contains("is valid only from 20") == true)
  }

  @Test func aWrongHostIsNamedWithThoseOfTheCertificate() throws {
    let identity = try trust.authority.server("DNS:one.test,IP:192.0.2.7,IP:2001:db8::7")
    let connection = try trust.connection(to: identity)
    let error = failure(connection)
    #expect(error?.message.contains("is for one.test, 192.0.2.7, 2001:db8::7 and not for example.com") == true)
    #expect(connection.client.trustFailure?.problems == [.wrongHost(names: ["one.test", "192.0.2.7", "2001:db8::7"])])
  }

  @Test func anUnknownIssuerIsNamed() throws {
    let stranger = try MemoryAuthority("Strange Authority")
    let connection = try trust.connection(to: stranger.server("DNS:example.com"))
    let error = failure(connection)
    #expect(connection.client.trustFailure?.problems == [.unknownIssuer("Strange Authority")])
    #expect(error?.message.contains("issuer 'Strange Authority' is not known") == true)
    #expect(error?.message.contains("authority.pem") == true)
  }

  @Test func anAuthorityThatIsSentIsNotTrustedForThat() throws {
    let stranger = try MemoryAuthority("Strange Authority")
    let connection = try trust.connection(to: stranger.server("DNS:example.com")) { $0.chain = [stranger.identity] }
    #expect(failure(connection)?.kind == .untrustedCertificate)
    #expect(connection.client.trustFailure?.problems == [.unknownIssuer("Strange Authority")])
    #expect(connection.client.certificates.last == stranger.identity.data)
  }

  @Test func aSelfSignedCertificateIsNamed() throws {
    let identity = try trust.authority.server("DNS:example.com", isSelfSigned: true)
    let connection = try trust.connection(to: identity)
    #expect(failure(connection)?.message.contains("self-signed") == true)
    #expect(connection.client.trustFailure?.problems == [.selfSigned])
  }

  @Test func allThatIsWrongIsNamed() throws {
    let stranger = try MemoryAuthority("Strange Authority")
    let identity = try stranger.server("DNS:one.test", validity: -86400 ... -60)
    let connection = try trust.connection(to: identity, context: trust.context { $0.pinnedPublicKeys = ["AAAA"] })
    let error = failure(connection)
    let problems = try #require(connection.client.trustFailure?.problems)
    #expect(problems.count == 4)
    #expect(problems.contains(.unknownIssuer("Strange Authority")))
    #expect(problems.contains(.wrongHost(names: ["one.test"])))
    #expect(error?.kind == .untrustedCertificate)
    #expect(error?.message.contains("expired") == true)
    #expect(error?.message.contains("pin") == true)
  }

  @Test func aCertificateForAnotherPurposeIsRefused() throws {
    let identity = try trust.authority.server("DNS:example.com", purpose: "clientAuth")
    let connection = try trust.connection(to: identity)
    #expect(failure(connection)?.kind == .untrustedCertificate)
    #expect(connection.client.trustFailure?.problems.count == 1)
  }

  // MARK: - Chains

  @Test func certificatesBetweenServerAndAuthorityAreSentByTheServer() throws {
    let between = try MemoryAuthority("Between", issuedBy: trust.authority)
    let identity = try between.server("DNS:example.com")

    let whole = try trust.connection(to: identity) { $0.chain = [between.identity] }
    #expect(failure(whole) == nil)
    #expect(whole.client.certificates == [identity.data, between.identity.data])

    let incomplete = try trust.connection(to: identity)
    #expect(failure(incomplete)?.kind == .untrustedCertificate)
    #expect(incomplete.client.trustFailure?.problems == [.unknownIssuer("Between")])
  }

  @Test func aServersCertificateIsNoAuthority() throws {
    let fake = MemoryAuthority(trust.server)
    let identity = try fake.server("DNS:example.com")
    let connection = try trust.connection(to: identity) { $0.chain = [trust.server] }
    #expect(failure(connection)?.kind == .untrustedCertificate)
  }

  @Test func aNamedAuthorityIsTrustedAlthoughAnotherHasIssuedIt() throws {
    let between = try MemoryAuthority("Between", issuedBy: MemoryAuthority())
    try trust.folder.write(between.identity.pem, to: "between.pem")
    let context = try trust.context { $0.authorities = trust.folder.file("between.pem") }
    #expect(failure(try trust.connection(to: between.server("DNS:example.com"), context: context)) == nil)
  }

  @Test(arguments: TLSSessionTests.versions)
  func theCertificatesOfARefusedServerAreKept(version: Int32) throws {
    let stranger = try MemoryAuthority()
    let identity = try stranger.server("DNS:example.com")
    let connection = try trust.connection(to: identity) {
      $0.chain = [stranger.identity]
      $0.versions = version...version
    }
    let error = failure(connection)
    #expect(connection.client.certificates == [identity.data, stranger.identity.data])
    #expect((error?.underlying as? TrustFailure)?.certificates == connection.client.certificates)
    let refusal = try #require(connection.client.refusal)
    #expect(error?.message == "example.com: the server is not trusted: " + refusal)

    // the server gets the reason, and every further call fails in the same way
    connection.server.receive(connection.client.takeOutgoing())
    #expect(connection.server.handshake()?.contains("alert unknown ca") == true)
    #expect(throws: HTTPError.self) { try connection.client.handshake() }
    #expect(throws: HTTPError.self) { try connection.client.write([1]) }
    #expect(throws: HTTPError.self) { try connection.client.readAll() }
  }

  // MARK: - Pins

  @Test(arguments: TLSSessionTests.versions)
  func theServerMustHaveOneOfThePinnedKeys(version: Int32) throws {
    let pin = try #require(Certificate(raw: trust.server.certificate).pin)
    let other = try #require(Certificate(raw: trust.authority.identity.certificate).pin)

    let right = try trust.connection(context: trust.context { $0.pinnedPublicKeys = [other, pin] }) {
      $0.versions = version...version
    }
    #expect(failure(right) == nil)

    let wrong = try trust.connection(context: trust.context { $0.pinnedPublicKeys = [other] }) {
      $0.versions = version...version
    }
    let error = failure(wrong)
    #expect(error?.kind == .pinMismatch)
    #expect(error?.phase == .securing)
    #expect(error?.message.contains(pin) == true)
    #expect(wrong.client.certificates == [trust.server.data])
  }

  @Test func aPinIsTheHashOfTheKey() throws {
    let data = try #require(CertificateSyntax.publicKeyInfo(of: trust.server.data))
    let pin = MessageDigest.hash(.sha256, data)?.base64EncodedString()
    #expect(Certificate(raw: trust.server.certificate).pin == pin)
  }

  // MARK: - The switch for development

  private func holding(_ change: (inout TLSSettings) -> Void = { _ in }) throws -> TLSContext {
    var settings = trust.settings
    change(&settings)
    return try TLSContext(settings, refusedChains: .hold)
  }

  @Test(arguments: TLSSessionTests.versions)
  func aRefusedChainCanBeAcceptedOnlyExplicitly(version: Int32) throws {
    let stranger = try MemoryAuthority("Strange Authority").server("DNS:one.test")
    let connection = try trust.connection(to: stranger, context: holding()) { $0.versions = version...version }

    #expect(failure(connection) == nil)
    #expect(connection.client.trustFailure?.problems.count == 2)
    connection.server.write(Array("early".utf8))
    connection.client.receive(connection.server.takeOutgoing())
    #expect(try connection.client.readAll().result == .needsMore)
    let error = #expect(throws: HTTPError.self) { try connection.client.write([1]) }
    #expect(error?.kind == .untrustedCertificate)
    #expect(connection.client.outgoing.isEmpty)

    connection.client.acceptRefusedChain()
    try connection.client.write(Array("accepted".utf8))
    #expect(connection.readAtServer() == Array("accepted".utf8))
    #expect(try connection.client.readAll().bytes == Array("early".utf8))
  }

  @Test func aTrustedChainNeedsNoAcceptance() throws {
    let connection = try trust.connection(context: holding())
    #expect(failure(connection) == nil)
    try connection.client.write([1])
    #expect(connection.client.trustFailure == nil)
  }

  @Test func aKeyThatIsNotPinnedCannotBeAccepted() throws {
    let stranger = try MemoryAuthority().server("DNS:example.com")
    for identity in [stranger, trust.server] {
      let connection = try trust.connection(to: identity, context: holding { $0.pinnedPublicKeys = ["AAAA"] })
      #expect(failure(connection)?.isTLSFailure == true)
      connection.client.acceptRefusedChain()
      #expect(throws: HTTPError.self) { try connection.client.write([1]) }
    }
  }

  @Test func aHandshakeThatFailsForAnotherReasonIsNotBlamedOnTheChain() throws {
    let identity = try trust.authority.server("DNS:example.com", isSelfSigned: true)
    let connection = try trust.connection(to: identity, context: holding()) {
      $0.clients = trust.authority.identity
      $0.versions = TLS1_2_VERSION...TLS1_2_VERSION
    }
    let error = failure(connection)
    #expect(connection.client.trustFailure?.problems == [.selfSigned])
    #expect(error?.kind == .tlsFailed)
    #expect(error?.message.contains("requires a client certificate") == true, "\(error?.message ?? "")")
  }

  @Test func anAcceptedChainIsNotResumed() throws {
    let stranger = try MemoryAuthority().server("DNS:example.com")
    let context = try holding()
    let first = try trust.connection(to: stranger, context: context)
    try first.shakeHands()
    first.client.acceptRefusedChain()
    _ = try first.readAtClient()

    let second = try trust.connection(to: stranger, context: context, like: first.server.context)
    try second.shakeHands()
    #expect(!second.client.isResumed)
    #expect(second.client.trustFailure != nil)
  }
}
