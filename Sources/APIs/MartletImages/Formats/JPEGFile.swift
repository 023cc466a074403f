import CTurboJPEG

/// A JPEG file, read marker by marker (ITU-T T.81 Annex B) and decoded by libjpeg-turbo.
///
/// libjpeg fills missing pixels with grey and reports a warning. So the completeness of the file is checked here: it
/// must have an end marker, unless libjpeg reports every missing pixel (``hasEndMarker()``).
struct JPEGFile: ImageFile {
  let format = ImageFormat.jpeg
  let size: PixelSize
  let orientation: ImageOrientation
  /// The number of color components: 1 (grey), 3 (color) or 4 (CMYK, YCCK).
  private let components: Int
  private let bytes: Bytes
  /// The chunks of the color profile, with their numbers and their count (ICC.1 Annex B.4).
  private let profileParts: [(number: UInt8, count: UInt8, content: Bytes)]
  /// Whether the frame is sequential with Huffman coding: one scan can then contain all pixels.
  private let isSequential: Bool
  /// The offset of the first scan's marker.
  private let scan: Int

  /// The maximum number of scans that are decoded. A scan of a few bytes costs a pass over the whole image; real files
  /// have about ten.
  private static let scanLimit = 100

  init(_ bytes: Bytes) throws(ImageError) {
    var markers = JPEGMarkers(bytes: bytes)
    var frame: (size: PixelSize, components: Int)?
    var process: UInt8 = 0
    var profileParts: [(number: UInt8, count: UInt8, content: Bytes)] = []
    var orientation = ImageOrientation.up
    while let marker = markers.next() {
      if marker == JPEGMarkers.startOfScan || marker == JPEGMarkers.endOfImage { break }
      guard let segment = markers.segment() else { break }
      if JPEGMarkers.isStartOfFrame(marker) {
        guard frame == nil else { throw ImageError(.damaged, "the JPEG has a second frame header") }
        frame = try JPEGFile.readFrame(segment, marker: marker)
        process = marker
      } else if marker == JPEGMarkers.app1, segment.has("Exif\0\0"), orientation == .up {
        orientation = ImageOrientation(exif: segment)
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
    self.size = frame.size
    self.components = frame.components
    self.orientation = orientation
    self.profileParts = profileParts
    self.isSequential = process == 0xC0 || process == 0xC1
    self.scan = markers.markerStart
  }

  /// Reads the frame header (T.81 §B.2.2): precision, height, width, number of components.
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
        "a JPEG with process \(marker - 0xC0), \(precision) bits and \(components) components is not supported")
    }
    guard width > 0, height > 0 else {
      throw ImageError(.damaged, "the JPEG declares an empty size (\(width)×\(height))")
    }
    return (PixelSize(width: width, height: height), Int(components))
  }

  /// The embedded profile, if all of its chunks are present.
  var colorProfile: ColorProfile? {
    guard let count = profileParts.first?.count, count > 0, profileParts.count <= 255 else { return nil }
    var content: [UInt8] = []
    for number in 1...count {
      guard let part = profileParts.first(where: { $0.number == number }) else { return nil }
      content += part.content.buffer
    }
    return ColorProfile(content: content, layout: components == 1 ? .grey : components == 4 ? .invertedCMYK : .rgba)
  }
}

extension JPEGFile {
  func decode(noSmallerThan target: PixelSize, limits: ImageDecoder.Limits) throws(ImageError) -> Bitmap {
    let hasEnd = try hasEndMarker()
    // If an end marker is added, libjpeg warns only of missing pixels.
    let ending = hasEnd ? [] : JPEGMarkers.endOfImageBytes
    do throws(ImageError) {
      var decoded =
        hasEnd ? try decode(bytes, target, limits) : try decode(Array(bytes.buffer) + ending, target, limits)
      // libjpeg reports only its first warning: a worse one may follow.
      if decoded.hasWarning { decoded = try decode(withoutHarmlessDefects() + ending, target, limits) }
      if hasEnd || !decoded.hasWarning { return decoded.bitmap }
    } catch {
      guard !hasEnd, error.kind == .damaged else { throw error }
    }
    throw ImageError(
      .truncated, "the JPEG's pixels end too early, after \(bytes.count) bytes: the file is incomplete, load it again")
  }

  /// Whether the file has an end marker after its scans. Some cameras omit it. That is accepted if one scan with
  /// Huffman coding contains all pixels, because libjpeg then reports every missing one.
  ///
  /// - Throws: ``ImageError``: `truncated` if the end marker is required and missing.
  private func hasEndMarker() throws(ImageError) -> Bool {
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
      containsAll = isSequential && segment.byte(at: 0).map(Int.init) == components
      // The pixels of a complete file then extend to its end marker.
      if containsAll, scans == 1, bytes.has(JPEGMarkers.endOfImageBytes, at: bytes.count - 2) { return true }
    }
    guard markers.isAtEnd else { throw ImageError(.damaged, "a segment between the JPEG's scans is too short") }
    if containsAll, scans == 1, markers.isAtEndOfPixels { return false }
    throw ImageError(
      .truncated, "the JPEG has no end marker in its \(bytes.count) bytes: the file is incomplete, load it again")
  }

  /// An image, and whether libjpeg reported a harmless warning.
  private typealias Decoded = (bitmap: Bitmap, hasWarning: Bool)

  /// Returns the file without common header defects that libjpeg warns of: fill bytes between segments, another version
  /// of JFIF, and the parameters of a scan where one scan contains all pixels, so that they have no meaning.
  private func withoutHarmlessDefects() -> [UInt8] {
    var markers = JPEGMarkers(bytes: bytes)
    var head: [UInt8] = [0xFF, 0xD8]
    while let marker = markers.next(), let segment = markers.segment() {
      var content = Array(segment.buffer)
      if marker == JPEGMarkers.app0, segment.has("JFIF\0"), content.count > 5 { content[5] = 1 }
      if marker == JPEGMarkers.startOfScan, isSequential, content.count > 3 {
        content.replaceSubrange((content.count - 3)..., with: [0, 63, 0])
      }
      let length = content.count + 2
      head += [0xFF, marker, UInt8(length >> 8), UInt8(length & 0xFF)] + content
      if marker == JPEGMarkers.startOfScan { break }
    }
    return head + bytes.buffer[markers.position...]
  }

  private func decode(
    _ bytes: [UInt8], _ target: PixelSize, _ limits: ImageDecoder.Limits
  ) throws(ImageError) -> Decoded {
    let result: Result<Decoded, ImageError> = bytes.withUnsafeBytes { buffer in
      Result { () throws(ImageError) in try decode(Bytes(buffer: buffer), target, limits) }
    }
    return try result.get()
  }

  private func decode(
    _ bytes: Bytes, _ target: PixelSize, _ limits: ImageDecoder.Limits
  ) throws(ImageError) -> Decoded {
    let scaled = reduced(noSmallerThan: target)
    guard let decompressor = tjInitDecompress() else {
      throw ImageError(.tooLarge, "there is no memory to decode a JPEG")
    }
    defer { tjDestroy(decompressor) }
    let isCMYK = components == 4
    var status: Int32 = 0
    var pixels = try limits.makePixels(scaled) { output in
      status = tjDecompress2(
        decompressor, bytes.buffer.bindMemory(to: UInt8.self).baseAddress, UInt(bytes.count), output.baseAddress,
        Int32(scaled.width), Int32(scaled.width * Bitmap.bytesPerPixel), Int32(scaled.height),
        Int32((isCMYK ? TJPF_CMYK : TJPF_RGBA).rawValue), TJFLAG_LIMITSCANS)
      return status == 0 || tjGetErrorCode(decompressor) == Int32(TJERR_WARNING.rawValue)
    }
    if status != 0 { try checkWarning(decompressor) }
    if isCMYK { convertFromInvertedCMYK(&pixels) }
    return (Bitmap(size: scaled, pixels: pixels), status != 0)
  }

  /// Returns the smallest of the sizes 1, 1/2, 1/4 and 1/8 (libjpeg rounds up) that is not smaller than `target`.
  ///
  /// libjpeg-turbo supports all eighths, but these are the fast ones; ``Bitmap/shrunk(to:)`` then scales to the exact
  /// size.
  private func reduced(noSmallerThan target: PixelSize) -> PixelSize {
    let candidates = [8, 4, 2].map { divisor in
      PixelSize(width: (size.width + divisor - 1) / divisor, height: (size.height + divisor - 1) / divisor)
    }
    return candidates.first { $0.width >= target.width && $0.height >= target.height } ?? size
  }

  /// Throws libjpeg's error or warning, unless the warning does not affect the image.
  private func checkWarning(_ decompressor: tjhandle) throws(ImageError) {
    let message = tjGetErrorStr2(decompressor).map { String(cString: $0) } ?? "no reason given"
    let isWarning = tjGetErrorCode(decompressor) == Int32(TJERR_WARNING.rawValue)
    // Cameras and editors write fill bytes before a marker, and wrong parameters of a scan or an APP segment.
    let harmless = [
      "extraneous bytes before marker", "Invalid SOS parameters", "Adobe color transform", "JFIF",
      "Inconsistent progression",
    ]
    if isWarning, harmless.contains(where: message.contains) { return }
    // Debian's libjpeg-turbo supports arithmetic coding; others are built without it.
    let isUnsupported = message.contains("rithmetic coding")
    throw ImageError(isUnsupported ? .unsupportedFormat : .damaged, "the JPEG cannot be decoded: \(message)")
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
