import MartletEngine
import MartletSemantics

/// A picture's file, as a response brought it.
struct ImageFileContent: Sendable {
  let data: Data
  let head: ResponseHead
  /// Where the answer came from: after a redirect, another place than was asked for.
  let url: URL
  let source: ResponseSource

  init(data: Data, response: HTTPResponse) {
    self.data = data
    head = response.head
    url = response.url
    source = response.source
  }

  /// Whether the origin lets anybody keep it (RFC 9111 §5.2.2.5).
  var mayBeKept: Bool { !CacheControl(head.fields).contains("no-store") }

  /// The picture in the size that is wanted, processed. Work for a processor.
  func image(
    as rendition: Rendition, _ processors: [any ImageProcessor], within limits: ImageDecoder.Limits
  ) throws -> LoadedImage {
    let info = try ImageDecoder.info(data)
    let box = rendition.targetSize.map { rendition.contentMode == .fit ? $0 : info.size.covering($0) }
    var bitmap = try ImageDecoder.decode(data, options: .init(fitting: box, limits: limits))
    for processor in processors {
      do { bitmap = try processor.process(bitmap) } catch {
        throw ImageLoadError(.processing, "\(processor.identifier) failed: \(error)", underlying: error)
      }
    }
    return LoadedImage(bitmap: bitmap, info: info, encodedBytes: data.count, source: .session(source))
  }
}

extension PixelSize {
  /// The smallest size of the same proportions that covers the box. The sides of a picture have 31 bits at most.
  func covering(_ box: PixelSize) -> PixelSize {
    let width = min(max(box.width, 1), self.width), height = min(max(box.height, 1), self.height)
    if self.width * height >= self.height * width {
      return PixelSize(width: (self.width * height + self.height - 1) / self.height, height: height)
    }
    return PixelSize(width: width, height: (self.height * width + self.width - 1) / self.width)
  }
}
