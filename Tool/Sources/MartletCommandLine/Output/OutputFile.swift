@_spi(Toolkit) @_spi(Transports) import MartletEngine
import MartletSemantics

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// A file that the command line names for output.
struct OutputFile: Sendable {
  private let url: URL
  private let path: String
  private let overwrites: Bool
  /// Whether it is a device, a pipe or something else that can be written to and must not be replaced.
  let isSpecial: Bool

  /// Refuses a folder, and an existing file unless it may be replaced.
  init(_ url: URL, shown path: String, overwrites: Bool) throws(UsageError) {
    (self.url, self.path, self.overwrites) = (url, path, overwrites)
    var status = stat()
    guard stat(url.path, &status) == 0 else {
      isSpecial = false
      return
    }
    let type = status.st_mode & S_IFMT
    if type == S_IFDIR { throw UsageError("'\(path)' is a folder: name a file in it") }
    isSpecial = type != S_IFREG
    guard overwrites || isSpecial else { throw exists }
  }

  private var exists: UsageError { UsageError("'\(path)' exists: --overwrite replaces it") }

  /// Writes to the file: a regular one appears when it is complete.
  struct Writer {
    fileprivate let target: OutputFile
    fileprivate let file: DestinationFile

    func append(_ chunk: Data) async throws { try await file.append(chunk) }

    func complete() async throws {
      // It may have appeared in the meantime.
      let isTaken = !target.overwrites && !target.isSpecial && access(target.url.path, F_OK) == 0
      if isTaken { throw target.exists }
      try await file.complete()
    }
  }

  func open() throws(HTTPError) -> Writer {
    Writer(target: self, file: try DestinationFile(for: url, phase: .receiving))
  }
}
