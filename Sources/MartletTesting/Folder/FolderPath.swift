import MartletSemantics

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Finds the file that a path of a URL means, never one outside the folder.
enum FolderPath {
  /// The names between the slashes, percent-decoded once; nil if one of them could lead elsewhere: `.`, `..`, a slash or
  /// a NUL in a name, an empty name, bytes that are not UTF-8.
  static func names(in path: some StringProtocol) -> [String]? {
    guard path.hasPrefix("/") else { return nil }
    var names: [String] = []
    let parts = path.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
    for (index, part) in parts.enumerated() {
      // A slash at the end means the folder itself.
      if part.isEmpty, index == parts.count - 1 { break }
      guard let name = decoded(part.utf8) else { return nil }
      guard !name.isEmpty, name != ".", name != "..", !name.utf8.contains(where: { $0 == 0 || $0 == 47 }) else {
        return nil
      }
      names.append(name)
    }
    return names
  }

  /// The true path of the file, all symbolic links followed; nil if there is none, or if it is not in the folder.
  static func resolve(_ names: [String], in root: String) -> String? {
    guard let root = truePath(root), let path = truePath(([root] + names).joined(separator: "/")) else { return nil }
    guard path == root || path.hasPrefix(root == "/" ? root : root + "/") else { return nil }
    return path
  }

  /// Undoes percent-encoding (RFC 3986 §2.1); nil if an escape is broken or the result is not UTF-8.
  private static func decoded(_ text: some Sequence<UInt8>) -> String? {
    var bytes: [UInt8] = []
    var rest = text.makeIterator()
    while let byte = rest.next() {
      guard byte == 37 else {
        bytes.append(byte)
        continue
      }
      guard let high = rest.next().flatMap(hexDigit), let low = rest.next().flatMap(hexDigit) else { return nil }
      bytes.append(high << 4 | low)
    }
    return String(validating: bytes, as: UTF8.self)
  }

  private static func hexDigit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case 48...57: byte - 48
    case 65...70: byte - 55
    case 97...102: byte - 87
    default: nil
    }
  }

  private static func truePath(_ path: String) -> String? {
    guard let resolved = realpath(path, nil) else { return nil }
    defer { free(resolved) }
    return String(cString: resolved)
  }
}
