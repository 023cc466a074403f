import MartletSemantics
import Testing

/// Certificates made by hand (RFC 5280 §4.1); those made by openssl are in the tests of the transport.
@Suite struct CertificateSyntaxTests {
  private static let key: [UInt8] = [0x30, 0x03, 0x02, 0x01, 0x07]

  private static func element(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
    content.count < 0x80
      ? [tag, UInt8(content.count)] + content
      : [tag, 0x82, UInt8(content.count >> 8), UInt8(content.count & 0xFF)] + content
  }

  private static func certificate(version: Bool = true, issuer: [UInt8] = [], rest: [UInt8] = []) -> Data {
    let head = version ? element(0xA0, [0x02, 0x01, 0x02]) : []
    let serial = element(0x02, [0x01])
    let names = element(0x30, []) + element(0x30, issuer) + element(0x30, []) + element(0x30, [])
    return Data(element(0x30, element(0x30, head + serial + names + key + rest) + element(0x30, [])))
  }

  @Test func thePublicKeyFollowsTheSubject() {
    #expect(CertificateSyntax.publicKeyInfo(of: Self.certificate()) == Data(Self.key))
    #expect(CertificateSyntax.publicKeyInfo(of: Self.certificate(version: false)) == Data(Self.key))
    let long = Self.certificate(issuer: [UInt8](repeating: 5, count: 300), rest: Self.element(0xA3, [1, 2, 3]))
    #expect(CertificateSyntax.publicKeyInfo(of: long) == Data(Self.key))
  }

  @Test func aSliceIsReadAsWell() {
    let whole = Data([1, 2, 3]) + Self.certificate()
    #expect(CertificateSyntax.publicKeyInfo(of: whole.dropFirst(3)) == Data(Self.key))
  }

  @Test func whatIsCutIsNoCertificate() {
    let whole = Self.certificate(issuer: [UInt8](repeating: 5, count: 300))
    for count in 0..<whole.count { #expect(CertificateSyntax.publicKeyInfo(of: whole.prefix(count)) == nil) }
  }

  @Test(
    arguments: [
      [], [0x30], [0x30, 0x80], [0x30, 0x85, 1, 1, 1, 1, 1], [0x30, 0x84, 0xFF, 0xFF, 0xFF, 0xFF, 0],
      [0x31, 0x02, 0x30, 0x00], [0x30, 0x02, 0x30, 0x00], [0x30, 0x02, 0x30, 0x05, 0x30, 0x00, 0x30, 0x00, 0x30],
    ] as [[UInt8]])
  func nonsenseIsNoCertificate(bytes: [UInt8]) {
    #expect(CertificateSyntax.publicKeyInfo(of: Data(bytes)) == nil)
  }
}
