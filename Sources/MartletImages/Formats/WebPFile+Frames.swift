import CWebP
import CWebPDemux

extension WebPFile {
  /// libwebp's own composition of frames. It holds two bitmaps of the picture's size besides ours.
  func eachFrame(
    limits: ImageDecoder.Limits, _ body: (ImageAnimation.Frame) throws(ImageError) -> Bool
  ) throws(ImageError) -> Int? {
    guard isAnimated else {
      _ = try body(ImageAnimation.Frame(bitmap: decode(noSmallerThan: size, limits: limits), duration: .zero))
      return 1
    }
    // Checks the end of the file, and the first frame, with errors that say more.
    _ = try decode(noSmallerThan: size, limits: limits)
    var data = WebPData(bytes: bytes.buffer.bindMemory(to: UInt8.self).baseAddress, size: bytes.count)
    var options = WebPAnimDecoderOptions()
    WebPAnimDecoderOptionsInit(&options)
    options.color_mode = MODE_RGBA
    guard let decoder = WebPAnimDecoderNew(&data, &options) else {
      throw ImageError(.damaged, "the animated WebP is damaged: its frames cannot be told apart")
    }
    defer { WebPAnimDecoderDelete(decoder) }
    var info = WebPAnimInfo()
    WebPAnimDecoderGetInfo(decoder, &info)
    guard info.canvas_width == size.width, info.canvas_height == size.height else {
      throw ImageError(.damaged, "the animated WebP declares two sizes")
    }
    var (end, pixels) = (0, 0)
    while WebPAnimDecoderHasMoreFrames(decoder) != 0 {
      pixels += size.width * size.height
      try limits.admit(animated: pixels)
      var canvas: UnsafeMutablePointer<UInt8>?
      var time: Int32 = 0
      guard WebPAnimDecoderGetNext(decoder, &canvas, &time) != 0, let canvas else {
        throw ImageError(.damaged, "a frame of the animated WebP is damaged")
      }
      let pixels = try limits.makePixels(size) { target in
        target.baseAddress?.update(from: canvas, count: target.count)
        return true
      }
      let frame = ImageAnimation.Frame(bitmap: Bitmap(size: size, pixels: pixels), milliseconds: Int(time) - end)
      guard try body(frame) else { break }
      end = Int(time)
    }
    return info.loop_count == 0 ? nil : Int(info.loop_count)
  }
}
