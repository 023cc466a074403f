import MartletEngine
@_spi(Toolkit) import MartletSemantics

/// A complete image file and where it is from.
struct ImageFileContent: Sendable {
  let data: Data
  /// The head of the response; nil for an image that needs no request.
  let head: ResponseHead?
  /// The URL of the response: after a redirect, not that of the request. nil if the image was in its URL.
  let url: URL?
  let source: ImageSource

  init(data: Data, response: HTTPResponse) {
    self.data = data
    head = response.head
    url = response.url
    source = .session(response.source)
  }

  /// Makes the content of an image that needs no request.
  init(data: Data, source: ImageSource, url: URL?) {
    (self.data, head, self.url, self.source) = (data, nil, url, source)
  }

  /// Whether the image may be cached: the response has no `no-store` (RFC 9111 §5.2.2.5).
  var mayBeCached: Bool { head.map { !CacheControl($0.fields).contains("no-store") } ?? true }

  /// How long the HTTP cache would answer with the response without asking the server (RFC 9111 §4.2). An image in its
  /// URL never changes; a file may do so at any time.
  func freshness(at now: Date) -> Duration {
    guard let head else { return source == .inline ? .seconds(Int64.max).bounded : .zero }
    guard !CacheControl(head.fields).isUnqualified("no-cache") else { return .zero }
    let freshness = Freshness(of: StoredResponse(head: head, requestTime: now, responseTime: now), at: now)
    return .seconds(max(0, freshness.lifetime - freshness.age))
  }

  /// A number that differs for files with other bytes.
  var digest: Int {
    var hasher = Hasher()
    data.withUnsafeBytes { hasher.combine(bytes: $0) }
    return hasher.finalize()
  }

  /// Decodes the image for a rendition, and runs the processors. Call it on a thread for decoding.
  ///
  /// - Parameter isAbandoned: whether the image is no longer needed.
  func image(
    as rendition: Rendition, _ processors: [any ImageProcessor], _ options: ImageDecoder.Options,
    isAbandoned: @escaping () -> Bool
  ) throws -> LoadedImage {
    let info = try ImageDecoder.info(data, options: options)
    let options = options.making(rendition, of: info.size)
    let decoding = Decoding(options, isAbandoned: isAbandoned)
    var image = LoadedImage(
      bitmap: Bitmap(size: PixelSize(width: 0, height: 0), pixels: []), info: info, encodedBytes: data.count,
      source: source)
    if rendition.isAnimated {
      var animation = try ImageDecoder.animation(data, options, in: decoding)
      for index in animation.frames.indices {
        try decoding.checkAbandonment()
        animation.frames[index].bitmap = try processors.process(animation.frames[index].bitmap)
      }
      if let first = animation.frames.first { image.bitmap = first.bitmap }
      if animation.frames.count > 1 { image.animation = animation }
    } else {
      image.bitmap = try processors.process(try ImageDecoder.decode(data, options, in: decoding))
    }
    image.defect = decoding.defect
    return image
  }
}

extension ImageDecoder.Options {
  /// Returns the options for a rendition of an image of this size.
  func making(_ rendition: Rendition, of size: PixelSize) -> ImageDecoder.Options {
    var options = self
    options.fitting = rendition.targetSize.map { rendition.contentMode == .fit ? $0 : size.covering($0) }
    return options
  }
}

extension [any ImageProcessor] {
  /// Returns the result of all processors.
  func process(_ bitmap: Bitmap) throws -> Bitmap {
    try reduce(bitmap) { bitmap, processor in
      do { return try processor.process(bitmap) } catch {
        throw ImageLoadError(.processing, "\(processor.identifier) failed: \(error)", underlying: error)
      }
    }
  }
}

extension PixelSize {
  /// Returns the smallest size of the same proportions that covers the box. The sides of an image have 31 bits at most.
  func covering(_ box: PixelSize) -> PixelSize {
    let width = min(max(box.width, 1), self.width), height = min(max(box.height, 1), self.height)
    if self.width * height >= self.height * width {
      return PixelSize(width: (self.width * height + self.height - 1) / self.height, height: height)
    }
    return PixelSize(width: width, height: (self.height * width + self.width - 1) / self.width)
  }
}
