/// Reads the markers of a JPEG file one after another (ITU-T T.81 §B.1.1).
struct JPEGMarkers {
  static let endOfImage: UInt8 = 0xD9
  static let endOfImageBytes: [UInt8] = [0xFF, endOfImage]
  static let startOfScan: UInt8 = 0xDA
  static let app0: UInt8 = 0xE0
  static let app1: UInt8 = 0xE1
  static let app2: UInt8 = 0xE2

  let bytes: Bytes
  /// The first byte that has not been read; initially that after the start marker.
  private(set) var position: Int
  /// The offset of the latest marker.
  private(set) var markerStart = 0
  /// Whether the bytes ended before the next marker or within its segment.
  private(set) var isAtEnd = false
  /// Whether the bytes ended before the next marker, not within its segment.
  private(set) var isAtEndOfPixels = false

  init(bytes: Bytes, position: Int = 2) {
    self.bytes = bytes
    self.position = position
  }

  /// Whether a marker begins a frame header: 0xC0–0xCF except for the tables (DHT, DAC) and the reserved one.
  static func isStartOfFrame(_ marker: UInt8) -> Bool {
    (0xC0...0xCF).contains(marker) && ![0xC4, 0xC8, 0xCC].contains(marker)
  }

  /// Returns the next marker that has a segment, or the end marker; skips pixels, fill bytes and markers without a
  /// segment.
  mutating func next() -> UInt8? {
    while let found = bytes.firstIndex(of: 0xFF, from: position) {
      position = found + 1
      guard let marker = bytes.byte(at: position) else { break }
      // After 0xFF, 0 means a data byte 0xFF, and another 0xFF a fill byte.
      guard marker != 0xFF else { continue }
      position += 1
      let hasNoSegment = marker <= 0x01 || (0xD0...0xD8).contains(marker)
      guard !hasNoSegment else { continue }
      markerStart = found
      return marker
    }
    (isAtEnd, isAtEndOfPixels) = (true, true)
    return nil
  }

  /// Returns the content of the marker's segment and continues after it; nil if it is incomplete.
  mutating func segment() -> Bytes? {
    guard let length = bytes.number(at: position, bytes: 2, .big) else {
      isAtEnd = true
      return nil
    }
    guard length >= 2 else { return nil }
    guard let segment = bytes.slice(from: position + 2, count: length - 2) else {
      isAtEnd = true
      return nil
    }
    position += length
    return segment
  }
}
