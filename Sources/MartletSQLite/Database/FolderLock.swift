#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Keeps other processes, and other stores of this one, from opening files of a folder at the same time: a file that is
/// being made is not seen half made, and a damaged one is set aside once.
///
/// The system lets go of it when the process ends, however it does. Where the file system has no such locks, or somebody
/// keeps this one for ten seconds, one goes on without.
enum FolderLock {
  static func holding<R>(_ folder: String, _ work: () throws -> R) rethrows -> R {
    let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    defer { if descriptor >= 0 { close(descriptor) } }
    for _ in 0..<1_000 where descriptor >= 0 {
      if flock(descriptor, LOCK_EX | LOCK_NB) == 0 || (errno != EWOULDBLOCK && errno != EINTR) { break }
      usleep(10_000)
    }
    return try work()
  }
}
