@_spi(Toolkit) import MartletEngine
import MartletSemantics

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The source of a reply's bytes.
enum ReplyContent: Sendable {
  case bytes(Data)
  case raw(Data)
  case file(OpenFile, Range<Int64>)
  case generated(length: Int64?, @Sendable (Int64) throws -> Data?)

  var length: Int64? {
    switch self {
    case .bytes(let data), .raw(let data): Int64(data.count)
    case .file(_, let range): Int64(range.count)
    case .generated(let length, _): length
    }
  }
}

extension ReplyContent: CustomStringConvertible, CustomReflectable {
  /// The length, because the bytes may be secrets.
  var description: String { length.map { "\($0) bytes" } ?? "bytes of unknown length" }

  var customMirror: Mirror { Mirror(self, children: ["content": description]) }
}

/// Reads a reply's bytes in pieces.
struct ReplyPieces {
  private let content: ReplyContent
  private var offset: Int64 = 0
  private var generated = Data()
  /// The number of bytes that are read from a file at a time.
  static let pieceSize: Int64 = 256 << 10

  init(_ content: ReplyContent) { self.content = content }

  /// Returns the next bytes; empty at the end.
  mutating func next(upTo limit: Int64) throws -> Data {
    let piece =
      switch content {
      case .bytes(let data), .raw(let data): data.dropFirst(Int(offset)).prefix(Int(min(limit, Int64(data.count))))
      case .file(let file, let range):
        try file.read(at: range.lowerBound + offset, count: min(limit, Self.pieceSize, Int64(range.count) - offset))
      case .generated(_, let make): try nextGenerated(make, upTo: limit)
      }
    offset += Int64(piece.count)
    return piece
  }

  private mutating func nextGenerated(_ make: (Int64) throws -> Data?, upTo limit: Int64) throws -> Data {
    if generated.isEmpty {
      guard let made = try make(offset) else { return Data() }
      generated = made
    }
    let piece = generated.prefix(Int(min(limit, Int64(generated.count))))
    generated = generated.dropFirst(piece.count)
    return piece
  }
}

/// A regular file that is open for reading: its size, modification time and bytes stay consistent, even if it is
/// replaced in the meantime.
final class OpenFile: Sendable {
  let size: Int64
  /// The modification time, since 1970.
  let modified: (seconds: Int64, nanoseconds: Int64)
  let inode: UInt64
  /// Whether it is made when it is read, like the files of `/proc` and `/sys`: its size, 0 or that of a page, is not
  /// the size of its content.
  let isMade: Bool
  private let descriptor: Int32

  init(path: String) throws(LoopbackServerError) {
    let descriptor = SpareDescriptors.making { open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) }
    guard descriptor >= 0 else {
      throw LoopbackServerError("'\(path)' cannot be opened: \(String(cString: strerror(errno)))")
    }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      close(descriptor)
      throw LoopbackServerError("'\(path)' is not a regular file")
    }
    size = Int64(status.st_size)
    modified = SystemCalls.modificationTime(of: status)
    inode = UInt64(status.st_ino)
    isMade = status.st_size == 0 || status.st_blocks == 0 ? Self.hasOtherSize(descriptor, than: status.st_size) : false
    self.descriptor = descriptor
  }

  /// Whether the beginning of a file shows that its size is wrong.
  private static func hasOtherSize(_ descriptor: Int32, than size: off_t) -> Bool {
    var beginning = [UInt8](repeating: 0, count: size == 0 ? 1 : Int(min(size, 64 << 10)))
    let count = pread(descriptor, &beginning, beginning.count, 0)
    return size == 0 ? count > 0 : count < beginning.count
  }

  /// The whole content.
  var content: ReplyContent {
    guard isMade else { return .file(self, 0..<size) }
    return .generated(length: nil) { offset in
      let piece = try self.read(at: offset, count: ReplyPieces.pieceSize)
      return piece.isEmpty ? nil : piece
    }
  }

  /// Reads at most `count` bytes at the offset; none at the end of the file.
  func read(at offset: Int64, count: Int64) throws(LoopbackServerError) -> Data {
    guard count > 0 else { return Data() }
    var piece = Data(count: Int(count))
    let received = piece.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, $0.count, off_t(offset)) }
    guard received >= 0 else {
      throw LoopbackServerError("a file cannot be read: \(String(cString: strerror(errno)))")
    }
    return received == piece.count ? piece : piece.prefix(received)
  }

  deinit { close(descriptor) }
}
