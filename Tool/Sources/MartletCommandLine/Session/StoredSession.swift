@_spi(Toolkit) import MartletEngine
@_spi(Toolkit) import MartletSemantics

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// The data that `--session` keeps for a host under a name: cookies, the fields of the command line, and credentials.
/// Only its owner can read the file, which is in `$XDG_CONFIG_HOME/martlet/sessions`, or at the path that is named.
struct StoredSession: Sendable, Codable {
  struct Field: Sendable, Codable {
    var name: String
    var value: String
  }

  /// The origin that gets the fields and the credentials: a file can be named for any other. nil in older files, whose
  /// folder has the origin.
  var origin: String?
  var cookies: [Cookie] = []
  var fields: [Field] = []
  var credentials: CallCredentials?

  /// The file of a session. A name with a slash is the path of a file.
  static func file(named name: String, for origin: Origin, _ environment: ToolEnvironment) throws(UsageError) -> URL {
    if name.contains("/"), !name.hasSuffix("/") { return environment.file(name) }
    let allowed = name.utf8.allSatisfy { ASCII.isLetter($0) || ASCII.isDigit($0) || "-_.".utf8.contains($0) }
    guard !name.isEmpty, allowed, !name.hasPrefix(".") else {
      throw UsageError("'\(name)' is not a session name: use letters, digits, '-', '_' and '.'")
    }
    guard let configuration = environment.configuration else {
      throw UsageError("--session needs a folder: set HOME or XDG_CONFIG_HOME to an absolute path")
    }
    let host = String(
      String.UnicodeScalarView(
        "\(origin)".unicodeScalars.map { $0 == ":" || $0 == "/" || $0 == "[" || $0 == "]" ? "_" : $0 }))
    return configuration.appending(components: "sessions", host, "\(name).json")
  }

  /// Reads the session of an origin; an empty one if there is no file.
  static func read(_ file: URL, for origin: Origin) throws(UsageError) -> StoredSession {
    var status = stat()
    guard stat(file.path, &status) == 0 else { return StoredSession(origin: "\(origin)") }
    guard status.st_mode & 0o077 == 0 else {
      throw UsageError("'\(file.path)' has passwords, and others can read it: chmod 600 '\(file.path)'")
    }
    guard let session = try? JSONDecoder().decode(StoredSession.self, from: SpareDescriptors.contents(of: file)) else {
      throw UsageError("'\(file.path)' is not a martlet session: name another one, or remove it")
    }
    guard session.origin.map({ $0 == "\(origin)" }) ?? true else {
      throw UsageError("'\(file.path)' is a session of \(session.origin ?? ""): name another one for \(origin)")
    }
    return session
  }

  /// Writes the session to its file, which only its owner can read, in an existing folder.
  func write(to file: URL) throws {
    let partial = try PartialFile(for: file, access: .ownerOnly, phase: nil)
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    try partial.append(try encoder.encode(self))
    try partial.complete()
  }
}
