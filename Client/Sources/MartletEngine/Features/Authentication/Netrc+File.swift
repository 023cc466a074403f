public import MartletSemantics

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

extension Netrc {
  /// Reads a file. Later changes of the file have no effect.
  ///
  /// - Parameter url: the file. nil, the default, means the file at the path in `$NETRC`, or `.netrc` in the user's
  ///   home directory; if the latter does not exist, the result is empty.
  /// - Throws: ``HTTPError`` of kind ``HTTPError/Kind/file`` if the file cannot be read, is not valid, or is accessible
  ///   to users other than its owner.
  public static func file(_ url: URL? = nil) throws(HTTPError) -> Netrc {
    let named = url?.path ?? getenv("NETRC").map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
    let path = named ?? URL.homeDirectory.appending(component: ".netrc").path
    var status = stat()
    guard stat(path, &status) == 0 else {
      if named == nil, errno == ENOENT { return Netrc() }
      throw .file(path, "cannot be read", code: errno, phase: .preparing)
    }
    guard status.st_mode & 0o077 == 0 else {
      throw HTTPError(.file, "'\(path)' is accessible to others than its owner: chmod 600 '\(path)'", phase: .preparing)
    }
    do {
      let content = try SpareDescriptors.contents(of: URL(filePath: path))
      return try Netrc(parsing: String(decoding: content, as: UTF8.self))
    } catch {
      let reason = (error as? FileProblem).map { "is not a valid netrc file: \($0)" } ?? "cannot be read"
      throw HTTPError(.file, "'\(path)' \(reason)", phase: .preparing, underlying: error)
    }
  }
}
