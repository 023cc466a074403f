public import MartletSemantics

/// The file that a body is written to: a ``PartialFile`` that takes its place at the end, or a device or a named pipe,
/// which gets the bytes as they arrive and is never replaced.
@_spi(Toolkit) public enum DestinationFile: Sendable {
  case partial(PartialFile)
  case special(SpecialFile)

  /// - Parameters: as for ``PartialFile/init(for:label:access:phase:)``. With the access `.ownerOnly`, devices and
  ///   pipes are refused: others may read them.
  public init(
    for url: URL, label: String? = nil, access: PartialFile.Access = .standard, phase: HTTPError.Phase?
  ) throws(HTTPError) {
    if access == .standard, url.isFileURL, let file = try SpecialFile(url.path, phase: phase) {
      self = .special(file)
    } else {
      self = .partial(try PartialFile(for: url, label: label, access: access, phase: phase))
    }
  }

  /// The file whose bytes can be read again and kept; nil if there is none.
  var partial: PartialFile? {
    if case .partial(let file) = self { file } else { nil }
  }

  /// The number of bytes so far.
  var count: Int64 {
    switch self {
    case .partial(let file): file.count
    case .special(let file): file.count
    }
  }

  /// Appends bytes. Waits for the reader of a pipe that is full, or that has no reader yet.
  public func append(_ chunk: Data) async throws {
    switch self {
    case .partial(let file): try file.append(chunk)
    case .special(let file): try await file.append(chunk)
    }
  }

  /// Removes all bytes.
  ///
  /// - Throws: ``HTTPError`` of kind `.file` if a device or a pipe has got some.
  func empty() throws(HTTPError) {
    switch self {
    case .partial(let file): try file.empty()
    case .special(let file): try file.checkEmpty()
    }
  }

  /// Puts the file in its place, or lets the reader of a pipe see the end.
  public func complete() async throws {
    switch self {
    case .partial(let file): try file.complete()
    case .special(let file): try await file.complete()
    }
  }
}
