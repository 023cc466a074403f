public import MartletSemantics

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Writes lines to standard error, each with the time and the level: `2026-11-21T07:05:13.042Z info #1 GET …`.
public struct StandardErrorLog: LogSink {
  private let minimum: LogLevel
  private let now: @Sendable () -> Date

  /// Makes a sink.
  ///
  /// - Parameters:
  ///   - minimum: the least level that is written; `info` by default.
  ///   - now: tells the time.
  public init(from minimum: LogLevel = .info, now: @escaping @Sendable () -> Date = { .now }) {
    self.minimum = minimum
    self.now = now
  }

  public func isEnabled(_ level: LogLevel) -> Bool { level >= minimum }

  public func write(_ line: String, at level: LogLevel) {
    guard isEnabled(level) else { return }
    // one call a line, so that the lines of several threads do not mix
    let bytes = Array("\(Timestamp.format(now())) \(level.rawValue) \(line)\n".utf8)
    bytes.withUnsafeBytes(writeToStandardError)
  }
}

private func writeToStandardError(_ bytes: UnsafeRawBufferPointer) {
  var rest = bytes[...]
  while !rest.isEmpty {
    let slice = UnsafeRawBufferPointer(rebasing: rest)
    let count = write(STDERR_FILENO, slice.baseAddress, slice.count)
    if count < 0, errno == EINTR { continue }
    guard count > 0 else { return }  // there is nobody to tell
    rest = rest.dropFirst(count)
  }
}
