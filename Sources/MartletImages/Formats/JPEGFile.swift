/// A JPEG file, walked from marker to marker (ITU-T T.81 Annex B).
///
/// libjpeg fills what is missing of a file with grey and calls that a warning, so whether all is there is found out
/// here: the walk must come to the end marker, unless the pixels themselves tell (``hasEnd()``).
struct JPEGFile: ImageFile {
  let format = ImageFormat.jpeg
  let size: PixelSize
  let orientation: ImageOrientation
  /// How many colour components there are: 1 (grey), 3 (colour) or 4 (CMYK, YCCK).
  let components: Int
  let bytes: Bytes
  /// The pieces of the colour profile that stand before the pixels, with their numbers (ICC.1 Annex B.4).
  private let profileParts: [(number: UInt8, count: UInt8, content: Bytes)]
  /// Whether one scan, coded with Huffman tables, holds all pixels, if the first does.
  let isSequential: Bool
  /// Where the first scan's segment begins.
  private let scan: Int

  /// More scans than anybody needs: each costs a pass over the whole picture, and can be a few bytes short.
  static let scanLimit = 100

  init(_ bytes: Bytes) throws(ImageError) {
    var walk = MarkerWalk(bytes: bytes)
    var frame: (size: PixelSize, components: Int)?
    var process: UInt8 = 0
    var profileParts: [(number: UInt8, count: UInt8, content: Bytes)] = []
    var orientation = ImageOrientation.up
    while let marker = walk.next() {
      if marker == MarkerWalk.startOfScan || marker == MarkerWalk.endOfImage { break }
      guard let segment = walk.segment() else { break }
      if MarkerWalk.isStartOfFrame(marker) {
        guard frame == nil else { throw ImageError(.damaged, "the JPEG has a second frame header") }
        frame = try JPEGFile.readFrame(segment, marker: marker)
        process = marker
      } else if marker == MarkerWalk.app1, segment.has("Exif\0\0"), orientation == .up {
        orientation = ImageOrientation(exif: segment)
      } else if marker == MarkerWalk.app2, segment.has("ICC_PROFILE\0"), let number = segment.byte(at: 12),
        let count = segment.byte(at: 13), let content = segment.slice(from: 14, count: segment.count - 14)
      {
        profileParts.append((number, count, content))
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
    self.profileParts = profileParts
    self.isSequential = process == 0xC0 || process == 0xC1
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

  var isGrey: Bool { components == 1 }

  /// CMYK is converted on the way: what comes out is sRGB already.
  var colorProfile: [UInt8]? { components == 4 ? nil : embeddedProfile }

  /// The profile, if all of its pieces are there.
  var embeddedProfile: [UInt8]? {
    guard let count = profileParts.first?.count, count > 0, profileParts.count <= 255 else { return nil }
    var profile: [UInt8] = []
    for number in 1...count {
      guard let part = profileParts.first(where: { $0.number == number }) else { return nil }
      profile += part.content.buffer
    }
    return profile
  }

  /// Walks over the scans to the end marker. It may be missing, as some cameras leave it out, where libjpeg complains
  /// of every missing pixel: if one Huffman-coded scan holds everything. Otherwise that is an error.
  func hasEnd() throws(ImageError) -> Bool {
    var walk = MarkerWalk(bytes: bytes, position: scan)
    var scans = 0
    var holdsAll = false
    while let marker = walk.next() {
      if marker == MarkerWalk.endOfImage { return true }
      if marker == MarkerWalk.startOfScan { scans += 1 }
      guard scans <= JPEGFile.scanLimit else {
        throw ImageError(.tooLarge, "the JPEG has more than \(JPEGFile.scanLimit) scans, which only attacks have")
      }
      guard let segment = walk.segment() else { break }
      guard marker == MarkerWalk.startOfScan else { continue }
      holdsAll = isSequential && segment.byte(at: 0).map(Int.init) == components
      // Then nothing is between the pixels and the end.
      if holdsAll, scans == 1, bytes.has([0xFF, MarkerWalk.endOfImage], at: bytes.count - 2) { return true }
    }
    guard walk.ranOut else { throw ImageError(.damaged, "a segment between the JPEG's scans is too short") }
    if holdsAll, scans == 1, walk.isWithinPixels { return false }
    throw ImageError(
      .truncated, "the JPEG has no end marker in its \(bytes.count) bytes: the download broke off, load it again")
  }
}
