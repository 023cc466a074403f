import CJPEG

/// A JPEG file, read marker by marker (ITU-T T.81 Annex B) and decoded by libjpeg-turbo.
///
/// libjpeg fills missing pixels with grey and reports a warning. So the completeness of the file is checked here: it
/// must have an end marker, unless libjpeg reports every missing pixel (``readScans(in:)``).
struct JPEGFile: ImageFile {
  let format = ImageFormat.jpeg
  let size: PixelSize
  let orientation: ImageOrientation
  private let frame: Frame
  private let bytes: Bytes
  /// The chunks of the color profile, with their numbers and their count (ICC.1 Annex B.4).
  private let profileParts: [(number: UInt8, count: UInt8, content: Bytes)]
  /// The offset of the first scan's marker.
  private let scan: Int

  /// The maximum number of scans that are decoded. A scan of a few bytes costs a pass over the whole image; real files
  /// have about ten.
  private static let scanLimit = 100

  init(_ bytes: Bytes) throws(ImageError) {
    var markers = JPEGMarkers(bytes: bytes)
    var frame: Frame?
    var profileParts: [(number: UInt8, count: UInt8, content: Bytes)] = []
    var orientation: ImageOrientation?
    while let marker = markers.next() {
      if marker == JPEGMarkers.startOfScan || marker == JPEGMarkers.endOfImage { break }
      guard let segment = markers.segment() else { break }
      if JPEGMarkers.isStartOfFrame(marker) {
        guard frame == nil else { throw ImageError(.damaged, "the JPEG has a second frame header") }
        frame = try Frame(segment, marker: marker)
      } else if marker == JPEGMarkers.app1, segment.has("Exif\0\0") {
        // The first block counts, whatever it says: programs that copy pictures add further ones.
        orientation = orientation ?? ImageOrientation(exif: segment)
      } else if marker == JPEGMarkers.app2, segment.has("ICC_PROFILE\0"), let number = segment.byte(at: 12),
        let count = segment.byte(at: 13), let content = segment.slice(from: 14, count: segment.count - 14)
      {
        profileParts.append((number, count, content))
      }
    }
    guard let frame else {
      guard markers.isAtEnd else { throw ImageError(.damaged, "the JPEG has no frame header before its pixels") }
      throw ImageError(
        .truncated, "the JPEG ends within its header, after \(bytes.count) bytes: the file is incomplete")
    }
    self.bytes = bytes
    self.frame = frame
    self.size = frame.size
    self.orientation = orientation ?? .up
    self.profileParts = profileParts
    self.scan = markers.markerStart
  }

  /// The embedded profile, if all of its chunks are present.
  var colorProfile: ColorProfile? {
    guard let count = profileParts.first?.count, count > 0, profileParts.count <= 255 else { return nil }
    var content: [UInt8] = []
    for number in 1...count {
      guard let part = profileParts.first(where: { $0.number == number }) else { return nil }
      content += part.content.buffer
    }
    return ColorProfile(content: content, layout: frame.layout)
  }
}

extension JPEGFile {
  /// The frame header (T.81 §B.2.2).
  fileprivate struct Frame {
    let size: PixelSize
    /// The color components in the file's order, 1 (grey), 3 (color) or 4 (CMYK, YCCK), and how many samples each has
    /// in a unit of the image.
    let components: [(identifier: UInt8, samples: Int)]
    /// Whether it is sequential with Huffman coding: one scan can then contain all pixels.
    let isSequential: Bool

    /// Reads precision, height, width and components.
    init(_ segment: Bytes, marker: UInt8) throws(ImageError) {
      guard let precision = segment.byte(at: 0), let height = segment.number(at: 1, bytes: 2, .big),
        let width = segment.number(at: 3, bytes: 2, .big), let count = segment.byte(at: 5)
      else { throw ImageError(.damaged, "the JPEG's frame header is too short") }
      // Baseline, extended and progressive, with Huffman or arithmetic coding; not lossless, not hierarchical.
      guard [0xC0, 0xC1, 0xC2, 0xC9, 0xCA].contains(marker), precision == 8, [1, 3, 4].contains(count) else {
        throw ImageError(
          .unsupportedFormat,
          "a JPEG with process \(marker - 0xC0), \(precision) bits and \(count) components is not supported")
      }
      guard width > 0, height > 0 else {
        throw ImageError(.damaged, "the JPEG declares an empty size (\(width)×\(height))")
      }
      size = PixelSize(width: width, height: height)
      components = (0..<Int(count)).map { index in
        let sampling = segment.byte(at: 7 + index * 3) ?? 0x11
        return (segment.byte(at: 6 + index * 3) ?? 0, max(1, Int(sampling >> 4) * Int(sampling & 15)))
      }
      isSequential = marker == 0xC0 || marker == 0xC1
    }

    var layout: ColorConversion.Layout {
      components.count == 1 ? .grey : components.count == 4 ? .invertedCMYK : .rgba
    }

    /// Returns the pixels that a scan reads: the pixels of the image, in proportion to the samples of its components
    /// (§B.2.3). The sides have 16 bits.
    func pixels(ofScan segment: Bytes) -> Int {
      let all = components.reduce(0) { $0 + $1.samples }
      let identifiers = (0..<Int(segment.byte(at: 0) ?? 0)).compactMap { segment.byte(at: 1 + $0 * 2) }
      let samples = components.reduce(0) { $0 + (identifiers.contains($1.identifier) ? $1.samples : 0) }
      return size.width * size.height * (samples > 0 ? samples : all) / all
    }
  }

  /// Returns the smallest of the sizes 1, 1/2, 1/4 and 1/8 (libjpeg rounds up) that is not smaller than `target`.
  ///
  /// libjpeg-turbo supports all eighths, but these are the fast ones; ``Bitmap/shrunk(to:)`` then scales to the exact
  /// size.
  func decodedSize(noSmallerThan target: PixelSize) -> PixelSize { size.divided(by: denominator(for: target)) }

  private func denominator(for target: PixelSize) -> Int {
    let candidates = [8, 4, 2]
    return candidates.first { candidate in
      let reduced = size.divided(by: candidate)
      return reduced.width >= target.width && reduced.height >= target.height
    } ?? 1
  }

  func decode(noSmallerThan target: PixelSize, in decoding: Decoding) throws(ImageError) -> Bitmap {
    var hasEnd = true
    do throws(ImageError) { hasEnd = try readScans(in: decoding) } catch { try decoding.tolerate(error) }
    let reduced = decodedSize(noSmallerThan: target)
    var reading = martlet_jpeg_reading()
    var outcome = martlet_jpeg_failed
    var message = [CChar](repeating: 0, count: martlet_jpeg_message_capacity)
    var pixels = try decoding.limits.makePixels(reduced) { output in
      message.withUnsafeMutableBufferPointer { message in
        reading.message = message.baseAddress
        prepare(&reading, reduced, denominator(for: target), output, decoding)
        outcome = martlet_jpeg_read(&reading)
      }
      let isShown = outcome == martlet_jpeg_complete || (outcome == martlet_jpeg_failed && reading.rows > 0)
      if isShown { fillGrey(output[(Int(reading.rows) * reduced.width * Bitmap.bytesPerPixel)...]) }
      return isShown
    }
    let text = String(decoding: message.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    try check(outcome, text, reading, hasEnd, decoding)
    if frame.layout == .invertedCMYK { convertFromInvertedCMYK(&pixels) }
    return Bitmap(size: reduced, pixels: pixels)
  }

  private func prepare(
    _ reading: inout martlet_jpeg_reading, _ reduced: PixelSize, _ denominator: Int,
    _ output: UnsafeMutableBufferPointer<UInt8>, _ decoding: Decoding
  ) {
    reading.bytes = bytes.buffer.bindMemory(to: UInt8.self).baseAddress
    reading.count = bytes.count
    reading.pixels = output.baseAddress
    (reading.width, reading.height) = (UInt32(reduced.width), UInt32(reduced.height))
    reading.denominator = UInt32(denominator)
    reading.is_cmyk = frame.layout == .invertedCMYK ? 1 : 0
    // libjpeg reads 0 as no limit.
    reading.memory_limit = max(1, decoding.limits.codecBytes)
    reading.is_stopped = Decoding.stopCallback
    reading.owner = decoding.pointer
  }

  /// Fills rows that were not decoded.
  private func fillGrey(_ rows: Slice<UnsafeMutableBufferPointer<UInt8>>) {
    for index in rows.indices { rows.base[index] = index % Bitmap.bytesPerPixel == 3 ? 255 : 128 }
  }

  /// Throws the error of a file that was not decoded, or whose pixels are missing or wrong if that is not tolerated.
  private func check(
    _ outcome: martlet_jpeg_outcome, _ text: String, _ reading: martlet_jpeg_reading, _ hasEnd: Bool,
    _ decoding: Decoding
  ) throws(ImageError) {
    if outcome == martlet_jpeg_stopped { throw Decoding.abandoned }
    if outcome == martlet_jpeg_too_large { throw decoding.limits.codecNeedsTooMuch }
    // Without an end marker, libjpeg reads bytes after the pixels that may have been meant as pixels.
    let isCut = !hasEnd && (reading.has_extraneous_bytes != 0 || !text.isEmpty)
    guard outcome != martlet_jpeg_complete || !text.isEmpty || isCut else { return }
    // Debian's libjpeg-turbo supports arithmetic coding; others are built without it.
    let isUnsupported = text.contains("rithmetic coding")
    let error =
      isCut && !isUnsupported
      ? JPEGFile.endsTooEarly(bytes)
      : ImageError(isUnsupported ? .unsupportedFormat : .damaged, "the JPEG cannot be decoded: \(text)")
    guard outcome == martlet_jpeg_complete || reading.rows > 0 else { throw error }
    try decoding.tolerate(error)
  }

  private static func endsTooEarly(_ bytes: Bytes) -> ImageError {
    ImageError(
      .truncated, "the JPEG's pixels end too early, after \(bytes.count) bytes: the file is incomplete, load it again")
  }

  /// Counts the pixels of all scans. Returns whether the file has an end marker after them. Some cameras omit it. That
  /// is accepted if one scan with Huffman coding contains all pixels, because libjpeg then reports every missing one.
  ///
  /// - Throws: ``ImageError``: `truncated` if the end marker is required and missing; `tooLarge` for more scans or
  ///   pixels than are allowed.
  private func readScans(in decoding: Decoding) throws(ImageError) -> Bool {
    var markers = JPEGMarkers(bytes: bytes, position: scan)
    var scans = 0
    var containsAll = false
    while let marker = markers.next() {
      if marker == JPEGMarkers.endOfImage { return true }
      if marker == JPEGMarkers.startOfScan { scans += 1 }
      guard scans <= JPEGFile.scanLimit else {
        throw ImageError(.tooLarge, "the JPEG has more than \(JPEGFile.scanLimit) scans, which is a sign of an attack")
      }
      guard let segment = markers.segment() else { break }
      guard marker == JPEGMarkers.startOfScan else { continue }
      try decoding.read(sourcePixels: frame.pixels(ofScan: segment))
      containsAll = frame.isSequential && segment.byte(at: 0).map(Int.init) == frame.components.count
      // The pixels of a complete file then extend to its end marker.
      if containsAll, scans == 1, bytes.has(JPEGMarkers.endOfImageBytes, at: bytes.count - 2) { return true }
    }
    guard markers.isAtEnd else { throw ImageError(.damaged, "a segment between the JPEG's scans is too short") }
    if containsAll, scans == 1, markers.isAtEndOfPixels { return false }
    throw ImageError(
      .truncated, "the JPEG has no end marker in its \(bytes.count) bytes: the file is incomplete, load it again")
  }

  /// Converts CMYK to RGBA in place: by the embedded profile, or without one as
  /// `red = (255 - cyan) * (255 - black) / 255`.
  ///
  /// The values in the file are inverted, as Adobe writes them: 255 is no ink. A file without an Adobe marker is read
  /// the same way, as in all browsers.
  private func convertFromInvertedCMYK(_ pixels: inout [UInt8]) {
    let isConverted = colorProfile.map { ColorConversion.convert(&pixels, from: $0) } ?? false
    pixels.withUnsafeMutableBufferPointer { pixels in
      for start in stride(from: 0, to: pixels.count, by: Bitmap.bytesPerPixel) {
        if !isConverted {
          let paper = Int(pixels[start + 3])
          for channel in start..<start + 3 { pixels[channel] = UInt8((Int(pixels[channel]) * paper + 127) / 255) }
        }
        pixels[start + 3] = 255
      }
    }
  }
}
