import CWebP
import CWebPDemux

/// A WebP file, read chunk by chunk of its RIFF container (RFC 9649 §2) and decoded by libwebp.
struct WebPFile: ImageFile {
  let format = ImageFormat.webp
  let size: PixelSize
  let orientation: ImageOrientation
  private let bytes: Bytes
  /// The first frame of an animation; nil for a still image, or if the bytes end before it.
  private let firstFrame: Frame?
  private let profile: Bytes?
  /// Whether this is an animation.
  private let isAnimated: Bool
  /// Whether the bytes contain the whole container.
  private let isComplete: Bool

  /// A frame of an animation: its place in the image, and its bitstream (RFC 9649 §2.7.1.2).
  fileprivate struct Frame {
    var x: Int
    var y: Int
    var size: PixelSize
    var bitstream: Bytes
  }

  init(_ bytes: Bytes) throws(ImageError) {
    guard let length = bytes.number(at: 4, bytes: 4, .little) else { throw WebPFile.endsWithinHeader(bytes) }
    let container = bytes.slice(from: 0, count: min(bytes.count, length + 8)) ?? bytes
    self.bytes = container
    isComplete = length + 8 <= bytes.count
    guard container.has("VP8X", at: 12) else {
      size = try WebPFile.features(of: container).size
      (orientation, firstFrame, profile, isAnimated) = (.up, nil, nil, false)
      return
    }
    guard let flags = container.byte(at: 20), let width = container.number(at: 24, bytes: 3, .little),
      let height = container.number(at: 27, bytes: 3, .little)
    else { throw WebPFile.endsWithinHeader(bytes) }
    size = PixelSize(width: width + 1, height: height + 1)
    isAnimated = flags & 0x02 != 0
    var orientation: ImageOrientation?
    var firstFrame: Frame?
    var profile: Bytes?
    var position = 12
    while let length = container.number(at: position + 4, bytes: 4, .little),
      let content = container.slice(from: position + 8, count: length)
    {
      // The first block counts, as in a JPEG.
      if container.has("EXIF", at: position) { orientation = orientation ?? ImageOrientation(exif: content) }
      if container.has("ICCP", at: position) { profile = content }
      if container.has("ANMF", at: position), firstFrame == nil { firstFrame = Frame(content) }
      position += 8 + length + length % 2
    }
    self.orientation = orientation ?? .up
    self.firstFrame = firstFrame
    self.profile = profile
  }

  var colorProfile: ColorProfile? {
    let layout = ColorConversion.Layout.rgba
    return profile.map { ColorProfile(content: Array($0.buffer.prefix(layout.profileLimit + 1)), layout: layout) }
  }

  private static func endsWithinHeader(_ bytes: Bytes) -> ImageError {
    ImageError(.truncated, "the WebP ends within its header, after \(bytes.count) bytes: the file is incomplete")
  }

  /// Reads a bitstream's own header.
  private static func features(of bitstream: Bytes) throws(ImageError) -> WebPBitstreamFeatures {
    var features = WebPBitstreamFeatures()
    let status = WebPGetFeatures(
      bitstream.buffer.bindMemory(to: UInt8.self).baseAddress, bitstream.count, &features)
    guard status != VP8_STATUS_NOT_ENOUGH_DATA else { throw endsWithinHeader(bitstream) }
    guard status == VP8_STATUS_OK, features.width > 0, features.height > 0 else {
      throw ImageError(.damaged, "the WebP has no valid header")
    }
    return features
  }
}

extension WebPBitstreamFeatures {
  fileprivate var size: PixelSize { PixelSize(width: Int(width), height: Int(height)) }
  /// Whether transparent pixels are errors in the file, because its image is lossless and declares no alpha. libwebp
  /// returns such pixels unchanged in RGBA, and its tools and browsers show opaque ones.
  fileprivate var needsOpaquePixels: Bool { has_alpha == 0 && isLossless }
  fileprivate var isLossless: Bool { format == 2 }
}

extension WebPFile {
  func decode(noSmallerThan target: PixelSize, in decoding: Decoding) throws(ImageError) -> Bitmap {
    if !isComplete {
      try decoding.tolerate(
        ImageError(
          .truncated, "the WebP's container is longer than its \(bytes.count) bytes: the file is incomplete"))
    }
    guard isAnimated else { return try decode(bytes, of: size, at: target, in: decoding) }
    guard let frame = firstFrame else { throw ImageError(.damaged, "the animated WebP has no frame") }
    guard frame.x + frame.size.width <= size.width, frame.y + frame.size.height <= size.height else {
      throw ImageError(.damaged, "the first frame of the WebP is outside of the image")
    }
    guard frame.size != size else { return try decode(frame.bitstream, of: size, at: target, in: decoding) }
    let part = try decode(frame.bitstream, of: frame.size, at: frame.size, in: decoding)
    return try place(part, x: frame.x, y: frame.y, limits: decoding.limits)
  }

  /// Decodes a bitstream whose size must be `stored`, scaled down to exactly `target` by libwebp (area average).
  private func decode(
    _ bitstream: Bytes, of stored: PixelSize, at target: PixelSize, in decoding: Decoding
  ) throws(ImageError) -> Bitmap {
    let features = try WebPFile.features(of: bitstream)
    guard features.size == stored else {
      throw ImageError(.damaged, "the WebP's container and its bitstream declare different sizes")
    }
    // A lossless image is decoded to pixels of its own, and the alpha of a lossy one as a whole.
    if features.isLossless || features.has_alpha != 0 {
      try decoding.limits.check(codecBytes: features.isLossless ? 4 : 1, for: stored)
    }
    var config = WebPDecoderConfig()
    guard WebPInitDecoderConfig(&config) != 0 else {
      throw ImageError(.unsupportedFormat, "the installed libwebp has another ABI version than the one at build time")
    }
    if target != stored {
      config.options.use_scaling = 1
      config.options.scaled_width = Int32(target.width)
      config.options.scaled_height = Int32(target.height)
    }
    config.output.colorspace = MODE_RGBA
    config.output.is_external_memory = 1
    var reading = Reading(status: VP8_STATUS_OK, rows: 0)
    var pixels = try decoding.limits.makePixels(target) { output in
      if decoding.isTolerant { output.update(repeating: 0) }
      config.output.u.RGBA = WebPRGBABuffer(
        rgba: output.baseAddress, stride: Int32(target.width * Bitmap.bytesPerPixel), size: output.count)
      defer { WebPFreeDecBuffer(&config.output) }
      reading = WebPFile.read(bitstream, &config, in: decoding)
      return reading.status == VP8_STATUS_OK || (decoding.isTolerant && reading.rows > 0)
    }
    if reading.status == VP8_STATUS_USER_ABORT { throw Decoding.abandoned }
    if reading.status != VP8_STATUS_OK {
      let error = WebPFile.error(reading.status)
      guard reading.rows > 0 else { throw error }
      try decoding.tolerate(error)
    }
    if features.needsOpaquePixels, !isAnimated {
      for alpha in stride(from: 3, to: pixels.count, by: Bitmap.bytesPerPixel) { pixels[alpha] = 255 }
    }
    return Bitmap(size: target, pixels: pixels)
  }

  /// How far a bitstream was decoded.
  private struct Reading {
    var status: VP8StatusCode
    var rows: Int
  }

  /// Decodes a bitstream in steps, so that it can be abandoned between them.
  private static func read(
    _ bitstream: Bytes, _ config: inout WebPDecoderConfig, in decoding: Decoding
  ) -> Reading {
    guard let decoder = WebPIDecode(nil, 0, &config) else { return Reading(status: VP8_STATUS_OUT_OF_MEMORY, rows: 0) }
    defer { WebPIDelete(decoder) }
    let start = bitstream.buffer.bindMemory(to: UInt8.self).baseAddress
    let step = max(1 << 16, bitstream.count / 64)
    var status = VP8_STATUS_SUSPENDED
    var end = 0
    while status == VP8_STATUS_SUSPENDED, end < bitstream.count {
      guard !decoding.isAbandoned else { return Reading(status: VP8_STATUS_USER_ABORT, rows: 0) }
      end = min(end + step, bitstream.count)
      status = WebPIUpdate(decoder, start, end)
    }
    var rows: Int32 = 0
    _ = WebPIDecGetRGB(decoder, &rows, nil, nil, nil)
    return Reading(status: status, rows: Int(rows))
  }

  private static func error(_ status: VP8StatusCode) -> ImageError {
    switch status {
    case VP8_STATUS_OUT_OF_MEMORY: ImageError(.tooLarge, "there is no memory to decode the WebP")
    case VP8_STATUS_UNSUPPORTED_FEATURE: ImageError(.unsupportedFormat, "the WebP uses a feature that is not supported")
    case VP8_STATUS_NOT_ENOUGH_DATA, VP8_STATUS_SUSPENDED:
      ImageError(.truncated, "the WebP's pixels end too early: the file is incomplete, load it again")
    default: ImageError(.damaged, "the WebP is damaged (libwebp status \(status.rawValue))")
    }
  }

  /// Returns the frame on a transparent canvas of the image's size.
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

  /// Composes the frames with libwebp's animation decoder, which has two bitmaps of the image's size besides ours.
  func eachFrame(
    in decoding: Decoding, _ body: (ImageAnimation.Frame) throws(ImageError) -> Bool
  ) throws(ImageError) -> Int? {
    guard isAnimated else { return try stillFrame(in: decoding, body) }
    try decoding.limits.check(codecBytes: 2 * Bitmap.bytesPerPixel, for: size)
    // Checks that the file and its first frame are complete, with more precise errors.
    let first = try decode(noSmallerThan: size, in: decoding)
    var data = WebPData(bytes: bytes.buffer.bindMemory(to: UInt8.self).baseAddress, size: bytes.count)
    var options = WebPAnimDecoderOptions()
    WebPAnimDecoderOptionsInit(&options)
    options.color_mode = MODE_RGBA
    guard let decoder = WebPAnimDecoderNew(&data, &options) else {
      // The decoder reads only whole containers.
      try decoding.tolerate(ImageError(.damaged, "the animated WebP is damaged: its frames cannot be read"))
      _ = try body(ImageAnimation.Frame(bitmap: first, duration: .zero))
      return 1
    }
    defer { WebPAnimDecoderDelete(decoder) }
    var info = WebPAnimInfo()
    WebPAnimDecoderGetInfo(decoder, &info)
    guard info.canvas_width == size.width, info.canvas_height == size.height else {
      throw ImageError(.damaged, "the animated WebP declares two different sizes")
    }
    try eachFrame(of: decoder, in: decoding, body)
    return info.loop_count == 0 ? nil : Int(info.loop_count)
  }

  private func eachFrame(
    of decoder: OpaquePointer, in decoding: Decoding, _ body: (ImageAnimation.Frame) throws(ImageError) -> Bool
  ) throws(ImageError) {
    var (end, pixels, hasFrames) = (0, 0, false)
    while WebPAnimDecoderHasMoreFrames(decoder) != 0 {
      pixels += size.width * size.height
      try decoding.limits.check(framePixels: pixels)
      try decoding.checkAbandonment()
      var canvas: UnsafeMutablePointer<UInt8>?
      var time: Int32 = 0
      guard WebPAnimDecoderGetNext(decoder, &canvas, &time) != 0, let canvas else {
        let error = ImageError(.damaged, "a frame of the animated WebP is damaged")
        guard hasFrames else { throw error }
        return try decoding.tolerate(error)
      }
      hasFrames = true
      let pixels = try decoding.limits.makePixels(size) { target in
        target.baseAddress?.update(from: canvas, count: target.count)
        return true
      }
      let frame = ImageAnimation.Frame(bitmap: Bitmap(size: size, pixels: pixels), milliseconds: Int(time) - end)
      guard try body(frame) else { return }
      end = Int(time)
    }
  }
}

extension WebPFile.Frame {
  init?(_ content: Bytes) {
    guard let x = content.number(at: 0, bytes: 3, .little), let y = content.number(at: 3, bytes: 3, .little),
      let width = content.number(at: 6, bytes: 3, .little), let height = content.number(at: 9, bytes: 3, .little),
      let bitstream = content.slice(from: 16, count: content.count - 16)
    else { return nil }
    self.init(
      x: x * 2, y: y * 2, size: PixelSize(width: width + 1, height: height + 1), bitstream: bitstream)
  }
}
