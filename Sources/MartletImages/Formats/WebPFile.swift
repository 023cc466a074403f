import CWebP

/// A WebP file, walked from chunk to chunk of its RIFF container (RFC 9649 §2).
struct WebPFile: ImageFile {
  let format = ImageFormat.webp
  let size: PixelSize
  let orientation: ImageOrientation
  let bytes: Bytes
  /// The first frame of an animation; nil for a still picture, or while the frame has not arrived.
  let firstFrame: Frame?
  private let profile: Bytes?
  /// Whether this is an animation.
  let isAnimated: Bool
  /// Whether all of the container is there.
  let isComplete: Bool

  /// A frame of an animation: where it lies in the picture, and its bitstream (RFC 9649 §2.7.1.2).
  struct Frame {
    var x: Int
    var y: Int
    var size: PixelSize
    var bitstream: Bytes
  }

  init(_ bytes: Bytes) throws(ImageError) {
    guard let length = bytes.number(at: 4, bytes: 4, .little) else { throw WebPFile.endsWithinHead(bytes) }
    let container = bytes.slice(from: 0, count: min(bytes.count, length + 8)) ?? bytes
    self.bytes = container
    isComplete = length + 8 <= bytes.count
    guard container.has("VP8X", at: 12) else {
      size = try WebPFile.features(of: container)
      (orientation, firstFrame, profile, isAnimated) = (.up, nil, nil, false)
      return
    }
    guard let flags = container.byte(at: 20), let width = container.number(at: 24, bytes: 3, .little),
      let height = container.number(at: 27, bytes: 3, .little)
    else { throw WebPFile.endsWithinHead(bytes) }
    size = PixelSize(width: width + 1, height: height + 1)
    isAnimated = flags & 0x02 != 0
    var orientation = ImageOrientation.up
    var firstFrame: Frame?
    var profile: Bytes?
    var position = 12
    while let length = container.number(at: position + 4, bytes: 4, .little),
      let content = container.slice(from: position + 8, count: length)
    {
      if container.has("EXIF", at: position) { orientation = ImageOrientation(exif: content) }
      if container.has("ICCP", at: position) { profile = content }
      if container.has("ANMF", at: position), firstFrame == nil { firstFrame = Frame(content) }
      position += 8 + length + length % 2
    }
    self.orientation = orientation
    self.firstFrame = firstFrame
    self.profile = profile
  }

  var colorProfile: [UInt8]? { profile.map { Array($0.buffer.prefix(ColorConversion.profileLimit + 1)) } }

  static func endsWithinHead(_ bytes: Bytes) -> ImageError {
    ImageError(.truncated, "the WebP ends within its head, after \(bytes.count) bytes: the download broke off")
  }

  /// The size of a bitstream, by its own head.
  static func features(of bitstream: Bytes) throws(ImageError) -> PixelSize {
    var features = WebPBitstreamFeatures()
    let status = WebPGetFeatures(
      bitstream.buffer.bindMemory(to: UInt8.self).baseAddress, bitstream.count, &features)
    guard status != VP8_STATUS_NOT_ENOUGH_DATA else { throw endsWithinHead(bitstream) }
    guard status == VP8_STATUS_OK, features.width > 0, features.height > 0 else {
      throw ImageError(.damaged, "the WebP has no readable head")
    }
    return PixelSize(width: Int(features.width), height: Int(features.height))
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
