@_spi(Toolkit) import MartletEngine
import MartletSemantics

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// A file in the system's temporary folder that only its owner can read.
enum PrivateFile {
  /// Writes a new file. Its name cannot be guessed, and no file or link that is there is followed.
  static func make(_ content: Data) throws(LoopbackServerError) -> URL {
    let file = FileManager.default.temporaryDirectory.appending(component: "martlet-authority-\(UUID()).pem")
    let descriptor = SpareDescriptors.making {
      open(file.path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    }
    guard descriptor >= 0 else {
      throw LoopbackServerError("'\(file.path)' cannot be written: \(String(cString: strerror(errno)))")
    }
    defer { close(descriptor) }
    let count = content.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
    guard count == content.count else {
      unlink(file.path)
      throw LoopbackServerError("'\(file.path)' cannot be written: is the disk full?")
    }
    return file
  }

  static func remove(_ file: URL) { unlink(file.path) }
}
