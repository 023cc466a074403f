public import MartletSemantics
@_spi(Toolkit) import MartletServer
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// A new folder in the system's temporary directory. It is removed with its last reference, or when the process exits.
public final class TemporaryFolder: Sendable {
  /// The folder's URL.
  public let url: URL
  private static let existing = Mutex<Set<URL>>([])
  private static let isRemovedAtExit = atexit { TemporaryFolder.existing.withLock(\.self).forEach(remove) } == 0

  /// Makes an empty folder with a unique name, which only the user can enter (mode 0700).
  ///
  /// - Throws: `LoopbackServerError` with the system's reason if it cannot be made.
  public init() throws {
    var template = Array(FileManager.default.temporaryDirectory.appending(path: "martlet-XXXXXX").path.utf8CString)
    guard mkdtemp(&template) != nil else {
      throw LoopbackServerError("cannot make a temporary folder: \(String(cString: strerror(errno)))")
    }
    url = URL(filePath: String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self))
    _ = Self.isRemovedAtExit
    Self.existing.withLock { _ = $0.insert(url) }
  }

  deinit {
    Self.existing.withLock { _ = $0.remove(url) }
    Self.remove(url)
  }

  private static func remove(_ url: URL) { try? FileManager.default.removeItem(at: url) }

  /// Returns the URL of a file of that name, whether it exists or not.
  public func file(_ name: String) -> URL { url.appending(path: name) }

  /// Writes a file and makes the folders in its name. Returns its URL.
  @discardableResult
  public func write(_ data: Data, to name: String) throws -> URL {
    let file = file(name)
    try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
    try data.write(to: file)
    return file
  }

  /// Returns the names of the folder's contents, sorted.
  public func names() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: url.path).sorted() }
}
