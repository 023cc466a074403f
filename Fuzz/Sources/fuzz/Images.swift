#if os(Linux)
import MartletImages
import MartletSemantics

/// Pictures: each is an error, or an image within the limits, of the size that its head declares. Pieces of it may be
/// appended to a progressive decoder, its first frame is the image, and an image can be encoded in every format. A
/// tolerant decoder shows the same image, and may show others.
enum Images {
  private static let limits = ImageDecoder.Limits(pixels: 1_000_000, bytes: 4_000_000, animationPixels: 1_000_000)
  private static let encodings: [ImageEncoding] = [
    .png, .webP(), .losslessWebP, .jpeg(), .jpeg(quality: 95, isProgressive: true),
  ]

  static func run(_ input: inout Input) throws {
    let encoding = input.choice(of: encodings)
    let data = Data(input.bytes)
    var previews = ProgressiveDecoder(options: .init(limits: limits))
    for start in stride(from: 0, to: data.count, by: 500) { _ = previews.append(data[start...].prefix(500)) }
    let animation = try? ImageDecoder.animation(data, options: .init(limits: limits))
    var tolerant = ImageDecoder.Options(limits: limits)
    tolerant.isTolerant = true
    let shown = try? ImageDecoder.decode(data, options: tolerant)
    _ = try? ImageDecoder.animation(data, options: tolerant)
    let bitmap: Bitmap
    do throws(ImageError) { bitmap = try ImageDecoder.decode(data, options: .init(limits: limits)) } catch {
      return check(!error.message.isEmpty, "an error without a message")
    }
    let box = PixelSize(width: 9, height: 9)
    let small = try ImageDecoder.decode(data, options: .init(fitting: box, limits: limits)).size
    check(small.width <= box.width && small.height <= box.height, "\(small) is not in \(box)")
    check(bitmap.pixels.count <= limits.bytes, "\(bitmap.pixels.count) bytes")
    let declared = try ImageDecoder.info(data).size
    check(declared == bitmap.size, "\(declared) is \(bitmap.size)")
    check(shown == bitmap, "a tolerant decoder shows another image")
    // The default image of an animated PNG need not be a frame.
    if let animation, try ImageDecoder.info(data).format != .png {
      check(animation.frames.first?.bitmap == bitmap, "the first frame is not the image")
    }
    guard bitmap.pixels.count < 40_000 else { return }
    let again = try ImageDecoder.decode(ImageEncoder.encode(bitmap, as: encoding)).size
    check(again == bitmap.size, "\(bitmap.size) became \(again)")
  }
}
#endif
