import Foundation
import MartletEngine
import MartletSemantics

/// A temporary file that holds a request's body while it is sent, readable by its owner alone. It never becomes complete, and so
/// is removed with its last owner.
final class SpoolFile: Sendable {
  private let file: PartialFile
  /// Up to here a body stays in memory.
  private static let memoryLimit = 1 << 20

  private init() throws {
    let place = FileManager.default.temporaryDirectory.appending(component: "body")
    file = try PartialFile(for: place, label: "martlet-body", access: .ownerOnly)
  }

  var url: URL { file.url }

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
    do { try file.append(data) } catch {
      throw HTTPError(
        .file, "'\(url.path)' cannot be written: it holds the request's body", phase: .preparing, underlying: error)
    }
  }
}
