@_spi(Toolkit) import MartletSemantics
import Testing

/// `Repr-Digest` and `Content-Digest` (RFC 9530): dictionaries of byte sequences (RFC 9651 §3.2).
@Suite(.timeLimit(.minutes(5)))
struct DigestFieldTests {
  private static let short = Data(repeating: 1, count: 32)
  private static let long = Data(repeating: 2, count: 64)
  private static let sha256 = "sha-256=:\(short.base64EncodedString()):"
  private static let sha512 = "sha-512=:\(long.base64EncodedString()):"

  @Test(
    arguments: [
      ([sha256], .sha256), ([sha512], .sha512), (["\(sha256), \(sha512)"], .sha512), ([sha512, sha256], .sha512),
      (["\(sha256);q=1"], .sha256), (["md5=:AAAA:, \(sha256)"], .sha256), (["unixsum=3, \(sha256)"], .sha256),
      (["x=\"a, sha-512=:b:\", \(sha256)"], .sha256), (["sha-256=:AAAA:, \(sha256)"], nil),
      ([], nil), ([""], nil), (["sha-256"], nil), (["sha-256=abc"], nil), (["sha-256=:abc"], nil),
      (["sha-256=::"], nil),
      (["\(sha256)x"], nil), (["SHA-256=:AAAA:"], nil), (["\(sha256), sha-512=:AAAA:"], nil),
    ] as [([String], RepresentationDigest.Algorithm?)])
  func theStrongestDigestCounts(values: [String], algorithm: RepresentationDigest.Algorithm?) {
    var fields = HTTPFields()
    for value in values { fields.append(value, for: "Repr-Digest") }
    let digest = RepresentationDigest.strongest(of: "Repr-Digest", in: fields)
    #expect(digest?.algorithm == algorithm)
    if let digest { #expect(digest.bytes == (digest.algorithm == .sha256 ? Self.short : Self.long)) }
  }

  @Test func theFormOfTheFieldIsReadAgain() {
    let digest = RepresentationDigest(.sha256, Self.short)
    #expect(digest.text == Self.sha256)
    #expect(RepresentationDigest.strongest(of: "Content-Digest", in: ["Content-Digest": digest.text]) == digest)
  }
}
