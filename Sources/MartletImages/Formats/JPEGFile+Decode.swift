import CTurboJPEG

extension JPEGFile {
  func decode(noSmallerThan target: PixelSize, limits: ImageDecoder.Limits) throws(ImageError) -> Bitmap {
    if try hasEnd() { return try decode(bytes, noSmallerThan: target, limits: limits) }
    // With an end behind it, all that libjpeg can complain of is pixels that are missing.
    let result: Result<Bitmap, ImageError> = (Array(bytes.buffer) + [0xFF, MarkerWalk.endOfImage]).withUnsafeBytes {
      whole in
      Result { () throws(ImageError) in try decode(Bytes(buffer: whole), noSmallerThan: target, limits: limits) }
    }
    guard case .failure(let error) = result, error.kind == .damaged else { return try result.get() }
    throw ImageError(
      .truncated, "the JPEG's pixels end too early, after \(bytes.count) bytes: the download broke off, load it again")
  }

  private func decode(
    _ bytes: Bytes, noSmallerThan target: PixelSize, limits: ImageDecoder.Limits
  ) throws(ImageError) -> Bitmap {
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
    return Bitmap(size: scaled, pixels: pixels)
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
