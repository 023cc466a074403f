#if os(Linux)
import CCurl
import MartletEngine
import MartletSemantics

/// Which authorities a transport trusts, read once.
enum Trust: Sendable {
  /// What libcurl was built with.
  case system
  /// Those of a file, which libcurl reads.
  case file(URL)
  /// Those of several files.
  case certificates(Data)
}

extension TLSSettings {
  /// Reads the files, where there are several.
  func trust() throws(HTTPError) -> Trust {
    guard let additional = additionalAuthorities else { return authorities.map { .file($0) } ?? .system }
    let system = martlet_default_authorities().map { URL(filePath: String(cString: $0)) }
    var certificates = Data()
    // a system without such a file has a folder, in which OpenSSL looks all the same
    for file in [authorities ?? system, additional].compactMap({ $0 }) {
      do {
        certificates += try Data(contentsOf: file) + Data("\n".utf8)
      } catch {
        if file == system, authorities == nil, file != additional { continue }
        throw HTTPError(
          .tlsFailed, "the certificate authorities in '\(file.path)' cannot be read", phase: .preparing,
          underlying: error)
      }
    }
    return .certificates(certificates)
  }
}
#endif
