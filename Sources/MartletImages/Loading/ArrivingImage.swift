import MartletSemantics
import Synchronization

/// A picture's file as it arrives: shows by its first bytes whether it is one, and makes previews where somebody watches.
///
/// Previews are made for the one who watches when the head of the picture is there, and shown to all who want the same.
struct ArrivingImage {
  struct Preview: Sendable {
    let bitmap: Bitmap
    let rendition: Rendition
  }

  private enum State {
    /// What the file is does not show yet.
    case unknown
    case plain
    case previewed(PreviewMaker)
  }

  private let options: ImageDecoder.Options
  private let previewLimit: Int
  private let threads: WorkThreads
  private var state = State.unknown
  private var bytes = Data()
  /// How many bytes are there.
  private(set) var count = 0

  init(_ configuration: ImageLoader.Configuration, _ threads: WorkThreads) {
    options = configuration.decoding
    previewLimit = configuration.previewLimit
    self.threads = threads
  }

  /// All bytes so far.
  var data: Data {
    if case .previewed(let maker) = state { maker.data } else { bytes }
  }

  /// Takes the next bytes.
  ///
  /// - Throws: ``ImageLoadError`` where this is no picture: a page in the place of one need not come to its end.
  mutating func append(
    _ chunk: Data, watching seat: LoadTable.Seat?, _ urgency: Urgency
  ) async throws -> Preview? {
    count += chunk.count
    if case .previewed(let maker) = state { return try await maker.append(chunk, on: threads, urgency) }
    if bytes.isEmpty { bytes = chunk } else { bytes.append(chunk) }
    guard case .unknown = state, count >= 16 else { return nil }
    // A format of somebody's own may have to decode a file to look at it.
    let isOwn = options.additionalFormats.contains { $0.recognizes(bytes) }
    let info = isOwn ? nil : try look()
    if isOwn || info != nil { state = .plain }
    guard let info, info.format == .jpeg, previewLimit > 0, let seat else { return nil }
    let maker = PreviewMaker(seat, options.making(seat.rendition, of: info.size), limit: previewLimit)
    state = .previewed(maker)
    defer { bytes = Data() }
    return try await maker.append(bytes, on: threads, urgency)
  }

  /// The head of the picture, if it is there.
  private func look() throws -> ImageInfo? {
    do { return try ImageDecoder.info(bytes, options: options) } catch  where error.kind == .notAnImage {
      var failure = ImageLoadError(wrapping: error)
      failure.body = bytes.prefix(64 << 10)
      throw failure
    } catch { return nil }  // It may be the beginning of one.
  }
}

/// Makes previews of one file, on threads for such work.
private final class PreviewMaker: Sendable {
  /// Only the one load that the file belongs to comes by, so that nobody waits for this lock while a preview is made.
  private let decoder: Mutex<ProgressiveDecoder>
  private let rendition: Rendition
  private let processors: [any ImageProcessor]

  init(_ seat: LoadTable.Seat, _ options: ImageDecoder.Options, limit: Int) {
    decoder = Mutex(ProgressiveDecoder(options: options, previewLimit: limit))
    rendition = seat.rendition
    processors = seat.processors
  }

  var data: Data { decoder.withLock { $0.data } }

  func append(_ chunk: Data, on threads: WorkThreads, _ urgency: Urgency) async throws -> ArrivingImage.Preview? {
    guard decoder.withLock({ $0.isProgressive != false }) else {
      decoder.withLock { _ = $0.append(chunk) }  // It only keeps the bytes.
      return nil
    }
    let bitmap = try await threads.run(urgency) { [self] in
      // A processor that fails says so when the picture is whole.
      decoder.withLock { $0.append(chunk) }.flatMap { try? processors.process($0) }
    }
    return bitmap.map { ArrivingImage.Preview(bitmap: $0, rendition: rendition) }
  }
}
