import CGIF

/// Reads a GIF in memory by giflib: the header of a frame, then its rows, which are read or skipped.
final class GIFReader {
  /// The header of a frame (GIF89a §20, §23).
  struct Frame {
    var area: FrameArea
    var isInterlaced: Bool
    /// The pixel for each of 256 indices, in a bitmap's byte order; nil for a transparent one. Indices outside the
    /// palette are transparent too.
    var colors: [UInt32?]
    /// The disposal method: what happens to the canvas after this frame.
    var disposal: Int
    /// How long the frame is shown, in hundredths of a second.
    var delay: Int
  }

  /// The bytes, and how many of them giflib has read. giflib gets a pointer to this object.
  private final class Source {
    let bytes: Bytes
    var position = 0
    /// Whether giflib asked for more bytes than there are.
    var ranOut = false

    init(_ bytes: Bytes) { self.bytes = bytes }

    /// Copies up to `count` bytes, and returns their number.
    func read(into target: UnsafeMutablePointer<GifByteType>, count: Int) -> Int {
      let part = bytes.buffer[position...].prefix(max(count, 0))
      UnsafeMutableRawBufferPointer(start: target, count: part.count).copyBytes(from: part)
      position += part.count
      ranOut = part.count < count
      return part.count
    }

    func error(_ code: Int32) -> ImageError {
      if ranOut {
        return ImageError(
          .truncated, "the GIF ends too early, after \(bytes.count) bytes: the file is incomplete, load it again")
      }
      if code == D_GIF_ERR_NOT_ENOUGH_MEM { return ImageError(.tooLarge, "there is no memory to decode the GIF") }
      let reason = GifErrorString(code).map { String(cString: $0) } ?? "error \(code)"
      return ImageError(.damaged, "the GIF is damaged: \(reason)")
    }
  }

  /// How many times to play the animation, nil for an endless loop; known before the first frame.
  private(set) var plays: Int? = 1
  private let source: Source
  private let file: UnsafeMutablePointer<GifFileType>
  private var frames = 0

  init(_ bytes: Bytes) throws(ImageError) {
    source = Source(bytes)
    var code: Int32 = 0
    let pointer = Unmanaged.passUnretained(source).toOpaque()
    let opened = DGifOpen(
      pointer,
      { file, target, count in
        guard let target, let source = file?.pointee.UserData else { return 0 }
        return Int32(Unmanaged<Source>.fromOpaque(source).takeUnretainedValue().read(into: target, count: Int(count)))
      }, &code)
    guard let opened else { throw source.error(code) }
    file = opened
  }

  deinit { DGifCloseFile(file, nil) }

  /// The size of the canvas in the file's header; frames may be larger.
  var screen: PixelSize { PixelSize(width: Int(file.pointee.SWidth), height: Int(file.pointee.SHeight)) }

  /// Reads the header of the next frame; nil at the end. Many programs omit the trailer, so the end of the bytes, or
  /// invalid data after a frame, counts as the end.
  func nextFrame() throws(ImageError) -> Frame? {
    var control = GraphicsControlBlock()
    control.TransparentColor = NO_TRANSPARENT_COLOR
    while frames == 0 || source.position < source.bytes.count {
      var record = UNDEFINED_RECORD_TYPE
      if DGifGetRecordType(file, &record) != GIF_OK, frames > 0 { return nil }
      switch record {
      case IMAGE_DESC_RECORD_TYPE: return try readFrame(control)
      case EXTENSION_RECORD_TYPE: try readExtension(&control)
      case TERMINATE_RECORD_TYPE:
        guard frames > 0 else { throw ImageError(.damaged, "the GIF has no frame") }
        return nil
      default: throw source.error(file.pointee.Error)
      }
    }
    return nil
  }

  private func readFrame(_ control: GraphicsControlBlock) throws(ImageError) -> Frame {
    try check(DGifGetImageDesc(file))
    frames += 1
    let image = file.pointee.Image
    guard image.Width > 0, image.Height > 0 else { throw ImageError(.damaged, "a frame of the GIF has no size") }
    return Frame(
      area: FrameArea(
        x: Int(image.Left), y: Int(image.Top), size: PixelSize(width: Int(image.Width), height: Int(image.Height))),
      isInterlaced: image.Interlace, colors: colors(of: image, transparent: Int(control.TransparentColor)),
      disposal: Int(control.DisposalMode), delay: Int(control.DelayTime))
  }

  /// Returns the frame's own palette, or that of the file; greys if there is neither.
  private func colors(of image: GifImageDesc, transparent: Int) -> [UInt32?] {
    let map = (image.ColorMap ?? file.pointee.SColorMap)?.pointee
    let grey = (0...255).map { GifColorType(Red: $0, Green: $0, Blue: $0) }
    let palette = map.map { Array(UnsafeBufferPointer(start: $0.Colors, count: Int($0.ColorCount))) } ?? grey
    var colors = [UInt32?](repeating: nil, count: 256)
    for (index, color) in palette.prefix(256).enumerated() where index != transparent {
      colors[index] = UInt32(
        littleEndian: UInt32(color.Red) | UInt32(color.Green) << 8 | UInt32(color.Blue) << 16 | 0xFF << 24)
    }
    return colors
  }

  /// Reads an extension: the graphic control of the next frame, or the loop count (Netscape's application extension).
  private func readExtension(_ control: inout GraphicsControlBlock) throws(ImageError) {
    var code: Int32 = 0
    var block: UnsafeMutablePointer<GifByteType>?
    try check(DGifGetExtension(file, &code, &block))
    if let block, code == GRAPHICS_EXT_FUNC_CODE {
      _ = DGifExtensionToGCB(Int(block[0]), block + 1, &control)
    }
    let name = block.map { String(decoding: UnsafeBufferPointer(start: $0 + 1, count: Int($0[0])), as: UTF8.self) }
    let repeats = code == APPLICATION_EXT_FUNC_CODE && (name == "NETSCAPE2.0" || name == "ANIMEXTS1.0")
    while block != nil {
      try check(DGifGetExtensionNext(file, &block))
      if repeats, let block, block[0] >= 3, block[1] & 7 == 1 {
        let count = Int(block[2]) | Int(block[3]) << 8
        plays = count == 0 ? nil : count + 1
      }
    }
  }

  /// Calls `body` with each row of the current frame and its y, in the order of the file.
  func readRows(
    of frame: Frame, in decoding: Decoding, _ body: (Int, UnsafeBufferPointer<UInt8>) -> Void
  ) throws(ImageError) {
    var line = [UInt8](repeating: 0, count: frame.area.size.width)
    // GIF89a Appendix E: every eighth row first, then those in between.
    let passes = frame.isInterlaced ? [(0, 8), (4, 8), (2, 4), (1, 2)] : [(0, 1)]
    for (first, step) in passes {
      for y in stride(from: first, to: frame.area.size.height, by: step) {
        try decoding.checkAbandonment()
        try check(line.withUnsafeMutableBufferPointer { DGifGetLine(file, $0.baseAddress, Int32($0.count)) })
        line.withUnsafeBufferPointer { body(y, $0) }
      }
    }
  }

  /// Skips the pixels of the current frame.
  func skipRows(in decoding: Decoding) throws(ImageError) {
    var size: Int32 = 0
    var block: UnsafeMutablePointer<GifByteType>?
    try check(DGifGetCode(file, &size, &block))
    while block != nil {
      try decoding.checkAbandonment()
      try check(DGifGetCodeNext(file, &block))
    }
  }

  private func check(_ status: Int32) throws(ImageError) {
    guard status == GIF_OK else { throw source.error(file.pointee.Error) }
  }
}
