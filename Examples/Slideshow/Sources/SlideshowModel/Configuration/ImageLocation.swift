package import MartletSemantics

/// Makes URLs from the file names that a server provides: below the base, whatever the names contain.
package struct ImageLocation: Sendable {
  private let base: URL

  /// Makes a location from the folder's URL, with or without a trailing slash.
  package init(base: URL) { self.base = base }

  /// The URLs to try, in this order. A name without a picture's extension means the `.jpeg` of that name, or otherwise
  /// the file without an extension.
  ///
  /// The name is a name, not a part of a URL: spaces, umlauts, `?`, `#` and `%` in it are encoded. It may lead into
  /// folders below the base. An absolute URL, an absolute path or a `..` is refused.
  package func urls(for fileName: String?) throws(PictureError) -> [URL] {
    guard let name = fileName, !name.isEmpty else { throw .noFileName }
    try check(name)
    let names = ImageFileName.hasExtension(name) ? [name] : [name + ".jpeg", name]
    var urls: [URL] = []
    for candidate in names { urls.append(try url(for: candidate)) }
    return urls
  }

  private func check(_ name: String) throws(PictureError) {
    if name.hasPrefix("/") || name.contains("://") {
      throw .refusedFileName(name, reason: "an absolute URL or path leads out of the folder of the images")
    }
    if name.unicodeScalars.contains(where: { $0.value < 0x20 || $0.value == 0x7F }) {
      throw .refusedFileName(name, reason: "it contains a control character")
    }
    for part in name.split(separator: "/", omittingEmptySubsequences: false) {
      if part == "." || part == ".." {
        throw .refusedFileName(name, reason: "'\(part)' leads out of the folder of the images")
      }
      if part.isEmpty { throw .refusedFileName(name, reason: "it has an empty part between slashes") }
    }
  }

  private func url(for name: String) throws(PictureError) -> URL {
    guard var parts = URLComponents(url: base, resolvingAgainstBaseURL: true) else {
      throw .refusedFileName(name, reason: "the URL of the folder of the images cannot be taken apart")
    }
    let folder = parts.percentEncodedPath
    parts.percentEncodedPath = (folder.hasSuffix("/") ? folder : folder + "/") + Self.encoded(name)
    parts.fragment = nil
    guard let url = parts.url else { throw .refusedFileName(name, reason: "no URL can be made of it") }
    return url
  }

  /// Percent-encodes everything except the unreserved characters of RFC 3986 §2.3 and the slash.
  private static func encoded(_ name: String) -> String {
    let digits = Array("0123456789ABCDEF")
    var text = ""
    for byte in name.utf8 {
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
        UInt8(ascii: "~"), UInt8(ascii: "/"):
        text.unicodeScalars.append(Unicode.Scalar(byte))
      default:
        text += "%" + String([digits[Int(byte >> 4)], digits[Int(byte & 15)]])
      }
    }
    return text
  }
}
