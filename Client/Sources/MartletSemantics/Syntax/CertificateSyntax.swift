/// The structure of an X.509 certificate (RFC 5280 §4.1) in DER (X.690), up to its public key.
package enum CertificateSyntax {
  private static let sequence: UInt8 = 0x30
  private static let version: UInt8 = 0xA0

  /// The `SubjectPublicKeyInfo` of a certificate, with its tag and length; nil if the bytes are not a certificate.
  package static func publicKeyInfo(of certificate: Data) -> Data? {
    guard let outer = element(at: certificate.startIndex, in: certificate), outer.tag == sequence,
      let body = element(at: outer.content.lowerBound, in: certificate), body.tag == sequence,
      body.content.upperBound <= outer.content.upperBound
    else { return nil }
    var position = body.content.lowerBound
    // serialNumber, signature, issuer, validity, subject; before them the version, which may be omitted
    var fieldsBefore = 5
    while let field = element(at: position, in: certificate[..<body.content.upperBound]) {
      if fieldsBefore == 0 {
        return field.tag == sequence ? Data(certificate[position..<field.content.upperBound]) : nil
      }
      if field.tag != version || fieldsBefore < 5 { fieldsBefore -= 1 }
      position = field.content.upperBound
    }
    return nil
  }

  /// The tag of the element at a position, and the range of its content. Supports tags of one byte and lengths of up to
  /// four, which suffice for certificates.
  private static func element(at position: Data.Index, in data: Data) -> (tag: UInt8, content: Range<Data.Index>)? {
    guard data.endIndex - position >= 2 else { return nil }
    let tag = data[position], first = Int(data[position + 1])
    var start = position + 2, length = first
    if first >= 0x80 {
      let count = first & 0x7F
      guard (1...4).contains(count), data.endIndex - start >= count else { return nil }
      length = data[start..<(start + count)].reduce(0) { $0 << 8 | Int($1) }
      start += count
    }
    guard length <= data.endIndex - start else { return nil }
    return (tag, start..<(start + length))
  }
}
