import Glibc
import MartletEngine
import MartletSemantics

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
    fileprivate let file: PartialFile?
    fileprivate let special: (output: DescriptorOutput, descriptor: Int32)?

    func append(_ chunk: Data) throws {
      try file?.append(chunk)
      try special?.output.write(Array(chunk))
    }

    func complete() throws {
      if let file {
        // It may have appeared in the meantime.
        guard target.overwrites || access(target.url.path, F_OK) != 0 else { throw target.exists }
        try file.complete()
      }
      if let special { close(special.descriptor) }
    }
  }

  func open() throws(HTTPError) -> Writer {
    guard isSpecial else {
      return Writer(target: self, file: try PartialFile(for: url, phase: .receiving), special: nil)
    }
    let descriptor = Glibc.open(url.path, O_WRONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw HTTPError(.file, "'\(url.path)' cannot be written", phase: .receiving) }
    return Writer(target: self, file: nil, special: (DescriptorOutput(descriptor), descriptor))
  }
}
