import Foundation
import Martlet
import MartletTesting

/// A long body without a short pattern, as a file and in memory, and its SHA-256 as another program computes it.
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
    // servers that were started by root read it as another user
    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: folder.url.path)
  }

  var file: URL { folder.file("pattern.bin") }

  /// What `/sink` answers.
  func receipt(trailer: String = "") -> String { "\(bytes.count) \(digest) \(trailer)" }

  /// The body in pieces, which are made when they are asked for.
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

  /// How much of a body that is being received is this pattern.
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
