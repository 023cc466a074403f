import CTurboJPEG

extension JPEGFile {
  func decode(noSmallerThan target: PixelSize, limits: ImageDecoder.Limits) throws(ImageError) -> Bitmap {
    let hasEnd = try hasEnd()
    // With an end behind it, all that libjpeg can complain of is pixels that are missing.
    let ending = hasEnd ? [] : [0xFF, MarkerWalk.endOfImage]
    do throws(ImageError) {
      var decoded =
        hasEnd ? try decode(bytes, target, limits) : try decode(Array(bytes.buffer) + ending, target, limits)
      // libjpeg tells of its first complaint only: worse ones may be behind it.
      if decoded.isDoubtful { decoded = try decode(tidied() + ending, target, limits) }
      if hasEnd || !decoded.isDoubtful { return decoded.bitmap }
    } catch {
      guard !hasEnd, error.kind == .damaged else { throw error }
    }
    throw ImageError(
      .truncated, "the JPEG's pixels end too early, after \(bytes.count) bytes: the download broke off, load it again")
  }

  /// A picture, and whether libjpeg complained of something that does no harm to it.
  private typealias Decoded = (bitmap: Bitmap, isDoubtful: Bool)

  /// The file without what libjpeg complains of in the head of many: filling between segments, another version of JFIF, and
  /// fields of a scan that mean nothing where one scan holds all.
  private func tidied() -> [UInt8] {
    var walk = MarkerWalk(bytes: bytes)
    var head: [UInt8] = [0xFF, 0xD8]
    while let marker = walk.next(), let segment = walk.segment() {
      var content = Array(segment.buffer)
      if marker == MarkerWalk.app0, segment.has("JFIF\0"), content.count > 5 { content[5] = 1 }
      if marker == MarkerWalk.startOfScan, isSequential, content.count > 3 {
        content.replaceSubrange((content.count - 3)..., with: [0, 63, 0])
      }
      let length = content.count + 2
      head += [0xFF, marker, UInt8(length >> 8), UInt8(length & 0xFF)] + content
      if marker == MarkerWalk.startOfScan { break }
    }
    return head + bytes.buffer[walk.position...]
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
    if status != 0 { try refuse(decompressor) }
    if isCMYK { convertFromInvertedCMYK(&pixels) }
    return (Bitmap(size: scaled, pixels: pixels), status != 0)
  }

  /// The smallest of the sizes 1, 1/2, 1/4 and 1/8 (libjpeg rounds up) that is not smaller than `target`.
  ///
  /// libjpeg-turbo knows all eighths, but these are the fast ones, and the rest of the way is an area average.
  private func reduced(noSmallerThan target: PixelSize) -> PixelSize {
    let candidates = [8, 4, 2].map { divisor in
      PixelSize(width: (size.width + divisor - 1) / divisor, height: (size.height + divisor - 1) / divisor)
    }
    return candidates.first { $0.width >= target.width && $0.height >= target.height } ?? size
  }

  /// Throws what libjpeg complains of, unless it is a complaint about something that does no harm to the picture.
  private func refuse(_ decompressor: tjhandle) throws(ImageError) {
    let message = tjGetErrorStr2(decompressor).map { String(cString: $0) } ?? "no reason given"
    let isWarning = tjGetErrorCode(decompressor) == Int32(TJERR_WARNING.rawValue)
    // What cameras and editors do write: filling before a marker, leftovers in the head of a scan or of an APP segment.
    let harmless = [
      "extraneous bytes before marker", "Invalid SOS parameters", "Adobe color transform", "JFIF",
      "Inconsistent progression",
    ]
    if isWarning, harmless.contains(where: message.contains) { return }
    // Debian's libjpeg-turbo knows arithmetic coding; others are built without.
    let isUnknown = message.contains("rithmetic coding")
    throw ImageError(isUnknown ? .unsupportedFormat : .damaged, "the JPEG cannot be decoded: \(message)")
  }

  /// CMYK to RGBA, in place: by the embedded profile; without one as if inks and light were each other's opposites.
  ///
  /// The values in the file are those that Adobe writes, inverted: 255 is no ink. Files that have no Adobe marker are
  /// read in the same way, as by all browsers.
  private func convertFromInvertedCMYK(_ pixels: inout [UInt8]) {
    let isConverted = embeddedProfile.map { ColorConversion.convert(&pixels, from: $0, as: .invertedCMYK) } ?? false
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
