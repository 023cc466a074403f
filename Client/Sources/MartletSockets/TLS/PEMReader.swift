#if os(Linux)
import COpenSSL
import MartletSemantics

/// The blocks of a text in PEM (RFC 7468), in their order. Text between them is skipped.
struct PEMReader: ~Copyable {
  private let bio: OpaquePointer?
  private let data: Data
  /// Whether ``next()`` stopped at a block that cannot be read.
  private(set) var isDamaged = false

  /// Reads at most 16 MiB.
  init(_ data: Data) {
    self.data = data.prefix(16 << 20)
    bio = self.data.withUnsafeBytes { bytes -> OpaquePointer? in
      guard let bio = BIO_new(BIO_s_mem()) else { return nil }
      _ = BIO_write(bio, bytes.baseAddress, Int32(bytes.count))
      return bio
    }
  }

  deinit { BIO_free(bio) }

  /// One block: its kind and its content.
  struct Block {
    let label: String
    let content: [UInt8]

    var isCertificate: Bool { ["CERTIFICATE", "X509 CERTIFICATE", "TRUSTED CERTIFICATE"].contains(label) }

    /// The parsed certificate, which the caller frees; nil if it is damaged.
    func certificate() -> OpaquePointer? {
      content.withUnsafeBufferPointer { bytes in
        var position = bytes.baseAddress
        return label == "TRUSTED CERTIFICATE"
          ? d2i_X509_AUX(nil, &position, bytes.count) : d2i_X509(nil, &position, bytes.count)
      }
    }
  }

  /// Returns the next block; nil at the end, or where a block is damaged.
  mutating func next() -> Block? {
    var label: UnsafeMutablePointer<CChar>?
    var header: UnsafeMutablePointer<CChar>?
    var content: UnsafeMutablePointer<UInt8>?
    var count = 0
    ERR_clear_error()
    guard let bio, PEM_read_bio(bio, &label, &header, &content, &count) == 1, let label, let content else {
      isDamaged = ERR_GET_REASON(ERR_peek_last_error()) != PEM_R_NO_START_LINE
      ERR_clear_error()
      return nil
    }
    defer {
      CRYPTO_free(label, "", 0)
      CRYPTO_free(header, "", 0)
      CRYPTO_free(content, "", 0)
    }
    return Block(label: String(cString: label), content: Array(UnsafeBufferPointer(start: content, count: count)))
  }
}
#endif
