@_spi(Toolkit) import MartletEngine
import MartletSemantics
import Synchronization

/// An image file while it is received. It checks the first bytes for an image, and makes previews if a caller wants
/// them.
///
/// Previews are made for the first caller that observes the load when the head of the image has arrived, and delivered
/// to all callers that want the same rendition.
struct ArrivingImage {
  struct Preview: Sendable {
    let bitmap: Bitmap
    let rendition: Rendition
  }

  private enum State {
    /// The format is not known yet.
    case unknown
    case withoutPreviews
    case withPreviews(PreviewMaker)
  }

  private let options: ImageDecoder.Options
  private let previewLimit: Int
  private let executor: DecodingExecutor
  private var state = State.unknown
  private var bytes = Data()
  /// The number of bytes so far.
  private(set) var count = 0
  /// The number of bytes from which the header is read next: 16, then twice as many as the last time. Otherwise many
  /// small pieces of a long header would take quadratic time.
  private var nextReading = 16

  init(_ configuration: ImageLoader.Configuration, _ executor: DecodingExecutor) {
    options = configuration.decoding
    previewLimit = configuration.previewLimit
    self.executor = executor
  }

  /// All bytes so far.
  var data: Data {
    if case .withPreviews(let maker) = state { maker.data } else { bytes }
  }

  /// Appends bytes. Returns a preview if they make a new one possible.
  ///
  /// - Throws: ``ImageLoadError`` if this is not an image, so that the rest of the response need not be received.
  mutating func append(
    _ chunk: Data, observer waiter: LoadTable.Waiter?, _ priority: PriorityBox
  ) async throws -> Preview? {
    count += chunk.count
    if case .withPreviews(let maker) = state { return try await maker.append(chunk, on: executor, priority) }
    if bytes.isEmpty { bytes = chunk } else { bytes.append(chunk) }
    guard case .unknown = state, count >= nextReading else { return nil }
    nextReading = 2 * count
    // An additional format may have to decode a file to determine its size.
    let isAdditional = options.additionalFormats.contains { $0.recognizes(bytes) }
    let info = isAdditional ? nil : try readInfo()
    if isAdditional || info != nil { state = .withoutPreviews }
    guard let info, info.format == .jpeg, previewLimit > 0, let waiter else { return nil }
    let maker = PreviewMaker(waiter, options.making(waiter.rendition, of: info.size), limit: previewLimit)
    state = .withPreviews(maker)
    defer { bytes = Data() }
    return try await maker.append(bytes, on: executor, priority)
  }

  /// Returns format and size; nil if they are not known yet.
  private func readInfo() throws -> ImageInfo? {
    do { return try ImageDecoder.info(bytes, options: options) } catch  where error.kind == .notAnImage {
      var failure = ImageLoadError(wrapping: error)
      failure.body = bytes.prefix(ImageLoadError.bodyLimit)
      throw failure
    } catch { return nil }  // It may be the beginning of an image.
  }
}

/// Makes previews of one file, on the executor's threads.
private final class PreviewMaker: Sendable {
  /// Only one load uses it, so no thread waits for the lock while a preview is made.
  private let decoder: Mutex<ProgressiveDecoder>
  private let rendition: Rendition
  private let processors: [any ImageProcessor]

  init(_ waiter: LoadTable.Waiter, _ options: ImageDecoder.Options, limit: Int) {
    decoder = Mutex(ProgressiveDecoder(options: options, previewLimit: limit))
    rendition = waiter.rendition
    processors = waiter.processors
  }

  var data: Data { decoder.withLock { $0.data } }

  func append(
    _ chunk: Data, on executor: DecodingExecutor, _ priority: PriorityBox
  ) async throws -> ArrivingImage.Preview? {
    guard decoder.withLock({ $0.isProgressive != false }) else {
      decoder.withLock { _ = $0.append(chunk) }  // This only keeps the bytes.
      return nil
    }
    let bitmap = try await executor.run(priority) { [self] isAbandoned in
      // An error of a processor is reported for the complete image.
      decoder.withLock { $0.append(chunk, isAbandoned: isAbandoned) }.flatMap { try? processors.process($0) }
    }
    return bitmap.map { ArrivingImage.Preview(bitmap: $0, rendition: rendition) }
  }
}
