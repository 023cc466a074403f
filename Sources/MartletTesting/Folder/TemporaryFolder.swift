public import MartletSemantics
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// A folder of a test's own, below the system's temporary one. It goes with its last owner, and what has an owner still when
/// the process ends goes then.
public final class TemporaryFolder: Sendable {
  /// Where it is.
  public let url: URL
  private static let living = Mutex<Set<URL>>([])
  private static let isRemovedAtExit = atexit { TemporaryFolder.living.withLock(\.self).forEach(remove) } == 0

  /// Makes an empty folder with a name of its own. Throws what the file system throws.
  public init() throws {
    url = FileManager.default.temporaryDirectory.appending(path: "martlet-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    _ = Self.isRemovedAtExit
    Self.living.withLock { _ = $0.insert(url) }
  }

  deinit {
    Self.living.withLock { _ = $0.remove(url) }
    Self.remove(url)
  }

  private static func remove(_ url: URL) { try? FileManager.default.removeItem(at: url) }

  /// Where a file of that name is, or would be.
  public func file(_ name: String) -> URL { url.appending(path: name) }

  /// Writes a file, and makes the folders in its name.
  @discardableResult
  public func write(_ data: Data, to name: String) throws -> URL {
    let file = file(name)
    try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
    try data.write(to: file)
    return file
  }

  /// The names of what is in it, in order.
  public func names() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: url.path).sorted() }
}
