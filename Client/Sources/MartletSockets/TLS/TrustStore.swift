#if os(Linux)
import COpenSSL
import CSockets
@_spi(Toolkit) import MartletEngine
import MartletSemantics
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// The certificate authorities of contexts. They are parsed once per process for all contexts with the same sources,
/// because a system's file with all authorities takes about 20 ms.
// SAFETY: OpenSSL locks a store's list of certificates; everything else of it is complete after `init`.
final class TrustStore: @unchecked Sendable {
  let raw: OpaquePointer

  private init(_ raw: OpaquePointer) { self.raw = raw }

  deinit { X509_STORE_free(raw) }

  /// Returns the store of the sources, from memory if no file has changed.
  ///
  /// - Throws: ``HTTPError/Kind/tlsFailed`` with the name of a file that cannot be read.
  static func shared(_ sources: TrustSources) throws(HTTPError) -> TrustStore {
    let key = Key(sources: sources, versions: sources.files.map { FileVersion($0.path) })
    if let store = stores.withLock({ $0.first { $0.key == key }?.store }) { return store }
    let store = try TrustStore(reading: sources)
    stores.withLock { stores in
      // An outdated version of the same files is not needed again.
      stores.removeAll { $0.key.sources == sources }
      stores = stores.suffix(7) + [(key, store)]
    }
    return store
  }

  private struct Key: Hashable, Sendable {
    let sources: TrustSources
    let versions: [FileVersion]
  }

  private static let stores = Mutex<[(key: Key, store: TrustStore)]>([])

  private convenience init(reading sources: TrustSources) throws(HTTPError) {
    CryptoLibrary.start()
    guard let raw = X509_STORE_new() else { throw HTTPError(.tlsFailed, "no memory for TLS", phase: .preparing) }
    self.init(raw)
    // A named authority is trusted even if another authority has issued it.
    X509_STORE_set_flags(raw, UInt(X509_V_FLAG_PARTIAL_CHAIN | X509_V_FLAG_TRUSTED_FIRST))
    for file in sources.files { try add(file) }
    for folder in sources.folders {
      guard let lookup = X509_STORE_add_lookup(raw, X509_LOOKUP_hash_dir()) else { continue }
      // A missing folder has no authorities.
      X509_LOOKUP_ctrl(lookup, X509_L_ADD_DIR, folder, Int(X509_FILETYPE_PEM), nil)
    }
    ERR_clear_error()
  }

  private func add(_ file: TrustSources.File) throws(HTTPError) {
    let origin = file.variable.map { " (named by \($0))" } ?? ""
    let what = "the certificate authorities in '\(file.path)'\(origin) cannot be read"
    let data: Data
    do { data = try SpareDescriptors.contents(of: URL(filePath: file.path)) } catch {
      throw HTTPError(.tlsFailed, what, phase: .preparing, underlying: error)
    }
    var reader = PEMReader(data)
    var count = 0
    while let block = reader.next() {
      guard block.isCertificate else { continue }
      if let certificate = block.certificate() {
        defer { X509_free(certificate) }
        if X509_STORE_add_cert(raw, certificate) == 1 { count += 1 }
      } else if !file.isSystems {
        throw HTTPError(.tlsFailed, "\(what): certificate \(count + 1) is damaged", phase: .preparing)
      }
    }
    if reader.isDamaged, !file.isSystems {
      throw HTTPError(.tlsFailed, "\(what): the text behind certificate \(count) is damaged", phase: .preparing)
    }
    guard count > 0 || file.isSystems else {
      throw HTTPError(.tlsFailed, "\(what): there is no certificate in PEM", phase: .preparing)
    }
  }
}
#endif
