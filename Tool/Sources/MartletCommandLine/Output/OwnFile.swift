@_spi(Toolkit) import MartletEngine
import MartletSemantics

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// A file that `--cookies`, `--har` or `--timeline` writes. It replaces an empty file, and a file whose content shows
/// that the same option wrote it; any other file only with `--overwrite`.
struct OwnFile: Sendable {
  /// The content that an option writes, by which its files are recognized.
  enum Content: Sendable {
    /// Cookies in the format of curl and wget, all of them readable.
    case cookies
    /// An HTTP Archive whose creator is Martlet.
    case archive
    /// A page that begins like a ``TimelinePage`` and is complete.
    case timeline
  }

  let url: URL
  /// The path on the command line.
  let path: String
  private let content: Content
  private let overwrites: Bool

  /// Returns the file that an option names; nil without the option.
  init?(
    _ option: OptionName, _ content: Content, _ arguments: ParsedArguments, _ environment: ToolEnvironment
  ) throws(UsageError) {
    guard let path = arguments.value(option) else { return nil }
    (self.path, self.content) = (path, content)
    url = environment.file(path)
    overwrites = arguments.has(.overwrite)
    try check()
  }

  /// Throws if there is a file that must not be replaced. It is called before a call, so that nothing is sent, and
  /// again before the file is written.
  func check() throws(UsageError) {
    var status = stat()
    guard stat(url.path, &status) == 0 else { return }
    guard status.st_mode & S_IFMT == S_IFREG else { throw UsageError("'\(path)' is not a regular file: name another") }
    guard !overwrites, status.st_size > 0 else { return }
    guard let data = try? SpareDescriptors.contents(of: url) else {
      throw UsageError("'\(path)' exists and cannot be read: name another file")
    }
    if let fault = content.fault(in: data) { throw refusal(fault) }
  }

  /// The error for a file that is not replaced.
  func refusal(_ reason: String) -> UsageError {
    UsageError("'\(path)' \(reason): name another file, or add --overwrite to replace it")
  }
}

/// A folder for the files of `--session` or `--cache`.
enum OwnFolder {
  /// Makes the folder, and those above it, unless they exist. Only the owner can use a folder that it makes.
  ///
  /// - Throws: an error of kind `.file`, with the folder's path and the system's reason.
  static func make(_ url: URL) throws(HTTPError) {
    let path = url.path
    var (place, fault) = ("", Int32(0))
    for name in path.unicodeScalars.split(separator: "/") {
      place += "/" + String(Substring(name))
      fault = mkdir(place, 0o700) == 0 ? 0 : errno
    }
    var status = stat()
    if stat(path, &status) == 0 {
      if status.st_mode & S_IFMT == S_IFDIR { return }
      fault = ENOTDIR
    }
    throw HTTPError(.file, "the folder '\(path)' cannot be made: \(String(cString: strerror(fault)))")
  }
}

extension OwnFile.Content {
  /// The reason why a file is not the option's own; nil if it is.
  fileprivate func fault(in data: Data) -> String? {
    switch self {
    case .cookies: CookieFile.fault(in: data)
    case .archive: ArchiveHead.isOwn(data) ? nil : "exists and is not a martlet archive"
    case .timeline: TimelinePage.isPage(data) ? nil : "exists and is not a martlet timeline"
    }
  }
}

/// The part of an HTTP Archive that names its author.
private struct ArchiveHead: Decodable {
  struct Log: Decodable {
    struct Creator: Decodable {
      let name: String
    }

    let creator: Creator
  }

  let log: Log

  static func isOwn(_ data: Data) -> Bool {
    (try? JSONDecoder().decode(ArchiveHead.self, from: data))?.log.creator.name == "Martlet"
  }
}
