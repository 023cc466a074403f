/// A JPEG file, walked from marker to marker (ITU-T T.81 Annex B).
///
/// libjpeg fills what is missing of a file with grey and calls that a warning, so whether all is there is found out
/// here: the walk must come to the end marker.
struct JPEGFile: ImageFile {
  let format = ImageFormat.jpeg
  let size: PixelSize
  let orientation: ImageOrientation
  /// How many colour components there are: 1 (grey), 3 (colour) or 4 (CMYK, YCCK).
  let components: Int
  let bytes: Bytes
  /// Where the first scan's segment begins.
  private let scan: Int

  /// More scans than anybody needs: each costs a pass over the whole picture, and can be a few bytes short.
  static let scanLimit = 100

  init(_ bytes: Bytes) throws(ImageError) {
    var walk = MarkerWalk(bytes: bytes)
    var frame: (size: PixelSize, components: Int)?
    var orientation = ImageOrientation.up
    while let marker = walk.next() {
      if marker == MarkerWalk.startOfScan || marker == MarkerWalk.endOfImage { break }
      guard let segment = walk.segment() else { break }
      if MarkerWalk.isStartOfFrame(marker) {
        guard frame == nil else { throw ImageError(.damaged, "the JPEG has a second frame header") }
        frame = try JPEGFile.readFrame(segment, marker: marker)
      } else if marker == MarkerWalk.app1, segment.has("Exif\0\0"), orientation == .up {
        orientation = ImageOrientation(exif: segment)
      }
    }
    guard let frame else {
      guard walk.ranOut else { throw ImageError(.damaged, "the JPEG has no frame header before its pixels") }
      throw ImageError(.truncated, "the JPEG ends within its head, after \(bytes.count) bytes: the download broke off")
    }
    self.bytes = bytes
    self.size = frame.size
    self.components = frame.components
    self.orientation = orientation
    self.scan = walk.markerStart
  }

  /// The frame header (T.81 §B.2.2): precision, height, width, number of components.
  private static func readFrame(
    _ segment: Bytes, marker: UInt8
  ) throws(ImageError) -> (size: PixelSize, components: Int) {
    guard let precision = segment.byte(at: 0), let height = segment.number(at: 1, bytes: 2, .big),
      let width = segment.number(at: 3, bytes: 2, .big), let components = segment.byte(at: 5)
    else { throw ImageError(.damaged, "the JPEG's frame header is too short") }
    // Baseline, extended and progressive, with Huffman or arithmetic coding; not lossless, not hierarchical.
    guard [0xC0, 0xC1, 0xC2, 0xC9, 0xCA].contains(marker), precision == 8, [1, 3, 4].contains(components) else {
      throw ImageError(
        .unsupportedFormat,
        "this is a JPEG of a rare kind (process \(marker - 0xC0), \(precision) bits, \(components) components), "
          + "which is not supported")
    }
    guard width > 0, height > 0 else {
      throw ImageError(.damaged, "the JPEG declares no size (\(width)×\(height))")
    }
    return (PixelSize(width: width, height: height), Int(components))
  }

  /// Walks over the scans to the end marker: an error if it is not there.
  func checkEnd() throws(ImageError) {
    var walk = MarkerWalk(bytes: bytes, position: scan)
    var scans = 0
    while let marker = walk.next() {
      if marker == MarkerWalk.endOfImage { return }
      if marker == MarkerWalk.startOfScan { scans += 1 }
      guard scans <= JPEGFile.scanLimit else {
        throw ImageError(.tooLarge, "the JPEG has more than \(JPEGFile.scanLimit) scans, which only attacks have")
      }
      guard walk.segment() != nil else { break }
    }
    guard walk.ranOut else { throw ImageError(.damaged, "a segment between the JPEG's scans is too short") }
    throw ImageError(
      .truncated, "the JPEG has no end marker in its \(bytes.count) bytes: the download broke off, load it again")
  }
}

/// A walk over the markers of a JPEG file.
private struct MarkerWalk {
  static let endOfImage: UInt8 = 0xD9
  static let startOfScan: UInt8 = 0xDA
  static let app1: UInt8 = 0xE1

  let bytes: Bytes
  /// The first byte that has not been looked at; past the start marker to begin with.
  private var position: Int
  /// Where the latest marker began.
  private(set) var markerStart = 0
  /// Whether the walk ended because the bytes did.
  private(set) var ranOut = false

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
    ranOut = true
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
