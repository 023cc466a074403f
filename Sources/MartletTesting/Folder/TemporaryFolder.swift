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

  /// Makes an empty folder with a name of its own, which only the owner may enter.
  ///
  /// - Throws: `LoopbackServerError` with the system's reason if it cannot be made.
  public init() throws {
    var template = Array(FileManager.default.temporaryDirectory.appending(path: "martlet-XXXXXX").path.utf8CString)
    guard mkdtemp(&template) != nil else {
      throw LoopbackServerError("cannot make a temporary folder: \(String(cString: strerror(errno)))")
    }
    url = URL(filePath: String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self))
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
