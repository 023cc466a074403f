import CCompress
import Foundation
import MeasuredClient

/// A list of records as JSON of 104 KB, which the server has compressed with each coding.
enum CodedFile: String, CaseIterable {
  case gzip
  case brotli = "br"
  case zstd

  /// The name of the file; its last part is the content coding.
  var name: String { "list.\(rawValue)" }

  /// The plain content.
  static let content: Data = {
    var text = "["
    var number: UInt32 = 1
    while text.utf8.count < 104_000 {
      number = number &* 1_664_525 &+ 1_013_904_223  // numbers that compress like those of real records
      let flag = number >> 16 & 1 == 0
      text += """
        {"id":\(number >> 8),"name":"Record \(number >> 20) of the list","price":\(number >> 12 & 0xFFFF).5,\
        "isAvailable":\(flag),"tags":["\(flag ? "first" : "second")","tag\(number >> 28)"]},
        """
    }
    return Data((text + "null]").utf8)
  }()

  static var count: Int64 { Int64(content.count) }

  /// Writes the compressed file.
  func write(into folder: URL) throws {
    var coded = Data(count: Self.content.count)
    let size = Self.content.withUnsafeBytes { plain in
      coded.withUnsafeMutableBytes { room in
        let compress =
          switch self {
          case .gzip: ccompress_gzip
          case .brotli: ccompress_brotli
          case .zstd: ccompress_zstd
          }
        return compress(plain.baseAddress, plain.count, room.baseAddress, room.count)
      }
    }
    guard size > 0 else { throw BenchError("the file \(name) cannot be compressed") }
    try coded.prefix(size).write(to: folder.appending(component: name))
  }
}
