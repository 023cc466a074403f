#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Something that has happened or not, in the form that `poll` understands: a pipe that gets one byte and is never read.
final class Signal: Sendable {
  /// Readable once the signal was raised, and ever after.
  let descriptor: Int32
  private let writeEnd: Int32

  /// nil if the process has no file descriptors left.
  init?() {
    guard let ends = SystemCalls.makePipe() else { return nil }
    (descriptor, writeEnd) = ends
  }

  /// To be called once.
  func raise() {
    var byte: UInt8 = 1
    _ = write(writeEnd, &byte, 1)
  }

  deinit {
    close(descriptor)
    close(writeEnd)
  }
}
