#if os(Linux)
@testable import MartletEngine
@testable import MartletSemantics
@testable import MartletSockets

/// Containers of certificates and keys (PKCS#12), PEM and DER: each is opened, or the error states the reason, without
/// the password.
enum KeyFiles {
  private static let password = "correct horse"

  static func run(_ input: inout Input) throws {
    let data = Data(input.bytes)
    do throws(HTTPError) {
      _ = try PKCS12Container(data, name: "input", password: password).identity()
    } catch {
      let kinds: [HTTPError.Kind] = [.badClientCertificate, .badClientCertificatePassword]
      check(kinds.contains(error.kind) && error.message.contains("input"), "\(error)")
      check(!"\(error)".contains(password), "the password is in the error")
    }
    var reader = PEMReader(data)
    var size = 0
    while let block = reader.next() { size += block.content.count }
    check(size <= data.count, "\(size) bytes in \(data.count) of PEM")
    if let key = CertificateSyntax.publicKeyInfo(of: data) { check(key.count <= data.count, "a key of \(key.count)") }
  }
}
#endif
