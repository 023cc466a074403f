/// One decoding: its limits, whether its caller still waits, and the defect of the file that was tolerated.
///
/// It belongs to one thread. A codec asks it often whether to stop, because a decoder that runs cannot be interrupted.
final class Decoding {
  let limits: ImageDecoder.Limits
  /// Whether a file with missing or wrong pixels is shown.
  let isTolerant: Bool
  /// The first defect that was tolerated.
  private(set) var defect: ImageError?
  /// The pixels that codecs were allowed to read so far; see ``ImageDecoder/Limits/sourcePixels``.
  private(set) var sourcePixels = 0
  private let hasEnded: () -> Bool

  /// Makes a decoding.
  ///
  /// - Parameter isAbandoned: whether the result is no longer needed; by default, whether the task is cancelled.
  init(_ options: ImageDecoder.Options, isAbandoned: @escaping () -> Bool = { Task.isCancelled }) {
    limits = options.limits
    isTolerant = options.isTolerant
    hasEnded = isAbandoned
  }

  /// Whether the caller does not wait any more.
  var isAbandoned: Bool { hasEnded() }

  /// Ends the decoding if its caller does not wait any more.
  func checkAbandonment() throws(ImageError) {
    if isAbandoned { throw Decoding.abandoned }
  }

  /// What ``stopCallback`` gets.
  var pointer: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }

  /// Tells a codec in C whether to stop.
  static let stopCallback: @convention(c) (UnsafeMutableRawPointer?) -> Int32 = { decoding in
    guard let decoding else { return 0 }
    return Unmanaged<Decoding>.fromOpaque(decoding).takeUnretainedValue().isAbandoned ? 1 : 0
  }

  static let abandoned = ImageError(
    .cancelled, "the image was not decoded to its end: the task was cancelled, or its time was over")

  /// Records a defect of the file, or throws it if it is not tolerated.
  func tolerate(_ error: ImageError) throws(ImageError) {
    guard isTolerant, error.kind == .truncated || error.kind == .damaged else { throw error }
    defect = defect ?? error
  }

  /// Counts pixels that a codec is about to read; see ``ImageDecoder/Limits/sourcePixels``.
  func read(sourcePixels count: Int) throws(ImageError) {
    let (sum, overflow) = sourcePixels.addingReportingOverflow(count)
    guard !overflow, sum <= limits.sourcePixels else {
      throw ImageError(
        .tooLarge,
        "the image's codec would read more than \(limits.sourcePixels) pixels, each as often as the file has passes over "
          + "it: that is the limit, raise ImageDecoder.Limits.sourcePixels")
    }
    sourcePixels = sum
  }
}
