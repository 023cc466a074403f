/// A walk over the markers of a JPEG file.
struct MarkerWalk {
  static let endOfImage: UInt8 = 0xD9
  static let startOfScan: UInt8 = 0xDA
  static let app0: UInt8 = 0xE0
  static let app1: UInt8 = 0xE1
  static let app2: UInt8 = 0xE2

  let bytes: Bytes
  /// The first byte that has not been looked at; past the start marker to begin with.
  private(set) var position: Int
  /// Where the latest marker began.
  private(set) var markerStart = 0
  /// Whether the walk ended because the bytes did.
  private(set) var ranOut = false
  /// Whether it ended while it looked for a marker, not in one's segment.
  private(set) var isWithinPixels = false

  init(bytes: Bytes, position: Int = 2) {
    self.bytes = bytes
    self.position = position
  }

  /// Whether a marker begins a frame header: all of 0xC0–0xCF but tables (DHT, DAC) and the reserved one.
  static func isStartOfFrame(_ marker: UInt8) -> Bool {
    (0xC0...0xCF).contains(marker) && ![0xC4, 0xC8, 0xCC].contains(marker)
  }

  /// The next marker that has a segment, or the end marker; skips pixels, fill bytes and markers without a segment.
  mutating func next() -> UInt8? {
    while let found = bytes.firstIndex(of: 0xFF, from: position) {
      position = found + 1
      guard let marker = bytes.byte(at: position) else { break }
      // 0 makes the 0xFF before it data, another 0xFF makes it filling.
      guard marker != 0xFF else { continue }
      position += 1
      let standsAlone = marker <= 0x01 || (0xD0...0xD8).contains(marker)
      guard !standsAlone else { continue }
      markerStart = found
      return marker
    }
    (ranOut, isWithinPixels) = (true, true)
    return nil
  }

  /// The content of the segment that follows the marker; the walk goes on behind it. Nil if it is not whole.
  mutating func segment() -> Bytes? {
    guard let length = bytes.number(at: position, bytes: 2, .big) else {
      ranOut = true
      return nil
    }
    guard length >= 2 else { return nil }
    guard let segment = bytes.slice(from: position + 2, count: length - 2) else {
      ranOut = true
      return nil
    }
    position += length
    return segment
  }
}
