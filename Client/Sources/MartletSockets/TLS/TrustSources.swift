#if os(Linux)
import COpenSSL
import MartletEngine
import MartletSemantics

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// The sources of certificate authorities: files and folders. Files are read at once. Folders have one file per
/// authority, named by the hash of its subject (`openssl rehash`), and are searched when an authority is needed.
struct TrustSources: Hashable, Sendable {
  /// A file in PEM.
  struct File: Hashable, Sendable {
    var path: String
    /// The environment variable that names it, for messages.
    var variable: String?
    /// Whether it belongs to the system: its certificates that OpenSSL cannot parse are skipped.
    var isSystems = false
  }

  var files: [File] = []
  var folders: [String] = []

  /// The sources of settings. ``TLSSettings/authorities`` replaces the system's; ``TLSSettings/additionalAuthorities``
  /// adds to either.
  init(_ settings: TLSSettings, system: SystemAuthorities = .current) {
    if let authorities = settings.authorities {
      files = [File(path: authorities.path)]
    } else {
      self = system.sources
    }
    if let additional = settings.additionalAuthorities { files.append(File(path: additional.path)) }
  }

  fileprivate init(files: [File], folders: [String]) {
    self.files = files
    self.folders = folders
  }

  /// The files and folders, for messages.
  var description: String {
    let all = files.map(\.path) + folders
    return all.isEmpty ? "this system has none in the usual places" : all.joined(separator: ", ")
  }
}

/// The locations of the system's authorities: the folder of hashed names, which costs nothing until it is needed, or
/// else a file with all of them. As with OpenSSL, `SSL_CERT_FILE` names another file, and `SSL_CERT_DIR` other folders,
/// separated by colons.
struct SystemAuthorities: Sendable {
  /// The value of `SSL_CERT_FILE`; nil if it is not set.
  var namedFile: String?
  /// The value of `SSL_CERT_DIR`; nil if it is not set.
  var namedFolders: String?
  /// The folders and files of the distributions, in the order in which they are tried.
  var folders: [String]
  var files: [String]

  /// The authorities of this process. A program with more rights than its user (setuid) ignores the environment.
  static var current: SystemAuthorities {
    func variable(_ name: String) -> String? {
      OPENSSL_issetugid() == 1 ? nil : getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
    }
    func text(_ pointer: UnsafePointer<CChar>?) -> [String] { pointer.map { [String(cString: $0)] } ?? [] }
    return SystemAuthorities(
      namedFile: variable("SSL_CERT_FILE"), namedFolders: variable("SSL_CERT_DIR"),
      folders: text(X509_get_default_cert_dir()) + [
        "/etc/ssl/certs", "/etc/pki/ca-trust/extracted/pem/directory-hash",
      ],
      files: text(X509_get_default_cert_file()) + [
        "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem",
        "/etc/ssl/cert.pem",
      ])
  }

  var sources: TrustSources {
    let named = namedFile.map { [TrustSources.File(path: $0, variable: "SSL_CERT_FILE", isSystems: true)] } ?? []
    if let namedFolders {
      return TrustSources(files: named, folders: namedFolders.split(separator: ":").map(String.init))
    }
    if let folder = folders.first(where: Self.hasHashedNames) { return TrustSources(files: named, folders: [folder]) }
    if !named.isEmpty { return TrustSources(files: named, folders: []) }
    let file = files.first { access($0, R_OK) == 0 }
    return TrustSources(files: file.map { [TrustSources.File(path: $0, isSystems: true)] } ?? [], folders: [])
  }

  /// Whether a folder has a file with a name like `002c0b4f.0`.
  private static func hasHashedNames(_ folder: String) -> Bool {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    return names.contains { name in
      let parts = name.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
      return parts.count == 2 && parts[0].count == 8 && !parts[1].isEmpty
        && parts[0].allSatisfy { ("0"..."9").contains(Unicode.Scalar($0)) || ("a"..."f").contains(Unicode.Scalar($0)) }
        && parts[1].allSatisfy { ("0"..."9").contains(Unicode.Scalar($0)) }
    }
  }
}
#endif
