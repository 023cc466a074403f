import Foundation
import MartletEngine
import MartletSemantics

/// A temporary file that holds a request's body while it is sent, and is removed when nobody needs it any more.
final class SpoolFile: Sendable {
  let url: URL
  private let handle: FileHandle
  /// Up to here a body stays in memory.
  private static let memoryLimit = 1 << 20

  private init() throws {
    let name = "martlet-" + UUID().uuidString + ".body"
    url = FileManager.default.temporaryDirectory.appending(component: name)
    let isThere = FileManager.default.createFile(
      atPath: url.path, contents: nil, attributes: [.posixPermissions: 0o600])
    guard isThere else {
      throw HTTPError(
        .file, "'\(url.path)' cannot be written: the request's body needs a temporary file", phase: .preparing)
    }
    handle = try FileHandle(forWritingTo: url)
  }

  /// Reads a body to its end, into memory where it is small.
  static func collect(_ source: any BodySource) async throws -> (OutgoingRequest.Payload, Int64?) {
    var memory = Data()
    var file: SpoolFile?
    var count: Int64 = 0
    do {
      while let chunk = try await source.next() {
        try Task.checkCancellation()
        count += Int64(chunk.count)
        memory.append(chunk)
        guard memory.count > memoryLimit else { continue }
        let target = try file ?? SpoolFile()
        file = target
        try target.append(memory)
        memory = Data()
      }
      guard let file else { return (.bytes(memory), count) }
      try file.append(memory)
      return (.spooled(file.url, file), count)
    } catch {
      source.cancel()
      throw HTTPError(wrapping: error)
    }
  }

  private func append(_ data: Data) throws {
    do { try handle.write(contentsOf: data) } catch {
      throw HTTPError(
        .file, "'\(url.path)' cannot be written: it holds the request's body", phase: .preparing, underlying: error)
    }
  }

  deinit {
    try? handle.close()
    try? FileManager.default.removeItem(at: url)
  }
}
