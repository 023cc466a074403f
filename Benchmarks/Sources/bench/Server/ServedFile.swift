import Foundation

/// The files on the server.
enum ServedFile: Int, CaseIterable {
  case small = 0x400
  case short = 0x2800
  case medium = 0x1_9000
  case long = 0x10_0000
  case longer = 0xA0_0000
  case longest = 0x640_0000
  case collected = 200_000_000
  case large = 0x1000_0000
  case gigabyte = 0x4000_0000
  case slow = 300_000_000

  var name: String { "\(rawValue).bin" }
  var count: Int64 { Int64(rawValue) }

  /// Writes a file of that size. Its content is holes, so that large files take no room on disk.
  func write(into folder: URL) throws {
    let url = folder.appending(component: name)
    try Data().write(to: url)
    let file = try FileHandle(forWritingTo: url)
    try file.truncate(atOffset: UInt64(rawValue))
    try file.close()
  }
}
