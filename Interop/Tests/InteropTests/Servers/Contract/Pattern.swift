import Foundation
import Martlet
import MartletTesting

/// A long body without a short pattern, as a file and in memory, and its SHA-256 from another program.
struct Pattern: Sendable {
  let bytes: Data
  let digest: String
  private let folder: TemporaryFolder

  init(_ size: Int) throws {
    folder = try TemporaryFolder()
    bytes = pattern(size)
    let file = try folder.write(bytes, to: "pattern.bin")
    let sum = try ChildProcess("sha256sum", [file.path], output: .read)
    digest = String(decoding: sum.readToEnd().prefix(64), as: UTF8.self)
    // servers started by root read it as another user
    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: folder.url.path)
  }

  var file: URL { folder.file("pattern.bin") }

  /// The answer of `/sink`.
  func receipt(trailer: String = "") -> String { "\(bytes.count) \(digest) \(trailer)" }

  /// The body in pieces, which are made on demand.
  var pieces: AsyncStream<Data> {
    let position = Position()
    return AsyncStream {
      let start = await position.advance(by: Self.pieceSize)
      guard start < bytes.count else { return nil }
      return bytes[start..<min(start + Self.pieceSize, bytes.count)]
    }
  }

  private static let pieceSize = 64 << 10

  private actor Position {
    private var value = 0
    func advance(by count: Int) -> Int {
      defer { value += count }
      return value
    }
  }

  /// Counts how much of a body is this pattern, while the body is being received.
  struct Comparison {
    let pattern: Pattern
    private(set) var count = 0
    private(set) var isEqual = true

    mutating func add(_ piece: Data) {
      let end = count + piece.count
      isEqual = isEqual && end <= pattern.bytes.count && piece == pattern.bytes[count..<min(end, pattern.bytes.count)]
      count = end
    }

    var isWhole: Bool { isEqual && count == pattern.bytes.count }
  }

  var comparison: Comparison { Comparison(pattern: self) }
}
