import CWebP

extension WebPFile {
  func decode(noSmallerThan target: PixelSize, limits: ImageDecoder.Limits) throws(ImageError) -> Bitmap {
    guard isComplete else {
      throw ImageError(
        .truncated, "the WebP's container is longer than its \(bytes.count) bytes: the download broke off")
    }
    guard isAnimated else { return try decode(bytes, of: size, at: target, limits: limits) }
    guard let frame = firstFrame else { throw ImageError(.damaged, "the animated WebP has no frame") }
    guard frame.x + frame.size.width <= size.width, frame.y + frame.size.height <= size.height else {
      throw ImageError(.damaged, "the first frame of the WebP lies outside of the picture")
    }
    guard frame.size != size else { return try decode(frame.bitstream, of: size, at: target, limits: limits) }
    let part = try decode(frame.bitstream, of: frame.size, at: frame.size, limits: limits)
    return try place(part, x: frame.x, y: frame.y, limits: limits)
  }

  /// Decodes a bitstream whose size must be `stored`, scaled down to exactly `target` by libwebp (an area average).
  private func decode(
    _ bitstream: Bytes, of stored: PixelSize, at target: PixelSize, limits: ImageDecoder.Limits
  ) throws(ImageError) -> Bitmap {
    guard try WebPFile.features(of: bitstream) == stored else {
      throw ImageError(.damaged, "the WebP's container and its picture declare different sizes")
    }
    var config = WebPDecoderConfig()
    guard WebPInitDecoderConfig(&config) != 0 else {
      throw ImageError(.unsupportedFormat, "the installed libwebp does not match the one that this was built with")
    }
    if target != stored {
      config.options.use_scaling = 1
      config.options.scaled_width = Int32(target.width)
      config.options.scaled_height = Int32(target.height)
    }
    config.output.colorspace = MODE_RGBA
    config.output.is_external_memory = 1
    var status = VP8_STATUS_OK
    let pixels = try limits.makePixels(target) { output in
      config.output.u.RGBA = WebPRGBABuffer(
        rgba: output.baseAddress, stride: Int32(target.width * Bitmap.bytesPerPixel), size: output.count)
      defer { WebPFreeDecBuffer(&config.output) }
      status = WebPDecode(bitstream.buffer.bindMemory(to: UInt8.self).baseAddress, bitstream.count, &config)
      return status == VP8_STATUS_OK
    }
    guard status == VP8_STATUS_OK else { throw WebPFile.error(status) }
    return Bitmap(size: target, pixels: pixels)
  }

  private static func error(_ status: VP8StatusCode) -> ImageError {
    switch status {
    case VP8_STATUS_OUT_OF_MEMORY: ImageError(.tooLarge, "there is no memory to decode the WebP")
    case VP8_STATUS_UNSUPPORTED_FEATURE: ImageError(.unsupportedFormat, "the WebP uses a feature that is not supported")
    case VP8_STATUS_NOT_ENOUGH_DATA, VP8_STATUS_SUSPENDED:
      ImageError(.truncated, "the WebP's pixels end too early: the file was cut, load it again")
    default: ImageError(.damaged, "the WebP is damaged (libwebp's status \(status.rawValue))")
    }
  }

  /// A frame on the picture's canvas, which is transparent where the frame is not.
  private func place(_ part: Bitmap, x: Int, y: Int, limits: ImageDecoder.Limits) throws(ImageError) -> Bitmap {
    var pixels = try limits.makePixels(size)
    let bytesPerRow = size.width * Bitmap.bytesPerPixel
    for row in 0..<part.size.height {
      let source = row * part.bytesPerRow
      let target = (y + row) * bytesPerRow + x * Bitmap.bytesPerPixel
      pixels.replaceSubrange(target..<target + part.bytesPerRow, with: part.pixels[source..<source + part.bytesPerRow])
    }
    return Bitmap(size: size, pixels: pixels)
  }
}
