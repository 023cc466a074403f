package import MartletEngine
package import MartletImages
import Martlet

/// A picture as it came: the bytes of its file, known to be decodable. The pixels are made in the size that is asked for.
package struct Picture: Sendable {
  package let data: Data
  /// Where the bytes came from.
  package let source: ResponseSource
  /// The size of the picture in pixels.
  package let size: PixelSize

  /// Takes the bytes of a file.
  ///
  /// The whole file is decoded once, into a thumbnail, so that a damaged one is found here and not when it is shown.
  package init(_ data: Data, from source: ResponseSource = .network) throws(ImageError) {
    size = try ImageDecoder.info(data).size
    _ = try ImageDecoder.decode(data, options: .init(fitting: PixelSize(width: 16, height: 16)))
    self.data = data
    self.source = source
  }

  /// The pixels, fitting into the box, or filling it so that what sticks out has to be cut off. Work for the processor.
  package func bitmap(_ mode: Mode, _ box: PixelSize) throws(ImageError) -> Bitmap {
    try ImageDecoder.decode(data, options: .init(fitting: mode == .fit ? box : cover(box)))
  }

  package enum Mode: Sendable, Hashable {
    case fit, fill
  }

  /// The smallest size of the picture's proportions that covers the box.
  private func cover(_ box: PixelSize) -> PixelSize {
    let width = max(box.width, 1), height = max(box.height, 1)
    if size.width * height >= size.height * width {
      return PixelSize(width: (size.width * height + size.height - 1) / size.height, height: height)
    }
    return PixelSize(width: width, height: (size.height * width + size.width - 1) / size.width)
  }
}
